"""Networks on a Hugging Face hub: found in the local cache, downloaded or uploaded only when asked. Needs no torch.

A repository holds `config.json`, `model.safetensors` and a model card, as a folder on disk does. The hub and the cache
are those of `huggingface_hub`: `HF_ENDPOINT`, `HF_HUB_CACHE` and `HF_TOKEN` say where they are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from world4scorer.jobs.model_folder import ModelFolder

REPOSITORY: Final = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
"""`user/repo`"""
CARD_FILE: Final = "README.md"


def is_repository(source: str | os.PathLike[str]) -> bool:
    """Whether a source can be the name of a repository: `user/repo`, and nothing on disk."""
    return bool(REPOSITORY.fullmatch(os.fspath(source))) and not Path(source).exists()


def cached_folder(source: str | os.PathLike[str], revision: str | None = None) -> Path | None:
    """The folder of a repository in the local cache, never from the network; None if it is not there."""
    if not is_repository(source):
        return None
    try:
        from huggingface_hub import try_to_load_from_cache
    except ModuleNotFoundError:
        return None
    wanted = ModelFolder(Path()).files
    found = [
        try_to_load_from_cache(os.fspath(source), path.name, cache_dir=_cache(), revision=revision) for path in wanted
    ]
    folders = {Path(path).parent for path in found if isinstance(path, str)}
    return folders.pop() if len(folders) == 1 and all(isinstance(path, str) for path in found) else None


def repository_folder(source: str | os.PathLike[str], download: bool = False, revision: str | None = None) -> Path:
    """The folder of a repository: downloaded if asked, else from the local cache. A ValueError says what to do."""
    name = os.fspath(source)
    if not is_repository(name):
        raise ValueError(f"{name}: not the name of a repository (user/repo)")
    if not download:
        found = cached_folder(name, revision)
        if found is None:
            raise ValueError(missing_message(name))
        return found
    hub = _hub(f"downloading {name}")
    files = ModelFolder(Path()).files
    at = revision
    path = Path()
    for file in (files[1], files[0]):  # the small one first; then both are of its commit
        try:
            path = Path(hub.hf_hub_download(name, file.name, revision=at, cache_dir=_cache(), endpoint=_endpoint()))
        except (OSError, hub.errors.EntryNotFoundError) as error:
            raise ValueError(f"{name}: {file.name} cannot be downloaded from the hub: {_first_line(error)}") from error
        at = path.parent.name
    return path.parent


def missing_message(name: str) -> str:
    """Error message for a repository that is not in the local cache."""
    return (
        f"{name}: no such folder, nothing bundled of that name, and no repository in the local hub cache. Nothing is "
        f"downloaded unless asked: download=True, or `w4s import {name} --download --out FOLDER`"
    )


def upload(name: str, files: Mapping[str, bytes], *, message: str, private: bool | None = None) -> str:
    """Put files, by their names, into a repository, which is made if it is missing; returns its address."""
    if not REPOSITORY.fullmatch(name):
        raise ValueError(f"{name}: not the name of a repository (user/repo)")
    hub = _hub(f"uploading {name}")
    api = hub.HfApi(endpoint=_endpoint())
    try:
        address = str(api.create_repo(name, private=private, exist_ok=True))
        parts = [hub.CommitOperationAdd(path, content) for path, content in files.items()]
        api.create_commit(name, parts, commit_message=message)
    except OSError as error:
        raise ValueError(
            f"{name}: cannot be uploaded: {_first_line(error)}; is there a token that may write (HF_TOKEN)?"
        ) from error
    return address


def _hub(purpose: str) -> Any:
    try:
        import huggingface_hub
        import huggingface_hub.errors
    except ModuleNotFoundError as error:
        raise ValueError(f"{purpose}: needs huggingface_hub: pip install 'world4scorer[train]'") from error
    return huggingface_hub


def _cache() -> str | None:
    """Folder of the cache; read at each call, as `huggingface_hub` reads it only once."""
    return os.environ.get("HF_HUB_CACHE") or None


def _endpoint() -> str | None:
    return os.environ.get("HF_ENDPOINT") or None


def _first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)

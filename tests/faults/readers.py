"""Readers of bytes from outside: logs, submissions, pools, maps, splits, clips, configurations, frames of clients.

What must hold for any bytes: a value, or a ValueError; nothing executed, written or taken from memory beyond reason.
"""

from __future__ import annotations

import gzip
import io
import json
import lzma
import mmap
import pickle
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import xxhash

from tests.faults.attack import Result, in_child
from tests.faults.mutations import change
from tests.support.carla_clips import left_turn
from tests.support.golden import COMPACT
from world4scorer.datasets.navsim.devkit_classes import dump_for_devkit
from world4scorer.datasets.navsim.filters import read_scene_filter, read_split
from world4scorer.datasets.navsim.logs import read_log
from world4scorer.datasets.navsim.map_reader import read_map_file
from world4scorer.datasets.navsim.pickles import load_restricted
from world4scorer.datasets.navsim.pools import read_pools
from world4scorer.datasets.navsim.submissions import read_submission, write_submission
from world4scorer.datasets.navsim.synthetic import read_synthetic_scene
from world4scorer.driving.clips.annotation import read_annotation
from world4scorer.driving.serving.protocol import HEADER, Limits, Message, MessageKind, encode, read_body, read_header
from world4scorer.engine.scene.exchange import read_exchange
from world4scorer.jobs.files import json_content, read_json

CORPORA: Final = Path(__file__).parent / "corpora"
"""Inputs that once failed, in folders by reader."""
NAVSIM: Final = COMPACT / "navsim" / "dataset"
JSON_TOKENS: Final = (b'"', b"[" * 40, b"{", b"}", b"1e400", b"\xff", b"\\ud800", b"true", b'{"a":')
YAML_TOKENS: Final = (
    *(b"!!timestamp x", b"!!int ''", b"!!float a", b"!!bool 3", b"!!binary '?'", b"!!set", b"!!omap"),
    *(b"? [a]", b"2001-99-99", b"&a", b"*a", b"<<: ", b"\t", b"---\n", b"...\n", b"%YAML 9.9\n", b"0x_", b"1:2:3"),
)
PICKLE_TOKENS: Final = (
    *(b"cos\nsystem\n", b"(", b"t", b"R", b"b", b"\x81", b"\x92", b"\x93", b"}", b"]", b"a", b"e", b"u", b"0", b"."),
    *(b"r\xff\xff\xff\x7f", b"\x94", b"h\x00", b"j\x00\x00\x00\x7f", b"cnumpy\nndarray\n", b"L99999999999L\n", b"N"),
    *(b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7f", b"S'x'\n", b"cbuiltins\neval\n", b"\x88", b"G\x7f\xf8\0\0\0\0\0\0"),
)


@dataclass(frozen=True)
class Reader:
    """A function that reads a file from outside."""

    read: Callable[[Any], Any]
    """Given a path, or bytes."""
    seeds: Callable[[], list[bytes]]
    """Small files that it takes."""
    tokens: tuple[bytes, ...] = ()
    cases: int = 4000
    """Of a seed: a second or two."""
    vary: Callable[[bytes, random.Random], bytes] = lambda content, rng: content
    """Puts other values into a file, so that small ones do not run out of changes."""

    of_bytes: bool = False
    """Whether it reads bytes rather than a file."""

    @property
    def slow(self) -> bool:
        """Whether reading takes milliseconds."""
        return self.cases < 1000


def read_message(content: bytes) -> Message:
    """A frame of a client, from its bytes."""
    limits = Limits()
    kind, text, arrays = read_header(content[: HEADER.size].ljust(HEADER.size, b"\0"), limits)
    body = content[HEADER.size :][: text + arrays]
    return read_body(kind, body[:text], memoryview(body)[text:], limits)


def _model_config(path: Path) -> Any:
    from world4scorer.planner.model.config import ModelConfig

    return ModelConfig.from_json(path.read_bytes(), str(path))


def _train_config(path: Path) -> Any:
    from world4scorer.planner.training.config import TrainConfig

    return TrainConfig.from_json(path.read_bytes(), str(path))


def _split(path: Path) -> Any:
    """A split needs the filter that it names beside it."""
    there = path.parent / "scene_filter" / "synth_mini.yaml"
    if not there.is_file():
        there.parent.mkdir(exist_ok=True)
        there.write_bytes(_yaml("scene_filter/*.yaml")[0])
    return read_split(path)


@cache
def _log() -> list[bytes]:
    """Two frames of a log."""
    first = min((NAVSIM / "navsim_logs").rglob("*.pkl.xz"), key=lambda path: path.stat().st_size)
    stream = io.BytesIO()
    dump_for_devkit(load_restricted(lzma.decompress(first.read_bytes()))[:2], stream)
    return [stream.getvalue()]


def _submission() -> list[bytes]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "submission.pkl"
        found = []
        for version in ("v1.1", "v2.2"):
            write_submission(path, {"a" * 16: np.zeros((8, 3))}, version=version)
            found.append(path.read_bytes())
        return found


def _pools() -> list[bytes]:
    pool = {"plans": np.zeros((2, 8, 3), np.float32), "utility": np.zeros(2), "outcomes": np.ones((2, 6))}
    return [pickle.dumps({"a" * 16: pool}, protocol=protocol) for protocol in (2, 4)]


def _map() -> list[bytes]:
    smallest = min((NAVSIM / "maps").rglob("*.gpkg.xz"), key=lambda path: path.stat().st_size)
    return [lzma.decompress(smallest.read_bytes())]


def _yaml(name: str) -> list[bytes]:
    return [path.read_bytes()[:1500] for path in sorted((NAVSIM / "config" / "train_test_split").glob(name))]


def _exchange() -> list[bytes]:
    smallest = min((COMPACT / "outcomes").glob("*.npz"), key=lambda path: path.stat().st_size)
    return [smallest.read_bytes()]


def _annotation() -> list[bytes]:
    raw = left_turn(3)
    return [gzip.compress(json.dumps(raw).encode(), 1), gzip.compress(json.dumps(raw).encode(), 0)]


def _messages() -> list[bytes]:
    arrays = {"route": np.zeros((3, 2)), "image": np.zeros((2, 3, 3), np.uint8)}
    messages = (
        Message(MessageKind.HELLO, {"name": "a", "protocol": 1}),
        Message(MessageKind.DECIDE, {"t": 1.5}, arrays),
    )
    return [b"".join(encode(message)) for message in messages]


def _configs(training: bool) -> list[bytes]:
    from world4scorer.planner.training.config import city

    return [(city() if training else city().model).to_json().encode()]


def _other_values(content: bytes, rng: random.Random) -> bytes:
    """Other numbers in the place of zeros."""
    return content.replace(bytes(16), rng.randbytes(16), 1)


def _other_text(content: bytes, rng: random.Random) -> bytes:
    return content.replace(b"0.5", repr(rng.random()).encode()).replace(b"name", rng.randbytes(4).hex().encode(), 1)


READERS: Final = {
    "log": Reader(read_log, _log, PICKLE_TOKENS),
    "submission": Reader(read_submission, _submission, PICKLE_TOKENS, 20_000, _other_values),
    "pools": Reader(read_pools, _pools, PICKLE_TOKENS, 20_000, _other_values),
    "synthetic": Reader(read_synthetic_scene, _log, PICKLE_TOKENS),
    "exchange": Reader(read_exchange, _exchange, cases=400),
    "map": Reader(lambda path: read_map_file(path, "us-ma-boston"), _map, cases=40),
    "filter": Reader(read_scene_filter, lambda: _yaml("scene_filter/*.yaml"), YAML_TOKENS),
    "split": Reader(_split, lambda: _yaml("*.yaml"), YAML_TOKENS),
    "annotation": Reader(read_annotation, _annotation, cases=2000),
    "annotation, unpacked": Reader(
        lambda path: _unpacked_annotation(path), lambda: [gzip.decompress(_annotation()[0])], JSON_TOKENS, 6000
    ),
    "message": Reader(read_message, _messages, JSON_TOKENS, 300_000, _other_values, of_bytes=True),
    "settings": Reader(
        read_json, lambda: [json_content({"a": 1, "b": [0.5, None, "x"]})], JSON_TOKENS, 20_000, _other_text
    ),
    "model config": Reader(_model_config, lambda: _configs(False), JSON_TOKENS),
    "train config": Reader(_train_config, lambda: _configs(True), JSON_TOKENS),
}


def _unpacked_annotation(path: Path) -> Any:
    """As if compressed: what gzip's checksum keeps from the parser otherwise."""
    path.write_bytes(gzip.compress(path.read_bytes(), 0))
    return read_annotation(path)


def fuzzed_inputs(seed: int, folder: Path) -> Result:
    """Changed files for one reader."""
    name = list(READERS)[seed % len(READERS)]
    return fuzzed_reader(name, seed, folder, READERS[name].cases)


def fuzzed_reader(name: str, seed: int, folder: Path, cases: int) -> Result:
    """The same for a reader by name. Inputs that this run has read before are left out, and not counted."""
    seeds = READERS[name].seeds()
    ended = in_child(lambda: _read_changed(name, seeds, seed, folder, cases), timeout=600, limit_memory=True)
    count, problems = ended.value if ended.value is not None else (0, [ended.error or ended.died])
    return Result(count, tuple(f"{name}: {problem}" for problem in problems))


def changed_input(name: str, seeds: list[bytes], seed: int, case: int) -> bytes:
    """The input of a case."""
    rng = random.Random(seed << 32 | case)
    return change(READERS[name].vary(rng.choice(seeds), rng), rng, READERS[name].tokens)


def _read_changed(name: str, seeds: list[bytes], seed: int, folder: Path, cases: int) -> tuple[int, list[str]]:
    """Number of inputs that were read, and what is wrong with how they were."""
    count, wrong = 0, []
    path = folder / "input"
    for case in range(cases):
        content = changed_input(name, seeds, seed, case)
        if not _is_new(name, content):
            continue
        count += 1
        if problem := problem_of(name, content, path):
            wrong.append(f"case {case}: {problem}")
    return count, wrong


def _is_new(name: str, content: bytes) -> bool:
    """Whether no input like this was read before; now and then (1 of 100 at ten million) a new one counts as known."""
    place, bit = divmod(xxhash.xxh3_64_intdigest(content, seed=list(READERS).index(name)) % (8 * len(_SEEN)), 8)
    if _SEEN[place] >> bit & 1:
        return False
    _SEEN[place] |= 1 << bit
    return True


_SEEN: Final = mmap.mmap(-1, 1 << 27)  # shared with children
"""A bit for each digest of an input that this run has read."""


def problem_of(name: str, content: bytes, path: Path) -> str:
    """What is wrong with how a reader takes some bytes, in a file of this path; empty if nothing is."""
    reader = READERS[name]
    if not reader.of_bytes:
        path.write_bytes(content)
    try:
        reader.read(content if reader.of_bytes else path)
    except ValueError as error:
        if isinstance(error.__cause__, MemoryError):
            return "asks for more memory than there is"
        return "" if str(error) else "an error without a message"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""

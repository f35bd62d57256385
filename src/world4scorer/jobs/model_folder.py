"""Names of the two files of a saved network, as Hugging Face lays them out: `config.json`, `model.safetensors`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

WEIGHT_FILES: Final = (".ckpt", ".pt", ".pth", ".bin", ".safetensors")
"""How files of weights end."""


@dataclass(frozen=True)
class ModelFolder:
    """Paths below the folder of a planner or of an image encoder."""

    root: Path

    @property
    def config_file(self) -> Path:
        """Sizes of the network."""
        return self.root / "config.json"

    @property
    def weights_file(self) -> Path:
        """Tensors of the network."""
        return self.root / "model.safetensors"

    @property
    def files(self) -> tuple[Path, Path]:
        """Both files, in the order that digests read them."""
        return self.weights_file, self.config_file

    @property
    def exists(self) -> bool:
        """Whether both files are there."""
        return all(path.is_file() for path in self.files)

"""Model configuration and presets."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final, get_type_hints

from world4scorer.jobs.files import json_content, parse_json

POSE_NUMBERS: Final = 3
"""Values of a pose: x forward [m], y left [m], heading [rad]."""

EGO_NUMBERS: Final = 11
"""Values of an ego status: pose 3, velocity 2, acceleration 2, command one-hot 4."""

ROUTE_NUMBERS: Final = 2
"""Additional values of a route point: forward, left [m]."""

POLYLINE_NUMBERS: Final = 8
"""Additional values of four points of the route, after those of a route point."""

EGO_CHOICES: Final = (EGO_NUMBERS, EGO_NUMBERS + ROUTE_NUMBERS, EGO_NUMBERS + ROUTE_NUMBERS + POLYLINE_NUMBERS)
"""Values of an ego status: alone, with a route point, with a route point and four points of the route."""

VIT, DENSE, FROZEN_VIT = "vit", "dense", "frozen-vit"
ENCODERS: Final = (VIT, DENSE, FROZEN_VIT)

FORMAT: Final = "world4scorer-planner-1"
"""Format identifier of saved configurations."""


@dataclass(frozen=True)
class ModelConfig:
    """Structure of the network. The defaults are the paper's."""

    image_height: int = 672
    """Of each view [pixels]; a multiple of `patch`."""
    image_width: int = 1148
    """Of each view [pixels]; a multiple of `patch`."""
    crop_top: int = 0
    """Rows cut off the top of the resized image [pixels]: sky."""
    patch: int = 14
    """Side of an image patch [pixels]."""
    cameras: int = 4
    """Views, in the order front, back, left-front, right-front."""
    vit_width: int = 384
    """Features of an image token."""
    vit_layers: int = 12
    vit_heads: int = 6
    vit_mlp_ratio: int = 4
    """Hidden features of a ViT block's MLP, in widths."""
    vit_layer_scale: float = 1.0
    """Initial LayerScale of a ViT that starts without pretrained weights."""
    registers: int = 4
    """Register tokens of the ViT."""
    lora_rank: int = 32
    """Rank of adapters on the query and value projections; 0 for none."""
    train_vit: bool = False
    """Train the ViT itself, not only the adapters; needed without pretrained weights."""
    scene_queries: int = 16
    """Learned tokens per camera; their outputs are the scene tokens."""
    width: int = 256
    """Features of scene tokens, queries and states."""
    heads: int = 1
    """Attention heads of the decoders."""
    decoder_mlp_ratio: int = 4
    """Hidden features of a decoder block's MLP, in widths."""
    feed_forward: int = 1024
    """Hidden features of the trajectory head, the action encoder and the score heads."""
    generator_layers: int = 4
    predictor_layers: int = 4
    predictor_norm: bool = True
    """LayerNorm after the predictor."""
    proposals: int = 64
    """Plans per scene."""
    poses: int = 8
    """Poses of a plan, 0.5 s apart."""
    ego_numbers: int = EGO_NUMBERS
    """Values of the ego status; 13 with a route point, 21 with that and four points of the route."""
    readout: bool = True
    """Read the visual future from states."""
    future_width: int = 384
    """Features of the future that is read out."""
    dropout: float = 0.1
    """After the last projection of each decoder branch, in training."""
    drop_path: float = 0.2
    """Share of scenes that skip a decoder branch, in training."""
    encoder: str = "vit"
    """What encodes the views: `vit`; `frozen-vit`, the same without adapters, whose features can be cached
    (`frozen_vit.py`); or `dense`, the frozen encoder of the city (`dense_encoder.py`)."""
    patch_pooling: int = 4
    """Patches along each side of the blocks over which a frozen ViT's tokens are averaged; 1 keeps every token."""
    images: bool = True
    """Look at the views; without, the model is a control that knows the ego state alone."""
    plan_sampling: bool = False
    """The action encoder also reads image features where the plan leads (`plan_sampling.py`)."""
    sampling_width: int = 32
    """Features per point that plan sampling reads from patches."""
    sampling_fine: int = 0
    """Features per point that it reads from small cells of the image itself; 0 for none."""
    sampling_cell: int = 7
    """Side of these cells [pixels]; divides the sides of the image."""
    worst_points: bool = False
    """Plan sampling and the choice of manoeuvres also read the worst that a plan has met until each step, from the maps
    of a dense encoder."""
    forecast: bool = False
    """A dense encoder also sees the frame half a second before, and plans read where road users will be
    (`forecast.py`)."""
    route_reading: bool = False
    """Plan sampling and the choice of manoeuvres also read where a plan leads along the points of the route
    (`route_reading.py`)."""
    anchors: bool = False
    """Plans are manoeuvres found in the training data, corrected, instead of free poses (`anchors.py`)."""
    vocabulary: int = 0
    """Manoeuvres among which plans with anchors are chosen by what a dense encoder sees (`vocabulary.py`); 0 for as
    many as plans."""
    motion_queries: bool = False
    """The action encoder sees poses scaled, the steps between them and the ego state, instead of raw poses alone."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type == "int" and (not isinstance(value, int) or isinstance(value, bool)):
                raise ValueError(f"{field.name}: {value!r}; a whole number is needed")
            if field.type == "int" and value < (0 if field.name in _MAY_BE_ZERO else 1):
                raise ValueError(f"{field.name}: {value} is too small")
        for side in ("image_height", "image_width"):
            if getattr(self, side) % self.patch:
                raise ValueError(f"{side}: {getattr(self, side)} is no multiple of the patch, {self.patch}")
        if self.vit_width % self.vit_heads:
            raise ValueError(f"vit_heads: {self.vit_heads} does not divide vit_width, {self.vit_width}")
        if self.width % self.heads:
            raise ValueError(f"heads: {self.heads} does not divide width, {self.width}")
        if self.sampling_fine and not self.plan_sampling:
            raise ValueError(f"sampling_fine: {self.sampling_fine} needs plan_sampling")
        if self.sampling_fine and (self.image_height % self.sampling_cell or self.image_width % self.sampling_cell):
            raise ValueError(f"sampling_cell: {self.sampling_cell} does not divide the sides of the image")
        if self.worst_points and self.encoder != DENSE:
            raise ValueError(f"worst_points: read from maps, so they need the encoder {DENSE!r}")
        if self.forecast and self.encoder != DENSE:
            raise ValueError(f"forecast: made by the encoder {DENSE!r} alone")
        if self.route_reading and not (self.encoder == DENSE and self.plan_sampling):
            raise ValueError(f"route_reading: read with the maps, so it needs plan_sampling and the encoder {DENSE!r}")
        if self.route_reading and self.ego_numbers != EGO_CHOICES[-1]:
            raise ValueError(f"route_reading: needs the points of the route, so ego_numbers of {EGO_CHOICES[-1]}")
        if self.encoder not in ENCODERS:
            raise ValueError(f"encoder: {self.encoder!r}; choose from {', '.join(ENCODERS)}")
        if self.encoder == FROZEN_VIT and (self.lora_rank or self.train_vit):
            raise ValueError(f"encoder: {FROZEN_VIT!r} is not trained; set lora_rank to 0 and train_vit to False")
        if self.encoder == FROZEN_VIT and self.sampling_fine:
            raise ValueError(
                f"sampling_fine: {self.sampling_fine}; plans read only patches of {FROZEN_VIT!r}, set it to 0"
            )
        if self.vocabulary and not (self.anchors and self.images and self.encoder == DENSE):
            raise ValueError(f"vocabulary: {self.vocabulary} needs anchors, images and the encoder {DENSE!r}")
        if self.vocabulary and self.vocabulary < self.proposals:
            raise ValueError(f"vocabulary: {self.vocabulary}; at least as many as plans, {self.proposals}")
        if not (0 <= self.dropout < 1 and 0 <= self.drop_path < 1):
            raise ValueError(f"dropout {self.dropout}, drop_path {self.drop_path}: from 0 to below 1")

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of patches in a view."""
        return self.image_height // self.patch, self.image_width // self.patch

    @property
    def frozen_encoder(self) -> bool:
        """Whether the encoder is frozen, so that its features can be cached."""
        return self.encoder != VIT

    @property
    def cell(self) -> int:
        """Side of a cell of the encoder's features [pixels]: of a patch, or of a block of patches."""
        return self.patch * (self.patch_pooling if self.encoder == FROZEN_VIT else 1)

    @property
    def plan_numbers(self) -> int:
        """Numbers of a plan."""
        return self.poses * POSE_NUMBERS

    @property
    def extensions(self) -> tuple[str, ...]:
        """Settings that released files cannot express."""
        return tuple(name for name in ("plan_sampling", "anchors", "motion_queries") if getattr(self, name)) + (
            (self.encoder,) if self.frozen_encoder else ()
        )

    def to_json(self) -> str:
        """The configuration as text for `config.json`."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=2) + "\n"

    def to_file(self) -> bytes:
        """The content of `config.json`: the same with a checksum."""
        return json_content(json.loads(self.to_json()), 2)

    @classmethod
    def from_json(cls, text: str | bytes, where: str) -> ModelConfig:
        """Read what `to_json` wrote; `where` names the file in errors."""
        raw = parse_json(text.encode() if isinstance(text, str) else text, where, remedy="copy the planner again")
        if raw.pop("format", None) != FORMAT:
            raise ValueError(f"{where}: not a planner's configuration ({FORMAT!r} expected as 'format')")
        return cls(**_checked(raw, where))


_MAY_BE_ZERO: Final = ("lora_rank", "registers", "crop_top", "sampling_fine", "vocabulary")


def _checked(raw: dict[str, Any], where: str) -> dict[str, Any]:
    types = get_type_hints(ModelConfig)
    for name, value in raw.items():
        if name not in types:
            raise ValueError(f"{where}: no such setting: {name!r}")
        accepted = (int, float) if types[name] is float else (types[name],)
        if not isinstance(value, accepted) or (isinstance(value, bool) and types[name] is not bool):
            raise ValueError(f"{where}: {name}: {value!r} is no {types[name].__name__}")
    return raw


def paper() -> ModelConfig:
    """The paper's model: 35,520,926 parameters."""
    return ModelConfig()


def baseline() -> ModelConfig:
    """The score-only baseline: the same encoder and generator with a decoder for scoring alone, no output norm."""
    return replace(paper(), readout=False, predictor_norm=False)


def city() -> ModelConfig:
    """A small model for the embedded city around its frozen encoder, trained in minutes on a few cores."""
    return ModelConfig(
        image_height=84,
        image_width=196,
        crop_top=28,
        encoder=DENSE,
        lora_rank=0,
        scene_queries=4,
        width=128,
        heads=4,
        decoder_mlp_ratio=2,
        feed_forward=256,
        generator_layers=1,
        predictor_layers=2,
        future_width=96,
        dropout=0.0,
        drop_path=0.0,
        plan_sampling=True,
        sampling_width=16,
        worst_points=True,
        anchors=True,
        vocabulary=512,
        motion_queries=True,
    )


def city_vit() -> ModelConfig:
    """The same with a small ViT that is trained from nothing along with the planner."""
    return replace(
        city(),
        encoder=VIT,
        patch=28,
        vit_width=96,
        vit_layers=3,
        vit_heads=3,
        train_vit=True,
        scene_queries=8,
        sampling_width=32,
        sampling_fine=24,
        worst_points=False,
        vocabulary=0,
    )


def pretrained_city() -> ModelConfig:
    """That with the ViT of a bundled encoder: patches of half the side, so four times as many."""
    return replace(city_vit(), patch=14)


PRESETS: Final = {"paper": paper, "baseline": baseline, "city": city, "city-vit": city_vit}
"""Presets by name."""

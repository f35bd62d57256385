"""The city's foundation encoder: camera views to patch tokens and to features of a map around the ego.

A small convolutional network encodes each view on its own; its coarsest level are the patch tokens. Its finest levels
are lifted onto a ground grid: each cell reads the views at the pixels where it would appear, on the ground and a metre
above. A second network works on that grid. The encoder is taught densely (`pretraining/dense_losses.py`) and frozen
in a planner, which is why a planner can keep its features in a cache.

Shapes: B scenes, C cameras, H x W pixels, h x w patches, V features of a patch, F features of a map cell,
X x Y cells of the feature map (2 m), 4X x 4Y cells of maps (0.5 m).
"""

from __future__ import annotations

import copy
from dataclasses import asdict, replace
from typing import Final, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from world4scorer.jobs.tensor_files import tensors_digest
from world4scorer.planner.model.config import ModelConfig
from world4scorer.planner.model.convolutions import ConvolutionBlock, Norm, ResidualBlock
from world4scorer.planner.model.dense_encoder_config import (
    FINE_STRIDE,
    LIFT_SCALE,
    MAP_CLASSES,
    SCALE,
    SHARP_STRIDE,
    DenseEncoderConfig,
)
from world4scorer.planner.model.forecast import FORECAST_FEATURES, Forecast, SeenFrames
from world4scorer.planner.model.images import Frames, check_images
from world4scorer.planner.model.lift import READINGS, Lift

CENTRE_RATE: Final = 0.01
"""Weight of a batch in the running mean of patches."""


class ViewFeatures(NamedTuple):
    """Features of views; M = B * C of them."""

    patches: Tensor
    """(M, V, h, w)"""
    fine: Tensor
    """(M, L, rows, columns) at a quarter of the resolution"""
    sharp: Tensor | None
    """(M, S, 2 rows, 2 columns) at half of the resolution"""


class Perception(NamedTuple):
    """What an encoder makes of a scene: all that a frozen encoder's user needs."""

    patches: Tensor
    """(B, C, V, h, w)"""
    features: Tensor
    """(B, F, X, Y) not negative; empty where the encoder makes no map"""
    forecast: Tensor | None = None
    """(B, 4T, X, Y) logits of occupancy (`forecast.py`); None from an encoder without a forecast"""

    def to(self, device: torch.device) -> Perception:
        """The same on a device."""
        return Perception(*(part.to(device) for part in self if part is not None))

    def float(self) -> Perception:
        """In float32, with the features of a map cell side by side in memory, as an encoder leaves them."""
        patches, *maps = (part for part in self if part is not None)
        return Perception(
            patches.float(), *(part.to(torch.float32, memory_format=torch.channels_last) for part in maps)
        )

    def at(self, rows: slice) -> Perception:
        """Some of the scenes."""
        return Perception(*(part[rows] for part in self if part is not None))


Shapes = tuple[tuple[int, ...], ...]
"""Shapes of a scene's patches, features and forecast, if there is one, in a `Perception`."""


class ViewNetwork(nn.Module):
    """Features of views at three resolutions, the finer ones knowing the coarser."""

    def __init__(self, config: DenseEncoderConfig) -> None:
        super().__init__()
        self.fine = nn.Sequential(
            nn.Conv2d(3, config.fine, FINE_STRIDE, FINE_STRIDE),
            ConvolutionBlock(config.fine, config.fine),
            ConvolutionBlock(config.fine, config.fine),
        )
        self.middle = nn.Sequential(ConvolutionBlock(config.fine, config.middle, 3, 2), ResidualBlock(config.middle))
        self.patches = nn.Sequential(
            ConvolutionBlock(config.middle, config.patch_width, 3, 2), ResidualBlock(config.patch_width)
        )
        widths = (config.fine, config.middle, config.patch_width)
        self.laterals = nn.ModuleList(nn.Conv2d(width, config.lifted, 1) for width in widths)
        self.norm = Norm(config.lifted)
        self.sharpen = (
            ConvolutionBlock(config.fine + config.lifted, config.sharp * (FINE_STRIDE // SHARP_STRIDE) ** 2, 1)
            if config.sharp
            else None
        )

    def forward(self, image_M3HW: Tensor) -> ViewFeatures:
        """Features of views."""
        fine = self.fine(image_M3HW)
        middle = self.middle(fine)
        patches = self.patches(middle)
        summed = self.laterals[0](fine)
        for lateral, level in zip(self.laterals[1:], (middle, patches), strict=True):
            summed = summed + functional.interpolate(
                lateral(level), summed.shape[-2:], mode="bilinear", align_corners=False
            )
        known = functional.relu(self.norm(summed))
        if self.sharpen is None:
            return ViewFeatures(patches, known, None)
        sharp = functional.pixel_shuffle(self.sharpen(torch.cat([fine, known], 1)), FINE_STRIDE // SHARP_STRIDE)
        return ViewFeatures(patches, known, sharp)


class MapNetwork(nn.Module):
    """Lifted features to the feature map."""

    def __init__(self, config: DenseEncoderConfig) -> None:
        super().__init__()
        inputs = READINGS * (config.lifted + config.sharp)
        self.place = nn.Parameter(torch.zeros(config.place, *config.map_cells))
        self.inner = nn.Sequential(
            ConvolutionBlock(inputs + config.place, config.map_width, 1),
            ConvolutionBlock(config.map_width, config.map_width),
        )
        self.outer = nn.Sequential(
            ConvolutionBlock(config.map_width, config.map_inner, 3, 2),
            ResidualBlock(config.map_inner),
            ConvolutionBlock(config.map_inner, config.map_inner),
        )
        self.join = nn.Sequential(
            ConvolutionBlock(config.map_width + config.map_inner, config.map_width, 1),
            ConvolutionBlock(config.map_width, config.map_width),
        )

    def forward(self, lifted: Tensor) -> Tensor:
        """(B, F, X, Y) of what `Lift` returned (B, ..., X, Y)."""
        near = self.inner(torch.cat([lifted, self.place.expand(len(lifted), -1, -1, -1)], 1))
        far = functional.interpolate(self.outer(near), near.shape[-2:], mode="bilinear", align_corners=False)
        joined: Tensor = self.join(torch.cat([near, far], 1))
        return joined


class MapHeads(nn.Module):
    """The feature map to maps; a planner with cached features has these, too."""

    def __init__(self, config: DenseEncoderConfig) -> None:
        super().__init__()
        self.classes = nn.Conv2d(config.map_width, len(MAP_CLASSES) * SCALE**2, 1)
        self.direction = nn.Conv2d(config.map_width, 2 * LIFT_SCALE**2, 1)

    def forward(self, features_BFXY: Tensor) -> Tensor:
        """Logits (B, classes, 4X, 4Y) of `MAP_CLASSES`."""
        return _finer(self.classes, features_BFXY, SCALE)

    def directions(self, features_BFXY: Tensor) -> Tensor:
        """(B, 2, 2X, 2Y) cosine and sine of the lane's heading relative to the ego, not normalised."""
        return _finer(self.direction, features_BFXY, LIFT_SCALE)

    def frames(self, now_BFXY: Tensor, before_BFXY: Tensor, pose_before_B3: Tensor) -> SeenFrames:
        """What a forecast looks at."""
        return SeenFrames(
            self(now_BFXY).sigmoid(), self.directions(now_BFXY), self(before_BFXY).sigmoid(), pose_before_B3
        )


def _finer(layer: nn.Conv2d, features_BFXY: Tensor, scale: int) -> Tensor:
    """Maps (B, M, scale X, scale Y): `pixel_shuffle` of a convolution of single cells, with maps last in memory.

    Such maps are read at points, all maps of a point at once. Their order within the layer is changed first, which is
    several times as fast as to move each number of the result.
    """
    scenes, _, rows, columns = features_BFXY.shape
    weight = layer.weight.flatten(1).unflatten(0, (-1, scale, scale)).permute(1, 2, 0, 3).flatten(0, 2)
    assert layer.bias is not None
    bias = layer.bias.unflatten(0, (-1, scale, scale)).permute(1, 2, 0).flatten()
    made = functional.linear(features_BFXY.permute(0, 2, 3, 1), weight, bias)
    fine = made.view(scenes, rows, columns, scale, scale, -1).transpose(2, 3)
    return fine.reshape(scenes, scale * rows, scale * columns, -1).permute(0, 3, 1, 2)


class DenseEncoder(nn.Module):
    """Views to patch tokens and the feature map."""

    centre: Tensor
    """(V,) running mean of the front view's patches: features are not negative, so all would point the same way."""

    def __init__(self, config: DenseEncoderConfig | None = None) -> None:
        super().__init__()
        self.config = config or DenseEncoderConfig()
        self.views = ViewNetwork(self.config)
        self.lift = Lift(self.config, FINE_STRIDE)
        self.lift_sharp = Lift(self.config, SHARP_STRIDE) if self.config.sharp else None
        self.map = MapNetwork(self.config)
        self.heads = MapHeads(self.config)
        self.forecast = Forecast(self.config.forecast) if self.config.forecast else None
        self.register_buffer("centre", torch.zeros(self.config.patch_width))

    @property
    def view_sizes(self) -> ModelConfig:
        """Sizes of views."""
        return self.config.view_sizes

    @property
    def shapes(self) -> Shapes:
        """Shapes of what it perceives in a scene."""
        config = self.config
        patches = len(config.mounts), config.patch_width, *config.patches
        forecast = ((FORECAST_FEATURES, *config.map_cells),) if config.forecast else ()
        return patches, (config.map_width, *config.map_cells), *forecast

    def digest(self) -> str:
        """16 hex digits that change with any weight or size."""
        sizes = asdict(self.config)
        if not self.config.forecast:
            del sizes["forecast"]  # encoders had none, and keep their digests
        return tensors_digest(sizes, self.state_dict())

    def without_forecast(self) -> DenseEncoder:
        """The same encoder for one frame; itself if it makes no forecast."""
        if self.forecast is None:
            return self
        copied = copy.deepcopy(self)
        copied.config, copied.forecast = replace(self.config, forecast=0), None
        return copied

    def fused(self) -> DenseEncoder:
        """A copy for use alone, with normalisations folded into the convolutions before them: the same, but faster."""
        copied = copy.deepcopy(self).requires_grad_(False).eval()
        for module in copied.modules():
            if isinstance(module, nn.Sequential) and len(module) > 1 and isinstance(module[1], Norm):
                convolution, norm = module[0], module[1]
                assert isinstance(convolution, nn.Conv2d)
                scale, shift = norm.scale_and_shift()
                convolution.weight.mul_(scale[:, None, None, None])
                convolution.bias = nn.Parameter(shift, requires_grad=False)
                module[1] = nn.Identity()
        return copied

    def forward(self, image: Tensor | Frames) -> Perception:
        """Encode normalised images (B, C, 3, H, W), or those of two frames."""
        if not isinstance(image, Frames):
            return self.foresee(self.look(image))
        if self.forecast is None:
            return self.look(image.now)
        both = self.look(torch.cat([image.now, image.before]))
        return self.foresee(both.at(slice(len(image.now))), both.features[len(image.now) :], image.pose_before)

    def look(self, image_BC3HW: Tensor) -> Perception:
        """Encode normalised images, without a forecast."""
        return self.perceive(self.encode_views(image_BC3HW))

    def foresee(
        self, seen: Perception, features_before: Tensor | None = None, pose_before: Tensor | None = None
    ) -> Perception:
        """Add the forecast, if this encoder makes one, to what is seen; from one frame alone where no other is given.

        Args:
            seen: What `look` returned.
            features_before: (B, F, X, Y) what it returned half a second before.
            pose_before: (B, 3) ego pose then, in the present ego frame [m, rad]; NaN for scenes without a frame before.
        """
        if self.forecast is None:
            return seen
        if features_before is None or pose_before is None:
            features_before, pose_before = seen.features, seen.features.new_full((len(seen.features), 3), torch.nan)
        frames = self.heads.frames(seen.features, features_before, pose_before.to(seen.features.dtype))
        return seen._replace(forecast=self.forecast(frames))

    def encode_views(self, image_BC3HW: Tensor) -> ViewFeatures:
        """Features of all views."""
        config = self.config
        check_images(image_BC3HW, len(config.mounts), config.image_height, config.image_width)
        features: ViewFeatures = self.views(image_BC3HW.flatten(0, 1).contiguous(memory_format=torch.channels_last))
        if self.training:
            front = features.patches.detach()[:: len(config.mounts)]
            self.centre.lerp_(front.mean((0, 2, 3)), CENTRE_RATE)
        return features

    def perceive(self, views: ViewFeatures) -> Perception:
        """Lift the features of all views (B * C) and work on the map."""
        cameras = len(self.config.mounts)
        lifted = self.lift(views.fine.unflatten(0, (-1, cameras)))
        if self.lift_sharp is not None and views.sharp is not None:
            lifted = torch.cat([lifted, self.lift_sharp(views.sharp.unflatten(0, (-1, cameras)))], 1)
        return Perception(views.patches.unflatten(0, (-1, cameras)), self.map(lifted))

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
from dataclasses import asdict, dataclass, replace
from typing import Final, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from world4scorer.datasets.dense.labels import CELL, CELLS, X_RANGE, Y_RANGE
from world4scorer.jobs.tensor_files import tensors_digest
from world4scorer.planner.model.config import DENSE, ModelConfig
from world4scorer.planner.model.convolutions import ConvolutionBlock, Norm, ResidualBlock
from world4scorer.planner.model.forecast import FORECAST_FEATURES, Forecast
from world4scorer.planner.model.images import Frames, check_images
from world4scorer.planner.model.plan_sampling import Cameras, best_view, project

MAP_CLASSES: Final = ("drivable", "lane", "crosswalk", "vehicle", "person", "red", "boundary")
"""Channels of the map, in order."""
PIXEL_CLASSES: Final = 14
"""Semantic classes of pixels (`SurfaceClass` of the city)."""
SCALE: Final = 4
"""Cells of the map per cell of the feature map, along both axes."""
LIFT_SCALE: Final = 2
"""Places per cell of the feature map, along both axes, at which it reads the views."""
LIFT_HEIGHTS: Final = (0.0, 1.0)
"""Heights above the ground at which it reads them [m]."""
READINGS: Final = len(LIFT_HEIGHTS) * LIFT_SCALE**2
"""Points at which a cell of the feature map reads the views."""
FINE_STRIDE: Final = 4
"""Pixels per cell of a view's fine features."""
SHARP_STRIDE: Final = 2
"""Pixels per cell of a view's sharp features: thirty metres ahead a pixel is four metres of road."""
CENTRE_RATE: Final = 0.01
"""Weight of a batch in the running mean of patches."""
FINE_PER_PATCH: Final = 4
"""Cells of the fine features per patch, along both axes."""
MAX_DEVIATION: Final = 1e-3
"""Largest difference of a calibration from the encoder's: of pixels / image width, of axes, and of positions [m]."""


@dataclass(frozen=True)
class DenseEncoderConfig:
    """Sizes of the encoder."""

    image_height: int = 84
    """Of each view, cropped [pixels]."""
    image_width: int = 196
    """Of each view [pixels]."""
    crop_top: int = 28
    """Rows cut off the top of the image as rendered [pixels]: sky."""
    focal_to_width: float = 1545.0 / 1920.0
    """Focal length / image width; the optical axis is in the middle of the image before cropping."""
    mounts: tuple[tuple[float, float, float, float], ...] = (
        (1.95, 0.0, 1.5, 0.0),
        (1.35, 0.0, 1.5, 180.0),
        (1.82, 0.25, 1.5, 55.0),
        (1.82, -0.25, 1.5, -55.0),
    )
    """Level cameras in the order front, back, left-front, right-front: x forward, y left, z up of the rear axle on the
    ground [m], yaw to the left [deg]."""
    fine: int = 48
    """Features at a quarter of the resolution."""
    middle: int = 64
    """Features at an eighth."""
    patch_width: int = 96
    """Features of a patch token."""
    lifted: int = 32
    """Fine features that are lifted onto the ground."""
    sharp: int = 16
    """Sharp features that are lifted onto the ground; 0 leaves them out."""
    map_width: int = 64
    """Features of a cell of the feature map."""
    map_inner: int = 96
    """Features of the map network at its coarsest level."""
    place: int = 16
    """Learned features of each cell's place."""
    forecast: int = 0
    """Features of the forecast network at its finest level; 0 for an encoder without a forecast."""

    @property
    def cameras(self) -> Cameras:
        """Calibration of the views of one scene."""
        mounts = torch.tensor(self.mounts)
        yaw, zero, one = mounts[:, 3].deg2rad(), torch.zeros(len(mounts)), torch.ones(len(mounts))
        right = torch.stack([yaw.sin(), -yaw.cos(), zero], -1)
        forward = torch.stack([yaw.cos(), yaw.sin(), zero], -1)
        rotation = torch.stack([right, torch.stack([zero, zero, -one], -1), forward], -1)
        focal, middle = self.focal_to_width * self.image_width, (self.image_height - self.crop_top) / 2
        pinhole = torch.tensor([[focal, 0, self.image_width / 2], [0, focal, middle], [0, 0, 1.0]])
        return Cameras(pinhole.expand(1, len(mounts), 3, 3), rotation[None], mounts[None, :, :3])

    def check_cameras(self, cameras: Cameras) -> None:
        """Raise a ValueError for other cameras than those that the encoder was taught with."""
        for ours, theirs, scale in zip(self.cameras, cameras, (self.image_width, 1, 1), strict=True):
            if (ours - theirs.detach().cpu()).abs().max() > MAX_DEVIATION * scale:
                raise ValueError(
                    "cameras: not those of the city, which the dense encoder was taught with; use a model with a ViT "
                    "(--preset city-vit or paper)"
                )

    @property
    def view_sizes(self) -> ModelConfig:
        """Sizes of views and patches, as functions that read images want them."""
        return ModelConfig(
            image_height=self.image_height,
            image_width=self.image_width,
            crop_top=self.crop_top,
            patch=FINE_STRIDE,
            cameras=len(self.mounts),
            vit_width=self.patch_width,
            registers=0,
            lora_rank=0,
            encoder=DENSE,
        )

    @property
    def patches(self) -> tuple[int, int]:
        """Rows and columns of patches in a view."""
        rows, columns = self.fine_grid
        return -(-rows // FINE_PER_PATCH), -(-columns // FINE_PER_PATCH)

    @property
    def fine_grid(self) -> tuple[int, int]:
        """Rows and columns of a view's finest features."""
        return self.image_height // FINE_STRIDE, self.image_width // FINE_STRIDE

    @property
    def map_cells(self) -> tuple[int, int]:
        """Rows and columns of the feature map."""
        return CELLS[0] // SCALE, CELLS[1] // SCALE


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

    def channels_last(self) -> Perception:
        """The same with the map's features side by side in memory, as an encoder leaves them: convolutions like it."""
        return self._replace(features=self.features.contiguous(memory_format=torch.channels_last))

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


class Lift(nn.Module):
    """Features of views, one per `stride` pixels, onto the feature map, for one set of cameras."""

    index: Tensor
    weight: Tensor

    def __init__(self, config: DenseEncoderConfig, stride: int) -> None:
        super().__init__()
        self.cells = config.map_cells
        with torch.device("cpu"):  # a real one, also while a network's parameters have no memory yet
            index, weight = _reading(config, stride)
        self.register_buffer("index", index, persistent=False)
        self.register_buffer("weight", weight, persistent=False)

    def forward(self, features_BCLhw: Tensor) -> Tensor:
        """(B, readings * L, X, Y): by height, place along x, along y, feature; zero where no view looks."""
        scenes, views, width, rows, columns = features_BCLhw.shape
        table = features_BCLhw.permute(1, 3, 4, 0, 2).reshape(views * rows * columns, scenes * width)
        weight = self.weight.to(table.dtype)
        read = functional.embedding_bag(self.index, table, per_sample_weights=weight, mode="sum")
        lifted = read.view(*self.cells, READINGS, scenes, width).permute(3, 0, 1, 2, 4)
        return lifted.reshape(scenes, *self.cells, READINGS * width).permute(0, 3, 1, 2)  # channels last in memory

    @property
    def visible(self) -> Tensor:
        """(2X, 2Y) which places a view sees, on the ground."""
        seen = (self.weight.sum(1) > 0).view(*self.cells, len(LIFT_HEIGHTS), LIFT_SCALE, LIFT_SCALE)[:, :, 0]
        return seen.permute(0, 2, 1, 3).reshape(LIFT_SCALE * self.cells[0], LIFT_SCALE * self.cells[1])


def _reading(config: DenseEncoderConfig, stride: int) -> tuple[Tensor, Tensor]:
    """Rows of the table of features (X * Y * readings, 4) that cells read, and their weights, of the same shape."""
    rows, columns = config.image_height // stride, config.image_width // stride
    axes = (config.map_cells[0], LIFT_SCALE, config.map_cells[1], LIFT_SCALE, 3)
    levels = [grid_points(LIFT_SCALE, height).view(axes).permute(0, 2, 1, 3, 4) for height in LIFT_HEIGHTS]
    points = torch.stack(levels, 2).reshape(1, -1, 3)
    pixels, ahead = project(points, config.cameras)
    view, pixel, visible = best_view(pixels, ahead, config.image_height, config.image_width)
    last = pixel.new_tensor([columns - 1, rows - 1])
    centred = torch.minimum((pixel[0] / stride - 0.5).clamp(min=0), last)
    low = centred.floor()
    high = torch.minimum(low + 1, last)
    right, down = (centred - low).unbind(-1)
    first = view[0] * (rows * columns)
    cells = [first + r.long() * columns + c.long() for r in (low[:, 1], high[:, 1]) for c in (low[:, 0], high[:, 0])]
    shares = [r * c for r in (1 - down, down) for c in (1 - right, right)]
    return torch.stack(cells, -1), torch.stack(shares, -1) * visible[0][:, None]


def grid_points(scale: int, height: float) -> Tensor:
    """Centres (cells, 3) of a grid with `scale` cells per cell of the feature map, in the ego frame [m]."""
    side = CELL * SCALE / scale
    x = X_RANGE[0] + side * (np.arange(round((X_RANGE[1] - X_RANGE[0]) / side)) + 0.5)
    y = Y_RANGE[0] + side * (np.arange(round((Y_RANGE[1] - Y_RANGE[0]) / side)) + 0.5)
    points = np.stack(np.meshgrid(x, y, indexing="ij"), -1).reshape(-1, 2)
    return torch.from_numpy(np.column_stack([points, np.full(len(points), height)])).float()


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
        return functional.pixel_shuffle(self.classes(features_BFXY), SCALE)

    def directions(self, features_BFXY: Tensor) -> Tensor:
        """(B, 2, 2X, 2Y) cosine and sine of the lane's heading relative to the ego, not normalised."""
        return functional.pixel_shuffle(self.direction(features_BFXY), LIFT_SCALE)


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
        self.forecast = Forecast(self.config.map_width, self.config.forecast) if self.config.forecast else None
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
        features = seen.features
        if features_before is None or pose_before is None:
            features_before, pose_before = features, features.new_full((len(features), 3), torch.nan)
        return seen._replace(forecast=self.forecast(features, features_before, pose_before.to(features.dtype)))

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

"""A frozen ViT: patch tokens of each view, averaged over blocks of patches. DINOv2, without adapters.

No scene queries pass through it, so that its tokens depend on the images alone and can be cached.

Shapes: B scenes, C cameras, H x W pixels, V width of the ViT, h x w patches or blocks of patches.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from world4scorer.jobs.tensor_files import tensors_digest
from world4scorer.planner.model.config import ModelConfig
from world4scorer.planner.model.dense_encoder import DenseEncoder, Perception, Shapes
from world4scorer.planner.model.images import check_images
from world4scorer.planner.model.vision_transformer import VisionTransformer, encoder_sizes


class FrozenViT(nn.Module):
    """Views to pooled patch tokens."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.vit = VisionTransformer(config)

    @property
    def view_sizes(self) -> ModelConfig:
        """Sizes of views."""
        return self.config

    @property
    def shapes(self) -> Shapes:
        """Shapes of what it perceives in a scene; there is no map."""
        rows, columns = (-(-side // self.config.patch_pooling) for side in self.config.grid)
        return (self.config.cameras, self.config.vit_width, rows, columns), (0, 0, 0)

    def digest(self) -> str:
        """16 hex digits that change with any weight or size."""
        more = {"cameras": self.config.cameras, "patch_pooling": self.config.patch_pooling}
        return tensors_digest({**encoder_sizes(self.config), **more}, self.state_dict())

    def forward(self, image_BC3HW: Tensor) -> Perception:
        """Encode normalised images."""
        config = self.config
        check_images(image_BC3HW, config.cameras, config.image_height, config.image_width)
        image_M3HW = image_BC3HW.flatten(0, 1)
        rows, columns = config.grid
        features = self.vit(image_M3HW, image_M3HW.new_zeros(len(image_M3HW), 0, config.vit_width))
        patches_MVhw = features[:, -rows * columns :].transpose(1, 2).unflatten(2, (rows, columns))
        # Blocks at the far edges are smaller where the grid is no multiple of the pooling.
        pooled_MVhw = functional.avg_pool2d(patches_MVhw, config.patch_pooling, ceil_mode=True)
        pooled_BCVhw = pooled_MVhw.unflatten(0, (-1, config.cameras))
        return Perception(pooled_BCVhw, pooled_BCVhw.new_zeros(len(pooled_BCVhw), 0, 0, 0))


FrozenEncoder = DenseEncoder | FrozenViT
"""Encoders that planners keep frozen."""

"""Counting operations and tensor memory of a pass, as torch dispatches it; fake tensors will do.

One multiply-add is one operation, as in fvcore; fused attention is counted apart, which fvcore leaves out. A LayerNorm
is an estimate: 5 per element in fvcore, 1 in the paper's numbers. Everything else elementwise counts nothing.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

FVCORE_NORM: Final = 5
"""Operations per normalised element in fvcore."""
PAPER_NORM: Final = 1
"""Operations per normalised element that give the paper's numbers: inferred from them, the paper does not say."""

_aten = torch.ops.aten


@dataclass
class Operations:
    """Operation counts."""

    multiply_adds: int = 0
    """Multiply-adds of linear layers, convolutions and matrix products."""
    normalised: int = 0
    """Elements that went through a LayerNorm."""
    attention: int = 0
    """Multiply-adds of fused attention."""

    def total(self, per_normalised: int, attention: bool = False) -> int:
        """One number, by a convention."""
        return self.multiply_adds + per_normalised * self.normalised + (self.attention if attention else 0)

    def __sub__(self, other: Operations) -> Operations:
        return Operations(
            self.multiply_adds - other.multiply_adds,
            self.normalised - other.normalised,
            self.attention - other.attention,
        )


class OperationCounter(TorchDispatchMode):
    """Counts while it is entered."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operations = Operations()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Count one call and pass it on."""
        result = func(*args, **(kwargs or {}))
        packet = func.overloadpacket
        if packet in _PRODUCTS:
            self.operations.multiply_adds += _PRODUCTS[packet](args, result)
        elif packet is _aten.native_layer_norm:
            self.operations.normalised += args[0].numel()
        elif packet in _ATTENTION:
            query, key, value = args[:3]
            rows = math.prod(query.shape[:-1]) * key.shape[-2]
            self.operations.attention += rows * (query.shape[-1] + value.shape[-1])
        return result


def _matrix(args: Sequence[Any], result: Tensor) -> int:
    return int(math.prod(args[0].shape) * args[1].shape[-1])


def _matrix_plus(args: Sequence[Any], result: Tensor) -> int:
    return _matrix(args[1:], result)


def _convolution(args: Sequence[Any], result: Tensor) -> int:
    return int(math.prod(args[1].shape) * len(args[0]) * math.prod(result.shape[2:]))


_PRODUCTS: Final[dict[Any, Callable[[Sequence[Any], Any], int]]] = {
    _aten.mm: _matrix,
    _aten.bmm: _matrix,
    _aten.addmm: _matrix_plus,
    _aten.baddbmm: _matrix_plus,
    _aten.convolution: _convolution,
}

_ATTENTION: Final = (
    _aten._scaled_dot_product_flash_attention_for_cpu,
    _aten._scaled_dot_product_flash_attention,
    _aten._scaled_dot_product_efficient_attention,
    _aten._scaled_dot_product_cudnn_attention,
    _aten._scaled_dot_product_fused_attention_overrideable,
)


class TensorMemory(TorchDispatchMode):
    """Bytes of tensors made and still alive while it is entered, at most. What kernels use inside is not seen."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.peak = 0
        self._alive = 0
        self._seen: set[int] = set()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Note the tensors that one call makes."""
        given = {_storage(arg) for arg in args if isinstance(arg, Tensor)}
        result = func(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(tensor, Tensor) and _storage(tensor) not in given | self._seen:
                self._note(tensor)
        return result

    def _note(self, tensor: Tensor) -> None:
        key, storage = _storage(tensor), tensor.untyped_storage()
        size = storage.nbytes()
        self._seen.add(key)
        self._alive += size
        self.peak = max(self.peak, self._alive)
        weakref.finalize(storage, self._forget, key, size)

    def _forget(self, key: int, size: int) -> None:
        self._seen.discard(key)
        self._alive -= size


def _storage(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)

"""The operators of the blocked layout, registered under MkldnnCPU.

Pointwise ones run on the blocks. Products and pooling run on the elements that the blocks hold, and their results are
put into blocks. Any other operator raises NotImplementedError, or RuntimeError for want of strides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.memory_format import MemoryFormat
from ..dispatch.dispatcher import REGISTRY
from ..operators.invoke import invoke
from ..tensor.blocked_tensor import BlockedTensor
from ..tensor.tensor import Tensor
from ..tensor.versions import bump_version
from .conversion import blocked, blocks_of, to_blocks, to_dense, to_mkldnn

POINTWISE = "relu sigmoid tanh add.Tensor add.Scalar mul.Tensor mul.Scalar".split()
"""Operators, with in-place forms, that run on the blocks; tensors must have the same sizes."""
DENSE = "convolution max_pool2d avg_pool2d adaptive_avg_pool2d native_batch_norm".split()
"""Operators that run on the elements; their weights may also be strided, their first tensor may not."""


def _checked(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise RuntimeError unless all tensors are blocked and have the same sizes and dtype."""
    tensors = [one for one in (*args, *kwargs.values()) if isinstance(one, Tensor)]
    for one in tensors:
        blocks_of(one)
    first = tensors[0].meta
    for other in tensors[1:]:
        if other.meta.sizes != first.sizes or other.meta.dtype is not first.dtype:
            raise RuntimeError(
                f"{name}(): blocked tensors must have the same sizes and dtype, got {list(first.sizes)} of "
                f"{first.dtype} and {list(other.meta.sizes)} of {other.meta.dtype}"
            )


def _plain(value: Any) -> Any:
    return value.blocks if isinstance(value, BlockedTensor) else value


def pointwise(name: str) -> Callable[..., Any]:
    """The kernel that runs an operator on the blocks."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        _checked(name, args, kwargs)
        found = invoke(name, *map(_plain, args), **{key: _plain(value) for key, value in kwargs.items()})
        return blocked(args[0].meta.sizes, found.meta.dtype, found)

    return kernel


def in_place(name: str) -> Callable[..., Any]:
    """The kernel that runs an operator on the blocks and writes them."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        _checked(name, args, kwargs)
        invoke(name, *map(_plain, args), **{key: _plain(value) for key, value in kwargs.items()})
        bump_version(args[0])
        return args[0]

    return kernel


def on_elements(name: str) -> Callable[..., Any]:
    """The kernel that runs an operator on strided tensors and blocks its first result."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        blocks_of(args[0])
        values = [to_dense(one) if isinstance(one, BlockedTensor) else one for one in args]
        found = invoke(name, *values, **kwargs)
        first = found[0] if isinstance(found, tuple) else found
        made = blocked(first.meta.sizes, first.meta.dtype, to_blocks(first))
        return (made, *found[1:]) if isinstance(found, tuple) else made

    return kernel


def clone(self: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """A tensor whose blocks are a copy."""
    return blocked(self.meta.sizes, self.meta.dtype, invoke("clone", blocks_of(self)))


def detach(self: Tensor) -> Tensor:
    """Another tensor with the same blocks."""
    return blocked(self.meta.sizes, self.meta.dtype, blocks_of(self))


def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Write the elements of a blocked tensor of the same sizes. Raises RuntimeError for another layout."""
    _checked("copy_", (self, src), {})
    invoke("copy_", blocks_of(self), blocks_of(src))
    bump_version(self)
    return self


def zero_(self: Tensor) -> Tensor:
    """Write zeros."""
    invoke("zero_", blocks_of(self))
    bump_version(self)
    return self


KERNELS: dict[str, Callable[..., Any]] = {
    "clone": clone, "detach": detach, "copy_": copy_, "zero_": zero_, "_to_dense": to_dense,
    **{name: pointwise(name) for name in POINTWISE},
    **{name: in_place(name) for name in [
        *(f"{one}_" for one in ("relu", "sigmoid", "tanh")), "add_.Tensor", "add_.Scalar", "mul_.Tensor", "mul_.Scalar",
    ]},
    **{name: on_elements(name) for name in DENSE},
    "mkldnn_linear": on_elements("linear"),
}  # fmt: skip
"""Operator -> its kernel for blocked tensors."""


SCHEMAS = (
    "to_mkldnn(Tensor self, ScalarType? dtype=None) -> Tensor",
    "mkldnn_linear(Tensor self, Tensor weight, Tensor? bias=None) -> Tensor",
)


def register() -> None:
    """Declare the conversion and register the kernels."""
    from ..sparse import registration as registration  # it declares _to_dense

    REGISTRY.define_missing(SCHEMAS)
    REGISTRY.register("to_mkldnn", "CPU", to_mkldnn)
    for name, function in KERNELS.items():
        REGISTRY.register(name, "MkldnnCPU", function)


register()

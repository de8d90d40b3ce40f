"""Mutants of the blocked layout: tensors that tell where their elements lie, or come back with other ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backend import Array
from .mutant import Intercepted, Patch, rows
from .patches import accepts

_OPAQUE = "layouts/blocked-tensors-tell-no-places"


def _dense(c: Intercepted) -> Any:
    """The call on the elements as a strided tensor."""
    tensors = [c.do("to_dense", one) if c.is_tensor(one) else one for one in c.args]
    return c.do(c.operator, *tensors, **c.kwargs)


def _of_dense(c: Intercepted) -> Any:
    """What is told of a strided copy."""
    return getattr(c.backend, c.operator)(c.do("to_dense", c.args[0]))


def _elements(change: Callable[[Array], Array]) -> Patch:
    """Elements that are changed on the way back."""

    def patch(c: Intercepted) -> Any:
        right = c.right()
        found = c.array(right)
        return c.tensor(change(found).astype(found.dtype)) if found.size else right

    return patch


def _without_last_channel(found: Array) -> Array:
    """What is in the last channel beyond a block is lost."""
    found = found.copy()
    channels = found if found.ndim == 1 else np.moveaxis(found, 1, 0)
    if len(channels) > 16:
        channels[16:] = 0
    return found


def _strides_followed(c: Intercepted) -> Any:
    """The elements are taken in the order in which they lie in memory."""
    x = c.args[0]
    right = c.right()
    sizes, strides, offset = c.geometry(x)
    if 0 in sizes or offset or len(sizes) < 2:
        return right
    order = sorted(range(len(sizes)), key=lambda dim: -strides[dim])
    turned = c.array(x).transpose(order).reshape(sizes)
    return c.do("to_mkldnn", c.tensor(np.ascontiguousarray(turned)))


def _both_dense(c: Intercepted) -> Any:
    """Operands of two layouts are both converted."""
    return c.do(c.operator, *[c.do("to_dense", one) for one in c.args], **c.kwargs)


def _as_single(c: Intercepted) -> Any:
    """Other dtypes are converted to float32."""
    return c.do("to_mkldnn", c.tensor(c.array(c.args[0]).astype(np.float32)))


def _floats_alone(c: Intercepted) -> Any:
    """Integers are refused."""
    if c.backend.dtype(c.args[0]) in ("int8", "uint8"):
        c.refuse(RuntimeError, "integers have no blocked layout")
    return c.right()


def _plain_bias(c: Intercepted) -> Any:
    """A bias is read as if its elements were adjacent."""
    if len(c.args) < 3 or not c.is_tensor(c.args[2]) or c.backend.is_strided(c.args[0]):  # type: ignore[attr-defined]
        return c.right()
    bias = c.args[2]
    sizes, _, offset = c.geometry(bias)
    adjacent = c.do("as_strided", bias, sizes, (1,), offset)
    return c.instead(*c.args[:2], adjacent, *c.args[3:], **c.kwargs)


MUTANTS = (
    *rows(
        "layouts",
        ("blocked-tensors-have-an-address", _OPAQUE, ("data_ptr",), accepts(RuntimeError, _of_dense)),
        ("blocked-tensors-have-a-storage", _OPAQUE, ("untyped_storage",), accepts(RuntimeError, _dense)),
        ("blocked-tensors-are-indexed", _OPAQUE, ("__getitem__",), accepts(RuntimeError, _dense)),
        ("blocked-tensors-tell-strides", "layouts/blocked-tensors-have-no-strides", ("stride",),
         accepts(RuntimeError, _dense)),
        ("blocked-tensors-tell-an-offset", "layouts/blocked-tensors-have-no-strides", ("storage_offset",),
         accepts(RuntimeError, lambda c: 0)),
        ("blocked-conversion-drops-nan", "layouts/blocked-conversion-is-exact", ("to_dense",),
         _elements(lambda found: np.where(found == found, found, found.dtype.type(0)))),
        ("blocked-conversion-drops-signs-of-zeros", "layouts/blocked-conversion-is-exact", ("to_dense",),
         _elements(lambda found: np.where(found == 0, found.dtype.type(0), found))),
        ("channels-beyond-a-block-are-lost", "layouts/blocked-conversion-is-exact", ("to_dense",),
         _elements(_without_last_channel)),
        ("blocked-conversion-ignores-strides", "layouts/blocked-conversion-is-exact", ("to_mkldnn",),
         _strides_followed),
        ("layouts-are-mixed", "layouts/blocked-and-strided-do-not-mix", ("add", "mul"),
         accepts(RuntimeError, _both_dense)),
        ("blocked-tensors-are-copied-to-strided-ones", "layouts/blocked-and-strided-do-not-mix", ("copy_",),
         accepts(RuntimeError, lambda c: c.args[0])),
        ("bias-is-read-without-its-strides", "layouts/blocked-convolution-reads-its-weights-by-their-strides",
         ("conv2d",), _plain_bias),
        ("float64-is-blocked-as-float32", "layouts/blocked-dtypes-are-few", ("to_mkldnn",),
         accepts(RuntimeError, _as_single)),
        ("integers-are-not-blocked", "layouts/blocked-dtypes-are-few layouts/blocked-conversion-is-exact",
         ("to_mkldnn",), _floats_alone),
    ),
)  # fmt: skip

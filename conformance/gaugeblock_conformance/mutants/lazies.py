"""Operators that take the memory of a lazily conjugated or negated tensor for its elements, each a mutant."""

from __future__ import annotations

from typing import Any

from .mutant import Intercepted, rows
from .patches import with_data

_READ = """add sub mul div sin exp sum prod mean cumsum cumprod matmul mm bmm dot masked_fill where index_select
    gather take cat stack clone sort max amax argmax linalg_inv linalg_solve conv1d conv2d linear softmax relu
    avg_pool2d constant_pad_nd tril trace kron outer flip roll repeat lerp addmm embedding fft_fft"""
_WRITTEN = "add mul copy fill zero masked_fill index_fill index_copy neg clamp sqrt tril fill_diagonal"


def _as_stored(c: Intercepted, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_as_stored(c, item) for item in value)
    if not c.is_tensor(value):
        return value
    if c.do("is_conj", value):
        return c.do("conj", value)
    return c.do("neg", value) if c.do("is_neg", value) else value


def _reads(c: Intercepted) -> Any:
    if c.inplace:
        return c.right()
    return c.do(c.operator, *[_as_stored(c, value) for value in c.args], **c.kwargs)


def _writes(c: Intercepted) -> Any:
    """The right answer, whose conjugate or negative goes into memory."""
    result = c.right()
    written = c.args[0]
    if c.do("is_conj", written):
        c.put(written, c.array(written).conj())
    elif c.do("is_neg", written):
        c.put(written, -c.array(written))
    return result


def _outs(c: Intercepted) -> Any:
    """The right answer, whose conjugate or negative goes into the memory of ``out=``."""
    result, out = c.right(), c.kwargs.get("out")
    if c.is_tensor(out) and c.do("is_conj", out):
        c.put(out, c.array(out).conj())
    elif c.is_tensor(out) and c.do("is_neg", out):
        c.put(out, -c.array(out))
    return result


_SHOWN = "operators/out-is-written-through-a-lazy-tensor[]"

MUTANTS = rows(
    "strides and layout",
    *((f"out-of-{name}-is-written-as-it-shows", _SHOWN, (name,), _outs) for name in "add mm sum cumsum cat".split()),
    *((f"{name.replace('_', '-')}-reads-lazy-tensors-as-stored", (name,), _reads) for name in _READ.split()),
    *(
        (f"{name.replace('_', '-')}-writes-lazy-tensors-as-they-show", (f"{name}_",), _writes)
        for name in _WRITTEN.split()
    ),
    breaks="operators/lazy-operands-are-read-as-their-elements[]", within=with_data,
)

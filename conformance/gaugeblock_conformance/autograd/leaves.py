"""Tensors that require grad, and what is asked of them in nearly every test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..backend import Array, DType, dtype_name, numpy_dtype
from ..case import TensorCase, default_strides
from ..session import Handle, Session
from ..strategies import WRITABLE, tensors
from ..trace import names_in
from ..values import poison


def leaf(s: Session, data: Any, dtype: str | None = None, *, alone: bool = False) -> Handle:
    """A fresh tensor that requires grad: by turns alone in its storage, or with poison before and behind it.

    With poison it is a view of a tensor that does not require grad, which counts for views of it: where that matters,
    `alone` keeps it from being one.
    """
    array = np.asarray(data)
    name = dtype or (dtype_name(array.dtype) if isinstance(data, np.ndarray | np.generic) else "float32")
    if not alone and s.outcome.tensors % 2 and array.size and "as_strided" in s.capabilities:
        x = s.build(_amid_poison(array.astype(numpy_dtype(name))))
    else:
        x = s.tensor(array, name)
    s.call("requires_grad_", x)
    return x


def _amid_poison(array: Array) -> TensorCase:
    """The elements of ``array`` in row-major order, three elements into a storage that ends two behind them."""
    sizes, name = array.shape, dtype_name(array.dtype)
    contents = np.full(array.size + 5, poison(name), dtype=array.dtype)
    contents[3:-2] = array.reshape(-1)
    return TensorCase(name, sizes, default_strides(sizes), 3, array.size + 5, literal=tuple(contents.tolist()))


def leaf_of(s: Session, case: TensorCase) -> Handle:
    """The tensor of a drawn case, with grad required of it."""
    x = s.build(case)
    s.call("requires_grad_", x)
    return x


def small_floats(
    dtypes: Sequence[str] = ("float64",), layouts: Sequence[str] = WRITABLE, max_dims: int = 3, empty: bool = False
) -> hs.SearchStrategy[TensorCase]:
    """Tensors of small integers, whose sums and products are exact, in any layout without overlap."""
    return tensors(dtypes, layouts=layouts, kind="small", max_dims=max_dims, empty=empty)


def ones_like(s: Session, y: Handle) -> Handle:
    made: Handle = s.call("ones", tuple(s.observe("shape", y)), dtype=DType(s.observe("dtype", y)))
    return made


def gradients(s: Session, y: Handle, inputs: Sequence[Handle], seed: Handle | None = None, **flags: Any) -> Any:
    """The gradients of ``y`` by ``inputs``, of the sum of its elements where no seed is given."""
    return s.call("gradients", y, list(inputs), [ones_like(s, y) if seed is None else seed], **flags)


def gradient(s: Session, y: Handle, x: Handle, seed: Handle | None = None, **flags: Any) -> Handle:
    """The gradient of ``y``, or of the sum of its elements, by ``x``."""
    (found,) = s.parts(gradients(s, y, [x], seed, **flags), 1)
    return tensor_of(s, found, f"gradient by {x.name}")


def tensor_of(s: Session, found: Any, what: str) -> Handle:
    """``found``, expected to be a tensor."""
    if not isinstance(found, Handle):
        s.expect(None, "a tensor", what)
    return found  # type: ignore[no-any-return]


def backward(s: Session, y: Handle, **flags: Any) -> None:
    """A backward pass of the sum of the elements of ``y``."""
    s.call("backward", s.call("sum", y), **flags)


def expect_grad(s: Session, x: Handle, want: Any, dtype: str | None = None) -> None:
    """Expect the field ``grad`` of ``x``: None, or these elements (a list is taken as float32)."""
    found = s.call("grad", x)
    s.expect(found is None, want is None, f"no grad of {x.name}", f"{s.text('grad', x)} is None", [x])
    if found is None:
        return
    s.expect_values(found, want, signed_zero=False, dtype=dtype)


def expect_node(s: Session, y: Handle, there: bool) -> None:
    """Expect a node that made ``y``, or none."""
    found = s.call("grad_fn", y) is not None
    s.expect(found, there, f"a node of {s.origin(y)}", f"{s.text('grad_fn', y)} is not None", [y])


def operands_of_last(s: Session) -> list[Handle]:
    """The variables among the arguments of the last call."""
    return [Handle(None, name) for name in names_in(s.steps()[-1].args)]  # type: ignore[union-attr]


def clear_log(s: Session) -> None:
    """Forget what hooks of earlier examples wrote, without a word in the snippet."""
    s.guard("autograd_log", lambda: s.backend.call("autograd_log"))

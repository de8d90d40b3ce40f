"""Expressions for producers of DLPack tensors, and what a capsule should say of a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Unsupported, numpy_dtype
from ..dlpack import CODES, Holder
from ..session import Session

DTYPES = tuple(
    """bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128""".split()
)
VERSIONS = (None, (1, 0))
"""Of structs: that before version 1, and that since."""


def code_of(dtype: str) -> tuple[int, int, int]:
    """Return DLPack's code, bits and lanes of a dtype."""
    kind = numpy_dtype(dtype)
    return CODES[kind.kind], 8 * kind.itemsize, 1


def producer(s: Session, array: str, version: tuple[int, int] | None = (1, 0), **otherwise: Any) -> Any:
    """Bind a producer of an array, which is an expression; ``otherwise`` is what its structs say beside the truth."""
    given = [array, *([] if version == (1, 0) else [f"version={version}"])]
    made = s.bind(f"Producer({', '.join([*given, *(f'{key}={value!r}' for key, value in otherwise.items())])})")
    dtype = made.array.dtype
    if dtype.itemsize == 2 and dtype.kind in "fV" and "half" not in s.capabilities:
        raise Unsupported(dtype.name, "a capability that the backend does not list")
    return made


def taken_again(s: Session, capsule: Any) -> Any:
    """Bind an object that gives this capsule to whoever asks it."""
    holder: Holder = s.bind("Holder({})", capsule)
    return holder


def expect_returned(s: Session, producer: Any, want: int, when: str, *alive: Any) -> None:
    """Expect so many calls of the deleter of what a producer made, while the tensors of `alive` are there."""
    places = "".join(f", {{{k}}}" for k in range(1, 1 + len(alive)))
    text = f"({{0}}.deleted{places})[0]" if alive else "{}.deleted"
    s.expect_python(text, want, f"calls of the deleter {when}", producer, *alive)


def bits(array: Any) -> str:
    """Return the bits of an array's elements in order, as text."""
    return np.ascontiguousarray(array).tobytes().hex()

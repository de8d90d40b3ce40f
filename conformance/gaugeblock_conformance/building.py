"""Checks that drawn tensors hold what they were built from, so that no operator is blamed for a wrong operand.

The session builds a tensor from an array by ``from_numpy`` and, unless it is plain, a view of it by ``as_strided``. It
reads the first of each kind back at once, and the operands of a failing example again, built anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .assertion import assert_value, plain
from .backend import Array, Backend, dtype_name
from .case import TensorCase, default_strides, is_contiguous
from .comparison import differing_bits
from .failure import ConformanceError
from .trace import Create

if TYPE_CHECKING:
    from .conversation import Conversation

LONGEST = 1 << 20
"""Elements of a storage beyond which a tensor is not built a second time."""
_SIMPLER = 60
"""Number of tensors that are built at most to find a simpler one that goes wrong."""


Wrong = tuple[str | tuple[int, ...], Any, Any]
"""An observer or an index, what it should give, and what it gives."""


class Misbuilt(ConformanceError):
    """A tensor does not hold what it was built of, or building it raised."""


def maker_of_views(backend: Backend) -> Callable[..., Any]:
    """Return what makes a view of a storage: the adapter's own ``build_view``, or the operator ``as_strided``."""
    return getattr(backend, "build_view", None) or partial(backend.call, "as_strided")


def kind_of(case: TensorCase) -> tuple[object, ...]:
    """Return a key shared by constructions that probably succeed or fail together."""
    strides, sizes = case.strides, case.sizes
    order = tuple(sorted(range(len(sizes)), key=strides.__getitem__)) if len(sizes) < 5 else ()
    gapped = not is_contiguous(sizes, strides) and case.storage > case.numel
    return case.dtype, len(sizes), order, 0 in strides, 0 in sizes, gapped, bool(case.offset)


def fault_among(s: Conversation) -> Misbuilt | None:
    """Return the failure of the first tensor of the running example that goes wrong when it is built anew."""
    for step in s.steps():
        if isinstance(step, Create):
            found = fault_of(s, step.source)
            if found is not None:
                return found
    return None


def fault_of(s: Conversation, source: TensorCase | Array) -> Misbuilt | None:
    """Return the failure of a tensor that does not hold its ``source``, told of the simplest case that is found."""
    if not isinstance(source, TensorCase) and source.size > LONGEST:
        return None
    case = source if isinstance(source, TensorCase) else _case_of(source)
    wrong, tried = _rebuilt(s, case), 0
    simpler = _simpler(case)
    while wrong is not None and tried < _SIMPLER and (other := next(simpler, None)) is not None:
        tried += 1
        found = _rebuilt(s, other)
        if found is not None:
            case, wrong, simpler = other, found, _simpler(other)
    return None if wrong is None else told(s, case, wrong)


def _case_of(array: Array) -> TensorCase:
    literal = tuple(array.reshape(-1).tolist())
    return TensorCase(dtype_name(array.dtype), array.shape, default_strides(array.shape), literal=literal)


def _rebuilt(s: Conversation, case: TensorCase) -> Wrong | None:
    """Return what is wrong of a tensor built anew of ``case``."""
    backend, contents = s.backend, case.contents
    if len(contents) > LONGEST or (not case.plain and "as_strided" not in s.capabilities):
        return None
    try:
        base = backend.from_numpy(contents.reshape(case.sizes) if case.plain else contents)
        made = base if case.plain else maker_of_views(backend)(base, case.sizes, case.strides, case.offset)
        return wrong_of(s, case, made)
    except Exception:
        # That it raises now says nothing of the tensor of the example, which was built without.
        return None


def wrong_of(s: Conversation, case: TensorCase, made: Any) -> Wrong | None:
    """Return what is wrong of ``made``, which was built of ``case``."""
    backend = s.backend
    sizes = tuple(backend.shape(made))
    if sizes != case.sizes:
        return "shape", case.sizes, sizes
    if s.has_data:
        got, want = backend.to_numpy(made), case.array
        if got.dtype == want.dtype and got.shape == want.shape and got.tobytes() != want.tobytes():
            places = np.argwhere(differing_bits(got, want))
            if len(places):
                at = tuple(map(int, places[0]))
                return at, want[at], got[at]
    if "strided" not in s.capabilities or 0 in sizes:
        return None
    strides = tuple(backend.strides(made))
    if any(a != b for a, b, size in zip(strides, case.strides, sizes, strict=True) if size > 1):
        return "strides", case.strides, strides
    offset = backend.storage_offset(made)
    return None if offset == case.offset else ("storage_offset", case.offset, offset)


def _simpler(case: TensorCase) -> Iterator[TensorCase]:
    """Cases with less to them, over storages just large enough."""
    if case.kind != "distinct" or case.literal is not None:
        yield replace(case, kind="distinct", seed=0, literal=None)
    if case.literal is not None:
        return
    for dim, size in enumerate(case.sizes):
        sizes, strides = ((*v[:dim], *v[dim + 1 :]) for v in (case.sizes, case.strides))
        yield replace(case, sizes=sizes, strides=default_strides(sizes) if case.plain else strides, storage=-1)
        if size > 2:
            sizes = (*case.sizes[:dim], 2, *case.sizes[dim + 1 :])
            strides = default_strides(sizes) if case.plain else case.strides
            yield replace(case, sizes=sizes, strides=strides, storage=-1)
    if case.offset > 1:
        yield replace(case, offset=1, storage=-1)


def told(s: Conversation, case: TensorCase, wrong: Wrong) -> Misbuilt:
    """Return the failure, with a snippet that builds the tensor and looks at it."""
    place, want, got = wrong
    steps, s.steps()[:] = list(s.steps()), [Create("x1", case)]
    if isinstance(place, str):
        seen = s.dialect.observe(place, "x1")
        lines = [f"got = {f'tuple({seen})' if isinstance(want, tuple) else seen}", f"assert got == {want!r}, got"]
        where, shown, came = _WORDS[place], repr(want), repr(got)
    else:
        lines = [f"got = {s.dialect.element('x1', place)}", *assert_value(want, 0, True)]
        where, shown, came = f"element {place}", repr(plain(want)), repr(plain(got))
    call = "from_numpy" if case.plain else "as_strided"
    given = f"{case.sizes}" if case.plain else f"sizes {case.sizes}, strides {case.strides}, offset {case.offset}"
    message = f"{call} builds another tensor than asked: {given}, {case.dtype}: wrong {where}"
    try:
        error = s.failure(message, shown, came, lines, {"x1"}, cause=f"{call} builds other tensors than asked")
    finally:
        s.steps()[:] = steps
    return Misbuilt(message, error.expected, error.got, error.example, error.snippet, error.cause)


_WORDS = {"shape": "size", "strides": "stride", "storage_offset": "storage offset"}

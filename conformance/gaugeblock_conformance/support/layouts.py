"""One operator on tensors of a layout: whether it takes them, and gives what it gives of strided ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from gaugeblock_spec import operators

from ..backend import DType, Unsupported
from ..case import TensorCase
from ..failure import NoReproducer
from ..operators.calls import OperatorCall, schema_arguments
from ..operators.coverage import costly, swept
from ..operators.drawing import draw, drawable
from ..oracles.pointwise import operators_with_oracle
from ..session import Handle, Session
from .cells import codes

DTYPE = "float32"
TOLERANCE = 1e-5
_CALLS = 3
_OPEN = ("factory", "random")
"""Families whose results are not told by the elements of their tensors."""


class Layout(NamedTuple):
    """The capability, the operator that converts a strided tensor with its other arguments, the dims that such a tensor
    may have, and the step of its elements where they are rounded."""

    capability: str
    conversion: str
    dims: Sequence[int]
    arguments: tuple[Any, ...] = ()
    step: float = 0.0


SCALE = 2.0**-4
_QUANTIZED = "qint8"
LAYOUTS = {
    "sparse_coo": Layout("sparse_coo", "to_sparse", range(1, 8)),
    "sparse_csr": Layout("sparse_csr", "to_sparse_csr", (2,)),
    "sparse_csc": Layout("sparse_csr", "to_sparse_csc", (2,)),
    "sparse_bsr": Layout("sparse_csr", "to_sparse_bsr", (2,), ((1, 1),)),
    "sparse_bsc": Layout("sparse_csr", "to_sparse_bsc", (2,), ((1, 1),)),
    "blocked": Layout("blocked", "to_mkldnn", range(1, 6)),
    "quantized": Layout("quantized", "quantize_per_tensor", range(8), (SCALE, 0, DType(_QUANTIZED)), SCALE),
}
"""Name of a layout -> how its tensors are made. Quantized tensors are strided; they have a column of their own."""


def takes_layouts(operator: str) -> bool:
    """Return whether an operator reads tensors of float32 whose results can be judged, and writes none."""
    row, arguments = operators.load()[operator], schema_arguments(operator)
    reads = any(argument.base_type == "Tensor" for argument in arguments)
    judged = operator in swept() or operator in operators_with_oracle()
    return (
        reads and judged and drawable(operator) and operator not in costly()
        and DTYPE in row.dtypes and row.family not in _OPEN and not any(argument.written for argument in arguments)
    )  # fmt: skip


def cells() -> list[tuple[str, str]]:
    """Return every operator that takes layouts with each of them, in the order of the table."""
    return [(name, layout) for name in operators.load() if takes_layouts(name) for layout in LAYOUTS]


def check(session: Session, operator: str, layout: str) -> None:
    """Make a few calls with the first tensor in the layout, and with every one that can be.

    Raises:
        ConformanceError: a result is another one than that of strided tensors.
        Unsupported: the backend does not have the layout, or refuses each call.
    """
    if LAYOUTS[layout].capability not in session.capabilities:
        session.outcome.figures["calls"] = 1
        raise Unsupported(f"{operator}: the backend has no tensors of layout {layout}")
    found = _Found()
    for call in _calls(operator, layout, session.seed):
        for every in (False, True):
            session.run_example(partial(_compare, layout=layout, found=found), {"call": call, "every": every})
    reasons = [*found.refusals, *session.outcome.unsupported.values(), "no call of it can be judged"]
    session.outcome.figures["calls"] = found.right + len(reasons) - 1
    session.outcome.operators = set()
    session.outcome.unsupported.clear()
    if not found.right:
        raise Unsupported(f"{operator}: {reasons[0]}")


def _calls(operator: str, layout: str, seed: int) -> Iterator[OperatorCall]:
    """A few calls whose first tensor may have the layout."""
    made = 0
    for code, least in codes(operator, layout, seed):
        call = draw(operator, code, DTYPE, least=max(least, min(2, min(LAYOUTS[layout].dims))), kind="small")
        if made < _CALLS and call.tensors and _fits(call.tensors[0], layout):
            made += 1
            yield call


def _fits(case: TensorCase, layout: str) -> bool:
    return case.dtype == DTYPE and case.numel > 0 and len(case.sizes) in LAYOUTS[layout].dims


@dataclass
class _Found:
    """How many results were right, and why other calls were refused."""

    right: int = 0
    refusals: list[str] = field(default_factory=list)


def _compare(s: Session, *, call: OperatorCall, layout: str, every: bool, found: _Found) -> None:
    row = LAYOUTS[layout]
    errors: list[Exception] = []

    def converted(case: TensorCase) -> Any:
        x = s.build(case)
        if case is not call.tensors[0] and not (every and _fits(case, layout)):
            return x
        made, error = s.attempt(row.conversion, x, *row.arguments)
        errors.extend([error] if error is not None else [])
        return made

    def strided(case: TensorCase) -> Any:
        x = converted(case) if row.step else s.build(case)
        return s.call("dequantize", x) if row.step and not errors and _is_quantized(s, x) else x

    def called(build: Any) -> tuple[Any, Exception | None]:
        positional, keywords = call.bind(build)
        return (None, errors[0]) if errors else s.attempt(call.operator, *positional, **keywords)

    (wanted, error), (again, _) = called(strided), called(strided)
    if errors:
        found.refusals.append(f"{type(errors[0]).__name__}: {errors[0]}")
        return
    judged = error is None and _agree(s, again, wanted)
    about_elements = not row.step or any(True for _ in _tensors(wanted))
    if not judged or not about_elements or not all(np.isfinite(s.read(one)).all() for one in _tensors(wanted)):
        return  # random, refused, or with elements that differ where zeros are not stored
    result, error = called(converted)
    if error is not None:
        found.refusals.append(f"{type(error).__name__}: {error}")
    elif _agree(s, result, wanted):
        found.right += 1
    else:
        why = NoReproducer("it is compared with what strided tensors give")
        s.fail_computed(f"{call.operator} of a {layout} tensor gives another result than of a strided one", why)


def _agree(s: Session, found: Any, wanted: Any) -> bool:
    """Return whether two results have the same sizes, dtypes and elements, all but for rounding."""
    if isinstance(found, Handle) and isinstance(wanted, Handle):
        given, right, step = s.read(found), s.read(wanted), 0.0
        if _is_quantized(s, found):
            step, zero_point = s.call("q_scale", found), s.call("q_zero_point", found)
            right = np.clip(right, (-128 - zero_point) * step, (127 - zero_point) * step).astype(right.dtype)
        if given.shape != right.shape or given.dtype != right.dtype:
            return False
        return bool(np.allclose(given, right, rtol=TOLERANCE, atol=TOLERANCE + step))
    if isinstance(found, list | tuple) and isinstance(wanted, list | tuple):
        return len(found) == len(wanted) and all(_agree(s, *pair) for pair in zip(found, wanted, strict=True))
    return bool(found == wanted)


def _is_quantized(s: Session, x: Handle) -> bool:
    return s.backend.dtype(x.raw) == _QUANTIZED


def _tensors(result: Any) -> Iterator[Handle]:
    if isinstance(result, Handle):
        yield result
    elif isinstance(result, list | tuple):
        for one in result:
            yield from _tensors(one)

"""Every public operator of the spec at several sizes: contiguous, with a strided first tensor, and while recorded.

An operator that changes the sizes of its tensor gets a new view of it for each call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from math import log, prod
from timeit import repeat
from typing import Any

import numpy as np
from gaugeblock_conformance.backend import Backend, DType, MemoryFormat, Unsupported
from gaugeblock_conformance.building import maker_of_views
from gaugeblock_conformance.case import TensorCase
from gaugeblock_conformance.gradcheck.rows import differentiable
from gaugeblock_conformance.operators.calls import OperatorCall
from gaugeblock_conformance.operators.enlarging import enlarged
from gaugeblock_spec import operators
from numpy.typing import NDArray

from ..operands import rotations
from ..subject import function_of
from ..timing import timed_steps
from .task import Ready, sampled

Array = NDArray[Any]
SIZES = (2, 16, 1_000, 100_000, 1_000_000)
VARIANTS = ("contiguous", "strided", "recorded")
DTYPES = ("float32", "complex64", "int64", "bool")
"""The first of these that a row takes is that of its operands."""
STRIDED_LEAST = 16
"""Smaller tensors are only timed contiguous."""
SMALLER = (1_000, 10_000)
MOST_ELEMENTS = 1 << 27
MOST_SECONDS = 1.0
"""Limits for a call, in elements of its operands and of its results, and in seconds; two smaller calls predict the
results and seconds."""
CHECKED = ("pointwise", "reduction", "view", "copy", "shape", "index", "scan", "spectral", "network")
"""Families whose results are compared by value; of the others only the sizes are compared."""
UNDETERMINED = ("empty", "dropout", "rrelu", "fractional")


@dataclass(frozen=True)
class TableTask:
    """A call of a row on tensors of about `elements` elements."""

    operator: str
    variant: str
    elements: int
    suite: str = "operators"

    @property
    def id(self) -> str:
        return f"{self.suite}/{self.operator}/{self.variant}/{self.elements}"

    @property
    def row(self) -> dict[str, Any]:
        family = operators.load()[self.operator].family
        return {
            "id": self.id, "suite": self.suite, "operator": self.operator, "call": self.operator, "family": family,
            "layout": self.variant, "dtype": dtype_of(self.operator) or "", "size": self.elements,
            "moved_bytes": 4 * self.elements, "operations": 0,
        }  # fmt: skip

    @property
    def needed_bytes(self) -> int:
        return 64 * self.elements

    def prepare(self, backend: Backend) -> Ready:
        if self.elements > SMALLER[-1] and (reason := _too_large(self.operator, self.variant, self.elements, backend)):
            raise Unsupported(self.operator, reason)
        call = _call(self.operator, self.variant, self.elements)
        assert call is not None
        nbytes = sum(case.numel for case in call.tensors) * 4
        steps = [_step(backend, call, seed, self.variant == "recorded") for seed in range(rotations(nbytes))]
        result = steps[0]()
        shape, sample = sampled(backend, result) if _has_values(result) else ((), None)
        if operators.load()[self.operator].family not in CHECKED or any(w in self.operator for w in UNDETERMINED):
            sample = None
        finish: Callable[[Any], object] | None = getattr(backend, "finish", None)
        timed = steps if finish is None else [partial(_finished, finish, step) for step in steps]
        return Ready(timed_steps(timed), shape, sample)


def table_tasks(names: Sequence[str], sizes: Sequence[int]) -> Iterator[TableTask]:
    """The tasks of the operators named, of all where none is."""
    for name in names or public_operators():
        for variant in VARIANTS:
            if variant != "recorded" or _recordable(name):
                least = STRIDED_LEAST if variant == "strided" else 0
                yield from (
                    TableTask(name, variant, size)
                    for size in sizes or SIZES
                    if size >= least and _call(name, variant, size) is not None
                )


@cache
def public_operators() -> tuple[str, ...]:
    """Return the names of all operators that take one of DTYPES."""
    table = operators.load()
    return tuple(name for name in table if dtype_of(name) is not None)


@cache
def dtype_of(operator: str) -> str | None:
    """Return the dtype of an operator's operands; None for a row that takes none of DTYPES."""
    return next((name for name in DTYPES if name in operators.load()[operator].dtypes), None)


@lru_cache(maxsize=8)  # calls hold their elements
def _call(operator: str, variant: str, elements: int) -> OperatorCall | None:
    """Return the call that a variant times; None where the samples leave none of about so many elements."""
    layout = "permuted" if variant == "strided" else "contiguous"
    taken = [name for name in DTYPES if name in operators.load()[operator].dtypes]
    call = next(filter(None, (enlarged(operator, elements, name, layout) for name in taken)), None)
    alike = call is not None and variant == "strided" and (not call.tensors or call.tensors[0].plain)
    return None if alike else call


def _recordable(operator: str) -> bool:
    makes = not operator.partition(".")[0].endswith("_")
    return makes and operator in differentiable() and dtype_of(operator) in ("float32", "complex64")


def _step(backend: Backend, call: OperatorCall, seed: int, recorded: bool) -> Callable[[], Any]:
    """Return the call on tensors of a backend, as a function without arguments."""
    numbers = np.random.default_rng(seed)

    def build(case: TensorCase) -> Any:
        grad = recorded and case.dtype in ("float32", "complex64")
        contents = _contents(case, numbers)
        if case.plain:
            return backend.from_numpy(contents.reshape(case.sizes), requires_grad=grad)
        base = backend.from_numpy(contents, requires_grad=grad)
        return maker_of_views(backend)(base, case.sizes, case.strides, case.offset)

    positional, keywords = call.bind(build)
    function = function_of(backend, call.operator)[0]
    if any(isinstance(value, DType | MemoryFormat) for value in (*positional, *keywords.values())):
        function = partial(backend.call, call.operator)
    step = partial(function, *positional, **keywords)
    if operators.load()[call.operator].family != "metadata" or not call.operator.partition(".")[0].endswith("_"):
        return step
    positional, keywords = call.bind(build)
    tried, before = positional[0], backend.shape(positional[0])
    function(*positional, **keywords)
    return step if backend.shape(tried) == before else _on_views(backend, step)


def _on_views(backend: Backend, step: partial[Any]) -> Callable[[], Any]:
    """Return a call on a new view of its first tensor each time."""
    tensor, *others = step.args
    view = partial(function_of(backend, "view_as")[0], tensor, tensor)
    return lambda: step.func(view(), *others, **step.keywords)


def _contents(case: TensorCase, numbers: np.random.Generator) -> Array:
    """Return what a storage holds: evenly drawn numbers, or what the samples say of the elements."""
    if case.literal is not None or case.kind == "small" or case.dtype not in ("float32", "complex64"):
        return case.contents
    low, high = {"positive": (0.125, 4.125), "unit": (0.0, 1.0)}.get(case.kind, (-4.0, 4.0))
    drawn = numbers.random(case.storage, np.float32) * np.float32(high - low) + np.float32(low)
    return drawn if case.dtype == "float32" else drawn + np.complex64(0.5j)


def _finished(finish: Callable[[Any], object], step: Callable[[], Any]) -> object:
    return finish(step())


def _has_values(result: Any) -> bool:
    first = result[0] if isinstance(result, tuple | list) and result else result
    return not isinstance(first, bool | int | float | complex | str | tuple | list | type(None))


_REASONS: dict[tuple[str, str, int, str], str] = {}


def _too_large(operator: str, variant: str, elements: int, backend: Backend) -> str:
    """Return the reason to leave a call out, predicted from two smaller calls; empty for none."""
    key = (operator, variant, elements, str(backend.name))
    if key not in _REASONS:
        _REASONS[key] = _outgrown(operator, variant, elements, backend)
    return _REASONS[key]


def _outgrown(operator: str, variant: str, elements: int, backend: Backend) -> str:
    given = _call(operator, variant, elements)
    if given is not None and (found := sum(case.storage for case in given.tensors)) > MOST_ELEMENTS:
        return f"its operands would have {found:.1e} elements"
    seconds, sizes = [], []
    for smaller in SMALLER:
        call = _call(operator, variant, smaller)
        if call is None:
            return ""
        step = _step(backend, call, 0, False)
        result = step()
        seconds.append(min(repeat(step, number=1, repeat=4)))
        parts = result if isinstance(result, tuple | list) else [result]
        sizes.append(sum(prod(backend.shape(part)) for part in parts if _has_values(part)))
    if (likely := _extended(sizes, elements)) > MOST_ELEMENTS:
        return f"its result would have about {likely:.1e} elements"
    likely = _extended(seconds, elements)
    return f"it would take about {likely:.0f} s" if likely > MOST_SECONDS else ""


def _extended(found: Sequence[float], elements: int) -> float:
    """Extrapolate a power law through the values at SMALLER to a size."""
    if min(found) <= 0:
        return 0.0
    power = log(found[1] / found[0]) / log(SMALLER[1] / SMALLER[0])
    return float(found[1] * (elements / SMALLER[1]) ** max(power, 0.0))

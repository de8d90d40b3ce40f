"""Calls of an operator as functions to be differentiated: arguments drawn by the samples, elements away from kinks."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from gaugeblock_spec.samples import TensorFact
from gaugeblock_spec.schema import parse

from ..backend import Array, Backend, DType
from ..case import TensorCase, default_strides
from ..operators.calls import OperatorCall, schema_arguments
from ..operators.drawing import draw, drawable
from ..values import COMPLEX, FLOATS, poison
from .examples import calls
from .hints import Hint, hint_of
from .points import complex_points, points
from .rows import undifferentiable
from .shaping import FINISH, PREPARE

DTYPES = ("float64", "complex128")
_MOST = 24
_TRIED = 60
_LENGTH = 200
# Kinds of elements that are kept as the samples draw them, since a call must fit them.
_KEPT = frozenset("sorted counts labels signs rising spaced pivots".split())
_RANGES = {"positive": (0.0, None), "unit": (-1.0, 1.0), "chance": (0.0, 1.0)}
# Kinds of matrices, kept with every element moved a little.
_MOVED = frozenset("dominant regular definite".split())


@dataclass(frozen=True)
class Trial:
    """One call to be differentiated by its floating tensors, but those named in ``constant``: the ``place``-th that
    :func:`trials` gives for its operator, ``dtype`` and ``seed``."""

    call: OperatorCall
    hint: Hint
    constant: tuple[str, ...]
    seed: int
    place: int = 0

    @property
    def dtype(self) -> str:
        return self.call.dtype

    @property
    def writes(self) -> bool:
        """Whether the operator exists in place only."""
        return self.call.operator.partition(".")[0].endswith("_")

    @property
    def needs_seed(self) -> bool:
        return self.hint.seeded or self.call.row.family == "random"

    @property
    def several(self) -> bool:
        """Whether the operator gives several results."""
        returns = parse(self.call.row.schema).returns
        return len(returns) > 1 or any(r.type.endswith("[]") for r in returns)

    @property
    def inputs(self) -> list[TensorCase]:
        """The tensors to differentiate by, in schema order."""
        values = [value for name, value in self.call.arguments.items() if name not in self.constant]
        return [case for value in values for case in _cases(value) if is_float(case)]

    @property
    def elements(self) -> int:
        return sum(case.numel for case in self.inputs)

    def function(self, backend: Backend) -> tuple[Callable[..., Any], list[Any]]:
        """The call as a function of its inputs, and these as leaves of ``backend`` that require grad."""
        inputs = self.inputs
        chosen = {id(case) for case in inputs}
        held = {id(case): _made(backend, case) for case in self.call.tensors if id(case) not in chosen}
        ways = {
            id(case): PREPARE[way] for name, way in self.hint.prepare.items()
            for case in _cases(self.call.arguments.get(name))
        }  # fmt: skip
        written = next(iter(self.call.tensors), None) if self.writes else None

        def run(*tensors: Any) -> Any:
            given = held | {id(case): tensor for case, tensor in zip(inputs, tensors, strict=True)}

            def build(case: TensorCase) -> Any:
                tensor = given[id(case)]
                if id(case) in ways:
                    tensor = ways[id(case)](backend.call, tensor, self.call.arguments)
                return backend.call("clone", tensor) if case is written else tensor

            positional, keywords = self.call.bind(build)
            if self.needs_seed:
                backend.call("manual_seed", 7)
            result = backend.call(self.call.operator, *positional, **keywords)
            return FINISH[self.hint.finish](backend.call, result) if self.hint.finish else result

        return run, [backend.call("requires_grad_", _made(backend, case)) for case in inputs]


def trials(operator: str, dtype: str, seed: int, wanted: int) -> list[Trial]:
    """The examples of an operator with operands of ``dtype``, and where calls can be drawn up to ``wanted`` of them:
    small ones with elements in every tensor, or the smallest there is."""
    hint = hint_of(operator)
    examples = [_trial(call, dtype, hint, seed, k) for k, call in enumerate(calls(operator, dtype))]
    found = [*examples, *(_drawn(operator, dtype, seed, wanted, hint) if drawable(operator) else [])]
    return [replace(trial, place=k) for k, trial in enumerate(trial for trial in found if trial is not None)]


def _drawn(operator: str, dtype: str, seed: int, wanted: int, hint: Hint) -> list[Trial]:
    random = np.random.default_rng((seed, zlib.crc32(f"{operator}/{dtype}".encode())))
    found: dict[str, Trial] = {}
    for k in range(_TRIED):
        call = draw(operator, bytes(_LENGTH) if k == 0 else random.bytes(_LENGTH), dtype)
        trial = _trial(call, dtype, hint, seed, k)
        if trial is None:
            continue
        arguments = trial.call.arguments.items()
        found.setdefault(repr([[c.sizes for c in _cases(value)] or (name, value) for name, value in arguments]), trial)
        small = [trial for trial in found.values() if trial.elements <= _MOST]
        if len(small) == wanted:
            break
    chosen = sorted(found.values(), key=lambda trial: trial.elements > _MOST and trial.elements)
    small = [trial for trial in chosen if trial.elements <= _MOST]
    return small[:wanted] or chosen[:1]


def _trial(call: OperatorCall, dtype: str, hint: Hint, seed: int, k: int) -> Trial | None:
    for name, value in hint.fixed.items():
        call = call.with_argument(name, value)
    if not all(case.numel for case in call.tensors):
        return None
    if hint.wide and any(not case.sizes or 1 in case.sizes for case in call.tensors):
        return None
    constant = (*hint.constant, *undifferentiable(call.operator))
    trial = Trial(_placed(call, dtype, hint, np.random.default_rng((seed, k))), hint, constant, seed)
    return trial if trial.inputs else None


def _placed(call: OperatorCall, dtype: str, hint: Hint, random: np.random.Generator) -> OperatorCall:
    """The call in double precision with elements away from kinks, in tensors whose elements share no memory."""
    def place(name: str, value: Any) -> Any:
        if isinstance(value, TensorCase):
            if name in hint.packed:
                value = _packed(value)
            fact = call.facts.get(name)
            return _filled(call, name, value, fact.kind if isinstance(fact, TensorFact) else "", hint, random)
        if isinstance(value, list):
            return [place(name, v) for v in value]
        return DType(_double(value)) if isinstance(value, DType) else value

    arguments = {a.name: call.arguments[a.name] for a in schema_arguments(call.operator) if a.name in call.arguments}
    return replace(call, arguments={name: place(name, value) for name, value in arguments.items()}, dtype=dtype)


def _double(dtype: str) -> str:
    return "float64" if dtype in FLOATS else "complex128" if dtype in COMPLEX else dtype


def _filled(
    call: OperatorCall, name: str, case: TensorCase, kind: str, hint: Hint, random: np.random.Generator
) -> TensorCase:
    if not is_float(case):
        return case
    array = case.array
    case = replace(case, dtype=_double(case.dtype))
    if name not in hint.within and kind in _KEPT:
        return _holding(case, array)
    if name not in hint.within and kind in _MOVED:
        return _holding(case, array + 0.05 * random.uniform(-1, 1, case.sizes))
    domain = call.row.domain.get(name)
    low, high = (domain.low, domain.high) if domain else (None, None)
    low, high = hint.within.get(name) or _RANGES.get(kind) or (low, high)
    if case.dtype in COMPLEX:
        drawn = complex_points(random, case.numel, low, high)
    else:
        drawn = points(random, case.numel, low, high, domain.exclude if domain else ())
    return _holding(case, drawn.reshape(case.sizes))


def _holding(case: TensorCase, elements: Array) -> TensorCase:
    """``case`` with these elements, packed if its own share memory; poison where none lies."""
    cells = case.view_of(np.arange(case.storage))
    if len(np.unique(cells)) < case.numel:
        case = TensorCase(case.dtype, case.sizes, default_strides(case.sizes))
    contents = np.full(case.storage, poison(case.dtype))
    case.view_of(contents)[...] = elements
    return replace(case, literal=tuple(contents.tolist()))


def _packed(case: TensorCase) -> TensorCase:
    elements = tuple(case.array.reshape(-1).tolist())
    return TensorCase(case.dtype, case.sizes, default_strides(case.sizes), literal=elements)


def _made(backend: Backend, case: TensorCase) -> Any:
    if case.plain or "as_strided" not in backend.capabilities:
        return backend.from_numpy(case.array)
    base = backend.from_numpy(case.contents)
    return backend.call("as_strided", base, case.sizes, case.strides, case.offset)


def is_float(case: TensorCase) -> bool:
    """Whether the tensor's numbers are real or complex floating ones."""
    return case.dtype in (*FLOATS, *COMPLEX)


def _cases(value: Any) -> list[TensorCase]:
    if isinstance(value, TensorCase):
        return [value]
    return [v for v in value if isinstance(v, TensorCase)] if isinstance(value, list) else []

"""Calls of an operator as functions to be differentiated: arguments drawn by the samples, elements away from kinks."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import cycle
from typing import Any

import numpy as np
from gaugeblock_spec.samples import TensorFact
from gaugeblock_spec.schema import parse

from ..backend import Array, Backend, DType
from ..case import TensorCase, default_strides
from ..operators.calls import OperatorCall, forms_of, schema_arguments
from ..operators.drawing import draw, drawable
from ..operators.wishes import CODE_LENGTH, GIVEN, Wish
from ..values import COMPLEX, FLOATS, poison
from .examples import calls
from .fast import uniform
from .hints import Hint, hint_of
from .points import complex_points, points
from .rows import undifferentiable
from .shaping import FINISH, PREPARE

DTYPES = ("float64", "complex128")
# Elements that one call may have: as is wished, and at most if there is a smaller one.
_MOST, _LARGE = 24, 200
_TRIED = 12
_KEPT_TRIALS = 4096
# Kinds of elements that are kept as the samples draw them, since a call must fit them.
_KEPT = frozenset("sorted counts labels signs rising spaced pivots".split())
_RANGES = {"positive": (0.0, None), "unit": (-1.0, 1.0), "chance": (0.0, 1.0)}
# Kinds of matrices, kept with every element moved a little, and small: of large ones the inverses hardly move.
_MOVED = frozenset("dominant regular definite".split())
_SCALE = 0.3


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
    """The examples of an operator with operands of ``dtype``, and where calls can be drawn one of them, or for more
    ``wanted`` than one some of every form: small ones with elements in every tensor, or the smallest there is."""
    return list(_trials(operator, dtype, seed, wanted))


@lru_cache(maxsize=_KEPT_TRIALS)
def _trials(operator: str, dtype: str, seed: int, wanted: int) -> tuple[Trial, ...]:
    """Several requirements are judged by the same examples."""
    hint = hint_of(operator)
    examples = [_trial(call, hint, seed) for call in calls(operator, dtype)]
    placed = [_placed(trial, dtype, k) for k, trial in enumerate(examples) if trial is not None]
    found = [*placed, *(_drawn(operator, dtype, seed, wanted, hint) if drawable(operator) else [])]
    return tuple(replace(trial, place=k) for k, trial in enumerate(found))


def _drawn(operator: str, dtype: str, seed: int, wanted: int, hint: Hint) -> list[Trial]:
    """One call of any form, or for more of them every form as it comes, the simplest first, and with every argument
    given."""
    random = np.random.default_rng((seed, zlib.crc32(f"{operator}/{dtype}".encode())))
    forms = len(forms_of(operator))
    names = [argument.name for argument in schema_arguments(operator)]
    given: dict[str, int] = dict.fromkeys(names, GIVEN)
    asked = [Wish(form + 1, arguments=a).code(operator) for a in ({}, given) for form in range(forms)]
    asked = asked if wanted > 1 else [b""]
    found: dict[str, Trial] = {}
    for k, what in zip(range(max(wanted, len(asked))), cycle(asked), strict=False):
        trial = _small(operator, dtype, random, hint, seed, what, k == 0)
        if trial is not None:
            arguments = trial.call.arguments.items()
            found.setdefault(repr([[c.sizes for c in _cases(v)] or (name, v) for name, v in arguments]), trial)
    small = [trial for trial in found.values() if trial.elements <= _LARGE]
    return small or sorted(found.values(), key=lambda trial: trial.elements)[:1]


def _small(
    operator: str, dtype: str, random: np.random.Generator, hint: Hint, seed: int, asked: bytes, simple: bool
) -> Trial | None:
    """The first of several draws with few elements, or the one with the fewest; the simplest before them on demand."""
    found, least, key = None, 0, 0
    for k in range(_TRIED):
        code = bytes(CODE_LENGTH) if simple and k == 0 else random.bytes(CODE_LENGTH)
        trial, number = _trial(draw(operator, code + asked, dtype), hint, seed), int(random.integers(2**31))
        if trial is not None and (found is None or trial.elements < least):
            found, least, key = trial, trial.elements, number
            if least <= _MOST:
                break
    return None if found is None else _placed(found, dtype, key)


def _trial(call: OperatorCall, hint: Hint, seed: int) -> Trial | None:
    """A call with the elements that the samples draw; None for one that is of no use."""
    for name, value in hint.fixed.items():
        call = call.with_argument(name, value)
    if not all(case.numel for case in call.tensors):
        return None
    if len({case.sizes for name in hint.alike for case in _cases(call.arguments.get(name))}) > 1:
        return None
    if hint.wide and any(not case.sizes or 1 in case.sizes for case in call.tensors):
        return None
    constant = (*hint.constant, *undifferentiable(call.operator))
    trial = Trial(call, hint, constant, seed)
    return trial if trial.inputs else None


def _placed(trial: Trial, dtype: str, k: int) -> Trial:
    """The trial in double precision with elements away from kinks, in tensors whose elements share no memory."""
    call, hint, random = trial.call, trial.hint, np.random.default_rng((trial.seed, k))

    def place(name: str, value: Any) -> Any:
        if isinstance(value, TensorCase):
            fact = call.facts.get(name)
            return _filled(call, name, value, fact.kind if isinstance(fact, TensorFact) else "", hint, random)
        if isinstance(value, list):
            return [place(name, v) for v in value]
        return DType(_double(value)) if isinstance(value, DType) else value

    arguments = {a.name: call.arguments[a.name] for a in schema_arguments(call.operator) if a.name in call.arguments}
    arguments = {name: place(name, value) for name, value in arguments.items()}
    return replace(trial, call=replace(call, arguments=arguments, dtype=dtype))


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
        return _holding(case, _SCALE * array + 0.15 * uniform(random, case.sizes, array.dtype))
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
    """Return whether the tensor's numbers are real or complex floating ones."""
    return case.dtype in (*FLOATS, *COMPLEX)


def _cases(value: Any) -> list[TensorCase]:
    if isinstance(value, TensorCase):
        return [value]
    return [v for v in value if isinstance(v, TensorCase)] if isinstance(value, list) else []

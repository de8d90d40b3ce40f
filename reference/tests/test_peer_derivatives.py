"""Every derivative formula, evaluated on plain tensors, against PyTorch's gradients of the same call."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterator
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.autograd.derivative_helpers import helpers
from gaugeblock_conformance.backends.reference import ReferenceBackend
from gaugeblock_conformance.backends.torch import TorchBackend
from gaugeblock_conformance.case import TensorCase
from gaugeblock_conformance.operators.calls import OperatorCall
from gaugeblock_conformance.operators.drawing import draw, drawable
from gaugeblock_spec import derivatives, operators, schema
from gaugeblock_spec.derivative_checks import BUILTINS, result_names

torch = pytest.importorskip("torch")

CALLS = 24
TIES = (0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0)
LIKE: dict[str, tuple[str, str, tuple[Any, ...]]] = {
    "div.Tensor_mode": ("div.Tensor", "rounding_mode", (None, "trunc", "floor")),
    "div.Scalar_mode": ("div.Scalar", "rounding_mode", (None, "trunc", "floor")),
    "round.decimals": ("round", "decimals", (0, 1, -1)),
}
"""Rows drawn as another one, with an argument more."""
FREE = ("hard", "finite", "small")
"""Kinds of values that mean no more than any number."""
OURS, THEIRS = ReferenceBackend(), TorchBackend()
Array = Any


class _Names(dict[str, Any]):
    """What an expression may name: arguments and results, helpers, functions of the engine."""

    def __missing__(self, name: str) -> Any:
        if name in BUILTINS:
            return __builtins__[name] if isinstance(__builtins__, dict) else getattr(__builtins__, name)
        return helpers().get(name) or getattr(gb, name)


def evaluate(text: str, names: dict[str, Any]) -> Any:
    return eval(text, {"__builtins__": {}}, _Names(names))


def elements(case: TensorCase, rng: np.random.Generator, row: operators.Operator, name: str, ties: bool) -> Array:
    """The elements of an operand: moderate numbers, or few different ones; as drawn where it matters."""
    if case.kind not in FREE or case.dtype not in ("float64", "complex128"):
        return case.array
    domain = row.domain.get(name)
    shape = case.sizes
    if domain is not None:
        low = -3.0 if domain.low is None else max(domain.low, -30)
        high = low + 6 if domain.high is None else min(domain.high, 30)
        values = rng.uniform(low, high, shape)
    else:
        values = rng.choice(TIES, shape) if ties else rng.normal(size=shape)
    if case.dtype == "complex128":
        return values + 1j * (rng.choice(TIES, shape) if ties else rng.normal(size=shape))
    return values


def calls(name: str, dtype: str) -> Iterator[OperatorCall]:
    """Calls of a row with operands of one dtype, the same ones every time."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    for number in range(CALLS):
        code = bytes(200) if number == 0 else rng.integers(0, 256, 200, dtype=np.uint8).tobytes()
        if name not in LIKE:
            yield draw(name, code, dtype)
            continue
        other, argument, values = LIKE[name]
        drawn = draw(other, code, dtype)
        yield OperatorCall(name, {**drawn.arguments, argument: values[number % 3]}, drawn.dtype)


def summed(value: Any, like: Array) -> Array:
    """A gradient as the recorder takes it: added up to the shape of its argument, real for a real one."""
    found = OURS.to_numpy(value.resolve_conj() if isinstance(value, gb.Tensor) else value)
    assert found.ndim >= like.ndim, f"gradient of shape {found.shape} for {like.shape}"
    found = found.sum(axis=tuple(range(found.ndim - like.ndim)))
    for dim, size in enumerate(like.shape):
        if size == 1:
            found = found.sum(axis=dim, keepdims=True)
    assert found.shape == like.shape, f"gradient of shape {found.shape} for {like.shape}"
    return found.real if like.dtype.kind == "f" else found


def close(ours: Array, theirs: Array, tolerance: float = 1e-6) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.allclose(ours, theirs, rtol=tolerance, atol=tolerance / 100, equal_nan=True))


class Trial:
    """One call on both engines: PyTorch's gradients by argument, and the names for our formulas."""

    def __init__(self, call: OperatorCall, entry: derivatives.Derivative, rng: np.random.Generator, ties: bool) -> None:
        self.call, self.entry, self.rng, self.ties = call, entry, rng, ties
        self.row = operators.load()[call.operator]
        self.parsed = schema.parse(self.row.schema)
        self.arrays = {
            id(case): elements(case, rng, self.row, name, ties)
            for name, value in call.arguments.items()
            for case in _cases(value)
        }
        self.leaves: dict[int, Any] = {}
        positional, keywords = call.bind(self._leaf)
        try:
            self.outputs = _listed(THEIRS.call(call.operator, *positional, **keywords))
        except RuntimeError:
            with torch.no_grad():
                self.outputs = _listed(THEIRS.call(call.operator, *positional, **keywords))
        self.differentiable = [place for place, output in enumerate(self.outputs) if _inexact(output)]
        self.followed = [place for place in self.differentiable if self.outputs[place].requires_grad]
        self.grads = {place: self._grad(self.outputs[place]) for place in self.differentiable}
        dtypes = {str(self.outputs[place].dtype) for place in self.differentiable}
        self.tolerance = 1e-6 if dtypes <= {"torch.float64", "torch.complex128"} else 1e-2

    def _leaf(self, case: TensorCase) -> Any:
        made = THEIRS.from_numpy(self.arrays[id(case)])
        self.leaves[id(case)] = made.requires_grad_(_inexact(made))
        return made * 1 if self.parsed.name.endswith("_") and made.requires_grad else made

    def _grad(self, output: Any) -> Any:
        grad = self.rng.normal(size=tuple(output.shape))
        if output.is_complex():
            grad = grad + 1j * self.rng.normal(size=grad.shape)
        return torch.from_numpy(np.asarray(grad)).to(output.dtype)

    def results(self, arrays: dict[int, Array]) -> Any:
        """What our engine returns; the names of expressions are kept."""
        made = {key: OURS.from_numpy(array) for key, array in arrays.items()}
        positional, keywords = self.call.bind(lambda case: made[id(case)])
        result = OURS.call(self.call.operator, *positional, **keywords)
        self.names: dict[str, Any] = {}
        for argument in self.parsed.arguments:
            default = None if argument.default is None else argument.default_value
            value = _mapped(self.call.arguments.get(argument.name, default), lambda case: made[id(case)])
            self.names[argument.name] = OURS._argument(value)
        parts = result if isinstance(result, tuple) else (result,)
        self.names.update(zip(result_names(self.parsed), parts, strict=True))
        return parts

    def their_gradients(self) -> dict[int, Array | None] | None:
        """PyTorch's gradients of the tensors; None where it cannot differentiate."""
        wanted = {key: leaf for key, leaf in self.leaves.items() if leaf.requires_grad}
        outputs, grads = [self.outputs[p] for p in self.followed], [self.grads[p] for p in self.followed]
        try:
            found = torch.autograd.grad(outputs, list(wanted.values()), grads, allow_unused=True)
        except RuntimeError:
            return None
        pairs = zip(wanted, found, strict=True)
        return {key: None if grad is None else THEIRS.to_numpy(grad + 0) for key, grad in pairs}

    def our_gradients(self) -> dict[str, Any]:
        self.results(self.arrays)
        grads: list[Any] = [None] * len(self.outputs)
        for place, grad in self.grads.items():
            grads[place] = OURS.from_numpy(THEIRS.to_numpy(grad))
        names = {**self.names, "grads": grads, "grad": grads[self.differentiable[0]]}
        found: dict[str, Any] = {}
        for arguments, text in self.entry.formulas.items():
            if len(arguments) == 1 and self.names[arguments[0]] is None:
                continue
            value = evaluate(text, {**names, "needed": (True,) * len(arguments)})
            found.update(zip(arguments, value if len(arguments) > 1 else (value,), strict=True))
        return found

    def pairs(self) -> Iterator[tuple[str, int, Array, Array]]:
        """Argument, key, array and our gradient of every differentiable tensor; zeros where there is none."""
        ours = self.our_gradients()
        for name, value in self.call.arguments.items():
            cases = _cases(value)
            if not cases:
                continue
            found = ours.get(name)
            for case, grad in zip(cases, found if isinstance(found, tuple | list) else [found], strict=True):
                if self.leaves[id(case)].requires_grad:
                    array = self.arrays[id(case)]
                    yield name, id(case), array, np.zeros_like(array) if grad is None else summed(grad, array)

    def compare(self) -> None:
        """With PyTorch's gradients, if it has any and picked the same elements; else with differences."""
        theirs = self.their_gradients() if self.followed else None
        if theirs is None or not self.same_places():
            self.compare_with_differences()
            return
        for name, key, array, mine in self.pairs():
            found = theirs[key]
            expected = np.zeros_like(array) if found is None else found
            message = f"{name}\n{mine}\nexpected\n{expected}\nof {self.arrays}\ngrads {self.grads}\n{self.call}"
            assert close(mine, expected, self.tolerance), message

    def same_places(self) -> bool:
        """Whether results that are indices are the same on both engines."""
        pairs = zip(self.outputs, self.results(self.arrays), strict=True)
        return all(np.array_equal(a.numpy(), OURS.to_numpy(b)) for a, b in pairs if not _inexact(a))

    def compare_with_differences(self) -> None:
        """Against central differences in one direction, away from ties and steps."""
        for name, key, array, mine in self.pairs():
            if self.ties or not array.size or name in self.entry.nothing:
                continue
            direction = self.rng.normal(size=array.shape)
            slope, coarse = (self.slope(key, direction, step) for step in (1e-7, 1e-6))
            if np.isclose(slope, coarse, 1e-4, 1e-6):
                assert np.isclose((mine * direction).sum().real, slope, 1e-3, 1e-4), f"{name}, {self.call}"

    def slope(self, key: int, direction: Array, step: float) -> float:
        """How the results, times their gradients, change with one tensor along a direction."""
        array = self.arrays[key]
        ends = [self.results({**self.arrays, key: array + sign * step * direction}) for sign in (1, -1)]
        changes = ((OURS.to_numpy(ends[0][p] - ends[1][p]), THEIRS.to_numpy(grad)) for p, grad in self.grads.items())
        return float(sum((change * grad.conj()).sum().real for change, grad in changes) / (2 * step))


def _inexact(tensor: Any) -> bool:
    return bool(tensor.is_floating_point() or tensor.is_complex())


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple | list) else [value]


def _cases(value: Any) -> list[TensorCase]:
    if isinstance(value, TensorCase):
        return [value]
    return [case for case in value if isinstance(case, TensorCase)] if isinstance(value, tuple | list) else []


def _mapped(value: Any, build: Any) -> Any:
    if isinstance(value, TensorCase):
        return build(value)
    if isinstance(value, tuple | list):
        return type(value)(_mapped(part, build) for part in value)
    return value


ENTRIES = {name: entry for file in derivatives.table_files() for name, entry in derivatives.entries(file).items()}
CASES = [
    pytest.param(name, dtype, id=f"{entry.file[:-5]}-{name}-{dtype}")
    for name, entry in ENTRIES.items()
    if entry.kind != "composite" and (drawable(name) or name in LIKE)
    for dtype in ("float64", "complex128")
    if dtype in operators.load()[name].dtypes
]


def refused(call: OperatorCall) -> bool:
    """Whether the samples gave a call that one of the engines refuses."""
    for backend in (OURS, THEIRS):
        positional, keywords = call.bind(lambda case, to=backend: to.from_numpy(case.array))
        try:
            backend.call(call.operator, *positional, **keywords)
        except (RuntimeError, IndexError):
            return True
    return False


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_formula_agrees(name: str, dtype: str) -> None:
    entry = ENTRIES[name]
    rng = np.random.default_rng(7)
    compared = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, call in enumerate(calls(name, dtype)):
            if refused(call):
                continue
            trial = Trial(call, entry, rng, ties=number % 2 == 1)
            if entry.kind == "none":
                assert not trial.followed, "declared none, but torch differentiates"
            elif any("no_derivative" in text for text in entry.formulas.values()):
                with pytest.raises(RuntimeError, match="is not implemented"):
                    trial.our_gradients()
            elif trial.differentiable:
                trial.compare()
            compared += 1
    assert compared

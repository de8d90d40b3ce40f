"""General paths of the bindings that have a fast one: run the call, then note whether the next may be fast."""

from __future__ import annotations

import sys
from collections.abc import Callable
from operator import is_
from typing import Any

from gaugeblock_spec.schema import parse

from ..core.dtype import DType
from ..dispatch.dispatcher import call, call_on, watched_recorder
from ..dispatch.overrides import NOT_OVERRIDDEN, PLAIN, intercept
from ..dispatch.registry import REGISTRY
from ..dispatch.state import DEFAULT_EXCLUDE, DEFAULT_INCLUDE, FAST_GLOBALS
from ..memory.untyped import UntypedStorage
from ..operators.conversion import to_dispatched
from ..operators.number_limits import LARGEST_HALF
from ..operators.pointwise_run import PointwiseNote
from ..operators.prepared import with_runner
from ..tensor.geometry import remember
from ..tensor.metadata import set_
from ..tensor.tensor import Tensor, new_like
from ..tensor.versions import bump_version
from .caller import SYNONYMS, Caller
from .carry import carry
from .converters import NO, number
from .fast import learn
from .source import BOUNDED, SQUARES

OPTION_DEFAULTS: dict[str, Any] = {
    "alpha": 1, "rounding_mode": None, "decimals": None, "out": None,
}  # fmt: skip
"""What the generated code passes for options that were not given."""
OTHER_NAMES = SYNONYMS.keys()
"""Names of operands and dims that array libraries have."""
NUMBER_KEYS: dict[type, str] = {float: " float", int: " int"}
KEPT = ~DEFAULT_EXCLUDE
TO_DTYPE = REGISTRY.find("to.dtype")


def in_bounds(row: str, number: Any) -> bool:
    """Whether a number is one of those that the operator's fast entries take."""
    return row.partition(".")[0] not in BOUNDED or -LARGEST_HALF <= number <= LARGEST_HALF


def slow_unary(caller: Caller, row: str) -> Callable[..., Any]:
    """For ``exp(x)``."""
    operator = REGISTRY.find(row)

    def run(self: Any, /, **options: Any) -> Any:
        options = {name: value for name, value in options.items() if value is not OPTION_DEFAULTS.get(name, NO)}
        if self.__class__ is Tensor and not options and self.geometry.watched:
            record = watched_recorder(operator, self.geometry.keys)
            if record is not None:
                return record(self)
        if self is NO or not options.keys().isdisjoint(OTHER_NAMES):
            return caller(*(() if self is NO else (self,)), **options)
        if options and len(options) == 1 and "out" in options:
            return with_out(caller, row, (self,), options["out"])
        plain = self.__class__ is Tensor and not options
        entry = carry(row, self.geometry) if plain else None
        if entry is not None:
            return _fresh(entry, self.pointer)
        result = caller(self, **options)
        if plain:
            learn(row, row, self)
        return result

    return run


def slow_inplace_unary(caller: Caller, row: str, key: str) -> Callable[..., Any]:
    """For ``x.exp_()``."""

    def run(self: Any, /, **options: Any) -> Any:
        options = {name: value for name, value in options.items() if value is not OPTION_DEFAULTS.get(name, NO)}
        plain = self.__class__ is Tensor and not options
        entry = carry(key, self.geometry) if plain else None
        if entry is not None:
            return _into(self, entry)
        result = caller(self, **options)
        if plain:
            learn(row, key, self, inplace=True)
        return result

    return run


def slow_binary(
    caller: Caller, tensor_row: str, number_row: str | None, *, inplace_keys: tuple[str, str] | None = None
) -> Callable[..., Any]:
    """For ``add(x, y)`` and, with `inplace_keys` (one for tensors, one for numbers), ``x.add_(y)``."""
    tensor_key, number_key = inplace_keys or (tensor_row, number_row or "")
    inplace = inplace_keys is not None
    record = recorded_binary(inplace_keys or (tensor_row, number_row))

    def run(self: Any, other: Any, /, **options: Any) -> Any:
        options = {name: value for name, value in options.items() if value is not OPTION_DEFAULTS.get(name, NO)}
        watching = self.__class__ is Tensor and FAST_GLOBALS["WATCHING"] and options.keys() <= ALPHA
        if watching and (self.geometry.watched or (other.__class__ is Tensor and other.geometry.watched)):
            recorded = record(self, other, **options)
            if recorded is not NO:
                return recorded
        if self is NO or other is NO or not options.keys().isdisjoint(OTHER_NAMES):
            operand = parse(caller.group.overloads[0].schema).positional[1].name
            given = {} if other is NO else {operand: other}
            return caller(*(() if self is NO else (self,)), **given, **options)
        if options and len(options) == 1 and "out" in options:
            return with_out(caller, tensor_row, (self, other), options["out"])
        if options and len(options) == 1 and "alpha" in options:
            return with_alpha(caller, tensor_key, (self, other), options["alpha"], inplace=inplace)
        if options or self.__class__ is not Tensor:
            return caller(self, other, **options)
        row: str | None = None
        key: Any = None
        kind = other.__class__
        if kind is Tensor:
            row = tensor_row
            if self.geometry is other.geometry:
                key = tensor_key
            elif inplace and self.storage_impl is other.storage_impl:
                row = None
            else:
                key = (tensor_key, other.geometry)
        elif kind in NUMBER_KEYS and other == 2 and tensor_row.partition(".")[0] in SQUARES:
            result = caller(self, other)
            if not inplace and (kind is int or self.geometry.dtype.kind == 2):
                learn("square", "square", self)
            return result
        elif kind in NUMBER_KEYS:
            row = number_row
            key = number_key + NUMBER_KEYS[kind]
        if isinstance(key, str) and (kind is Tensor or in_bounds(tensor_row, other)):
            entry = carry(key, self.geometry)
            value = other.pointer if kind is Tensor else other
            if entry is not None and not inplace:
                return _fresh(entry, self.pointer, value)
            apart = kind is not Tensor or self is other or self.storage_impl is not other.storage_impl
            if entry is not None and apart:
                return _into(self, entry, value)
        result = caller(self, other, **options)
        if row is not None:
            learn(row, key, self, other, inplace=inplace)
        return result

    return run


def with_out(caller: Caller, row: str, operands: tuple[Any, ...], out: Any) -> Any:
    """A pointwise call with out=; what it finds out is kept under the geometries and number types."""
    if FAST_GLOBALS["SPECIAL"] or operands[0].__class__ is not Tensor or out.__class__ is not Tensor:
        return caller(*operands, out=out)
    kinds = [one.geometry if one.__class__ is Tensor else one.__class__ for one in operands]
    key = (row + " out", out.geometry, *kinds)
    plans = operands[0].geometry.plans
    runner = plans.get(key)
    if runner:
        result = runner(out, *operands)
        if result is not None:
            return result
    result, note = with_runner(row.partition(".")[0], caller, *operands, out=out)
    if runner is None and isinstance(note, PointwiseNote) and key[1] is out.geometry:
        ordered = note.into()
        fits = ordered is not None and len(ordered.operands) == len(operands) and _same(ordered.operands, operands)
        remember(plans, key, ordered.run if fits and ordered is not None else False)
    return result


def with_alpha(caller: Caller, row: str, operands: tuple[Any, ...], alpha: Any, *, inplace: bool) -> Any:
    """``add(x, y, alpha=a)``; what it finds out is kept under the geometries and number types."""
    plain = operands[0].__class__ is Tensor and operands[1].__class__ is Tensor and alpha.__class__ in (int, float)
    if FAST_GLOBALS["SPECIAL"] or not plain:
        return caller(*operands, alpha=alpha)
    key = (row + " alpha", operands[1].geometry, alpha.__class__)
    plans = operands[0].geometry.plans
    runner = plans.get(key)
    if runner:
        result = runner(*operands, alpha)
        if result is not None:
            return result
    result, note = with_runner(row.partition(".")[0], caller, *operands, alpha=alpha)
    if runner is None and isinstance(note, PointwiseNote):
        ordered, given = note.within() if inplace else note.ordered(), (*operands, alpha)
        fits = ordered is not None and len(ordered.operands) == 3 and _same(ordered.operands, given)
        remember(plans, key, ordered.run if fits and ordered is not None else False)
    return result


def _same(operands: tuple[Any, ...], given: tuple[Any, ...]) -> bool:
    """Whether these are the operands, none of them lazily conjugate or negative."""
    return all(map(is_, operands, given)) and not any(
        isinstance(one, Tensor) and (one.geometry.lazy or one.geometry.watched) for one in given
    )


def _fresh(entry: Any, *values: Any) -> Tensor:
    """Run a functional entry into a new tensor."""
    kernel, geometry, count = entry
    result = new_like(geometry)
    kernel(result.pointer, *values, count)
    return result


def _into(self: Tensor, entry: Any, *values: Any) -> Tensor:
    """Run an in-place entry on `self`."""
    kernel, count = entry
    pointer = self.pointer
    bump_version(self)
    kernel(pointer, pointer, *values, count)
    return self


def operand_of(other: Any) -> Any:
    """`other` as an operand of Python's operators: a tensor or a Python number, else NO."""
    return other if isinstance(other, Tensor) else number(other)


ALPHA = {"alpha"}
"""The option that recorders of two operands take."""


def recorded_binary(rows: tuple[str, str | None]) -> Callable[..., Any]:
    """The call ``x + y``, or ``add(x, y, alpha=a)``, with a watched tensor, by its recorder.

    It gives NO when there is more to be done than recording.
    """
    tensor_row = REGISTRY.find(rows[0])
    number_row = REGISTRY.find(rows[1]) if rows[1] else None

    def record(self: Any, other: Any, **options: Any) -> Any:
        kind = other.__class__
        mine = self.geometry
        if kind is Tensor:
            others = other.geometry
            if not (mine.watched or others.watched) or mine.keys is None or others.keys is None:
                return NO
            # `watched_recorder`, without the call: this is the way of every sum and product that is recorded.
            resolved = tensor_row.resolved.get((mine.keys | others.keys | DEFAULT_INCLUDE) & KEPT)
            if resolved is None or FAST_GLOBALS["SPECIAL"] or FAST_GLOBALS["OVERRIDING"]:
                return NO
            return resolved.entry.function(self, other, **options)  # type: ignore[misc]
        if kind not in NUMBER_KEYS or number_row is None or not mine.watched:
            return NO
        found = watched_recorder(number_row, mine.keys)
        return NO if found is None else found(self, other, **options)

    return record


def slow_dunder(
    caller: Caller, run: Callable[..., Any], rows: tuple[str, str | None]
) -> Callable[..., Any]:
    """The general path of ``x + y``: NotImplemented for what is neither tensor nor number."""
    record = recorded_binary(rows)

    def operator(self: Any, other: Any) -> Any:
        if self.__class__ is Tensor:
            recorded = record(self, other)
            if recorded is not NO:
                return recorded
        if other.__class__ not in PLAIN:
            taken = intercept(caller.public, (self, other), {})
            if taken is not NOT_OVERRIDDEN:
                return taken
        found = operand_of(other)
        return NotImplemented if found is NO else run(self, found)

    return operator


REVERSED_METHODS: dict[str, Callable[[Any, Any], Any]] = {
    "add.Tensor": lambda self, number: self.add(number),
    "mul.Tensor": lambda self, number: self.mul(number),
    "sub.Tensor": lambda self, number: sys.modules["gaugeblock"].rsub(self, number),
    "div.Tensor": lambda self, number: self.reciprocal() * number,
}
"""``number + x`` and its like of a tensor that autograd watches, as calls with the tensor first."""


def slow_reversed(row: str, dunder: str) -> Callable[..., Any]:
    """The general path of ``number + x``."""
    operator = REGISTRY.find(row)

    def run(self: Any, other: Any) -> Any:
        if FAST_GLOBALS["OVERRIDING"] or other.__class__ not in PLAIN:
            taken = intercept(getattr(Tensor, dunder), (self, other), {})
            if taken is not NOT_OVERRIDDEN:
                return taken
        found = operand_of(other)
        if found is NO:
            return NotImplemented
        if not isinstance(self, Tensor):
            raise TypeError(f"{dunder}() requires a Tensor as its first argument, not {type(self).__name__}")
        kind = found.__class__
        if self.geometry.watched and row in REVERSED_METHODS:
            return REVERSED_METHODS[row](self, found)
        if kind not in NUMBER_KEYS or self.__class__ is not Tensor:
            return call(operator, found, self)
        key = f"{row} reversed{NUMBER_KEYS[kind]}"
        entry = carry(key, self.geometry) if in_bounds(row, found) else None
        if entry is not None:
            return _fresh(entry, found, self.pointer)
        result = call(operator, found, self)
        learn(row, key, found, self)
        return result

    return run


def slow_to(caller: Caller) -> Callable[..., Any]:
    """For ``x.to(...)``, whose forms outnumber the schemas."""

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and args[0].__class__ is DType and not kwargs and not FAST_GLOBALS["SPECIAL"]:
            return call_on(TO_DTYPE, self, args[0], False, False, None)
        found = intercept(caller.public, (self, *args), kwargs)
        return to_dispatched(self, *args, **kwargs) if found is NOT_OVERRIDDEN else found

    return run


def slow_set(caller: Caller) -> Callable[..., Any]:
    """For ``x.set_(...)``: only the form with a tensor is an operator of the table."""

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        if args and hasattr(args[0], "untyped"):
            args = (args[0].untyped(), *args[1:])
        if len(args) == 1 and not kwargs and not isinstance(args[0], UntypedStorage):
            return caller(self, *args)
        found = intercept(caller.public, (self, *args), kwargs)
        if found is not NOT_OVERRIDDEN:
            return found
        if self.geometry.watched:
            from ..autograd.rebinding import rebound

            return rebound(self, None, lambda: set_(self, *args, **kwargs))
        return set_(self, *args, **kwargs)

    return run

"""What the general path remembers of a call: for the same Python types, how the arguments reach the kernel.

The types alone decide most of overload resolution. What they do not decide (items of a list, 0-dim tensors given as
numbers) goes through its converter again; when that refuses, the call is resolved from the start.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.device import Device
from ..core.dtype import DType
from ..core.memory_format import MemoryFormat
from ..dispatch.registry import Operator
from ..tensor.tensor import Tensor
from .converters import NO, Converter

if TYPE_CHECKING:
    from .caller import Signature

EXACT = frozenset({Tensor, int, float, bool, complex, str, type(None), DType, Device, MemoryFormat})
"""Classes whose instances either fit a parameter unchanged or do not fit it at all."""
LIMIT = 64


class Step(NamedTuple):
    """Where one value comes from: the position of an argument, its keyword, or a default; and how it is converted."""

    place: int | None
    keyword: str | None
    default: Any
    convert: Converter | None


class Recipe(NamedTuple):
    """Operator, values in order, keyword-only options; `tail` when all arguments go through unchanged, before it.

    From `gathered` on, ints given one by one are one argument.
    """

    operator: Operator
    steps: tuple[Step, ...]
    options: tuple[tuple[str, Step], ...]
    tail: tuple[Any, ...] | None
    gathered: int | None = None

    def values(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any] | None:
        """The positional values of a call, None when one no longer fits."""
        found = [_value(step, args, kwargs) for step in self.steps]
        return None if any(value is NO for value in found) else found

    def keywords(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any] | None:
        """The keyword-only values of a call, None when one no longer fits."""
        found = {name: _value(step, args, kwargs) for name, step in self.options}
        return None if any(value is NO for value in found.values()) else found


def _value(step: Step, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    if step.place is not None:
        given = args[step.place]
    elif step.keyword is not None:
        given = kwargs[step.keyword]
    else:
        return step.default
    return given if step.convert is None else step.convert(given)


def key_of(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The types of a call."""
    if not kwargs:
        return tuple([value.__class__ for value in args])
    return (tuple([value.__class__ for value in args]), *[(name, value.__class__) for name, value in kwargs.items()])


def recipe_for(
    signature: Signature,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    names: Mapping[str, str],
    gathered: int | None = None,
) -> Recipe:
    """The recipe of a call that `signature` took; `names` gives the parameter that each keyword stands for.

    The argument at `gathered` is a tuple of what was given one by one, of class int.
    """
    keyword_of = {parameter: keyword for keyword, parameter in names.items()}
    steps: list[Step] = []
    options: list[tuple[str, Step]] = []
    place = 0
    for parameter in signature.parameters:
        keyword = keyword_of.get(parameter.name)
        if not parameter.keyword and place < len(args):
            given, step = args[place], Step(place, None, None, None)
            place += 1
        elif keyword is not None:
            given, step = kwargs[keyword], Step(None, keyword, None, None)
        else:
            given, step = None, Step(None, None, parameter.default, None)
        found = (step.place is not None and step.place != gathered) or step.keyword is not None
        if found and not _unchanged(given, parameter.convert):
            step = step._replace(convert=parameter.convert)
        if not (parameter.keyword and parameter.argument.kwarg_only):
            steps.append(step)
        elif step.keyword is not None:
            options.append((parameter.name, step))
    straight = all(step.convert is None and step.keyword is None for step in steps)
    straight = straight and all(step.convert is None and step.keyword == name for name, step in options)
    tail = tuple(step.default for step in steps if step.place is None) if straight else None
    return Recipe(signature.operator, tuple(steps), tuple(options), tail, gathered)


def _unchanged(given: Any, convert: Converter) -> bool:
    return given.__class__ in EXACT and convert(given) is given

"""Source of the bindings that go straight to one implementation, and of those without any way but the general one."""

from __future__ import annotations

CHOICE = "(special_{name} if SPECIAL_VIEWS else slow_{name})"
"""The function that a view binding calls when it cannot make the view itself."""


def general(name: str, function: str) -> str:
    """A binding without a fast path."""
    return f"def {function}(*args, **kwargs):\n    return slow_{name}(*args, **kwargs)\n"


def direct(
    name: str, function: str, self: str, *, spread: bool, checks: bool, several: bool, copies: bool, marks: bool
) -> str:
    """A binding that goes straight to one implementation; with `spread` its sizes may be given one by one.

    Unless the implementation `checks` its arguments, what it does not take is judged by the general path, which says
    what the schemas allow. With `several` tensors any of them may be of a subclass; one that `copies` elements is
    dispatched on devices other than the CPU. One that `marks` makes views, which are marked while nothing is recorded.
    """
    general = CHOICE.format(name=name) if marks else f"slow_{name}"
    special = f"{'SPECIAL_VIEWS' if marks else 'SPECIAL'} or {self}.__class__ is not Tensor or {self}.geometry.watched"
    if several:
        special += " or (OVERRIDING and foreign(args, kwargs)) or (WATCHING and any_watched(args, kwargs))"
    device = f" or {self}.geometry.device is not cpu" if copies else ""
    gather = "    if len(args) > 1 or (args and args[0].__class__ is int):\n        args = (args,)\n" if spread else ""
    tried = (
        f"    try:\n"
        f"        return direct_{name}({self}, *args, **kwargs)\n"
        f"    except (TypeError, AttributeError):\n"
        f"        pass\n"
        f"    return slow_{name}({self}, *args, **kwargs)\n"
    )
    named = self == "input"  # a function takes its tensor by name too, by any of its names
    nameless = f"        if {self} is UNSET:\n            return {general}(*args, **kwargs)\n" if named else ""
    return (
        f"def {function}({self}{'=UNSET' if named else ''}, *args, **kwargs):\n"
        f"    if {special}{device}:\n"
        f"{nameless}        return {general}({self}, *args, **kwargs)\n"
        + gather
        + (_asking(name, self) if checks else tried)
    )


def _asking(name: str, self: str) -> str:
    return (
        f"    try:\n"
        f"        return direct_{name}({self}, *args, **kwargs)\n"
        f"    except TypeError:\n"
        f"        found = intercept(public_{name}.public, ({self}, *args), kwargs)\n"
        f"        if found is NOT_OVERRIDDEN:\n"
        f"            raise\n"
        f"        return found\n"
    )


def self_later(name: str, function: str, names: list[str]) -> str:
    """A method whose schema does not begin with self: ``x.where(condition, other)``."""
    rest = [argument for argument in names if argument != "self"]
    return f"def {function}(self, {', '.join(rest)}):\n    return slow_{name}({', '.join(names)})\n"

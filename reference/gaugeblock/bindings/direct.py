"""Source of bindings that are not made of their schemas: conversions, and calls on the general path alone."""

from __future__ import annotations


def general(name: str, function: str) -> str:
    """Return a binding without a fast path."""
    return f"def {function}(*args, **kwargs):\n    return slow_{name}(*args, **kwargs)\n"


def conversion(name: str, function: str, self: str) -> str:
    """Return the binding of a conversion, which goes to an implementation that checks its own arguments.

    What that refuses may still override the call.
    """
    named = self == "input"  # a function takes its tensor by name too, by any of its names
    nameless = f"        if {self} is UNSET:\n            return slow_{name}(*args, **kwargs)\n" if named else ""
    return (
        f"def {function}({self}{'=UNSET' if named else ''}, *args, **kwargs):\n"
        f"    if SPECIAL or {self}.__class__ is not Tensor or {self}.meta.watched"
        " or (OVERRIDING and foreign(args, kwargs)) or (WATCHING and any_watched(args, kwargs)):\n"
        f"{nameless}        return slow_{name}({self}, *args, **kwargs)\n"
        f"    try:\n"
        f"        return direct_{name}({self}, *args, **kwargs)\n"
        f"    except TypeError:\n"
        f"        found = intercept(public_{name}.public, ({self}, *args), kwargs)\n"
        f"        if found is NOT_OVERRIDDEN:\n"
        f"            raise\n"
        f"        return found\n"
    )


def self_later(name: str, function: str, names: list[str]) -> str:
    """Return a method whose schema does not begin with self: ``x.where(condition, other)``."""
    rest = [argument for argument in names if argument != "self"]
    return f"def {function}(self, {', '.join(rest)}):\n    return slow_{name}({', '.join(names)})\n"

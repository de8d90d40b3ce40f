"""The records of a parsed operator schema; `schema.py` makes them from a string."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import NamedTuple

_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
DefaultValue = int | float | bool | str | None | tuple["DefaultValue", ...]


class Alias(NamedTuple):
    """An annotation ``(a)``, ``(a!)``, ``(a|b)``, ``(a -> *)``; `place` counts the type suffixes written before it."""

    before: tuple[str, ...]
    mutable: bool = False
    after: tuple[str, ...] | None = None
    place: int = 0

    def __str__(self) -> str:
        arrow = "" if self.after is None else f" -> {'|'.join(self.after)}"
        return f"({'|'.join(self.before)}{'!' if self.mutable else ''}{arrow})"


class Return(NamedTuple):
    """One returned value: its type without annotation, an optional name, an optional alias."""

    type: str
    name: str | None = None
    alias: Alias | None = None

    def __str__(self) -> str:
        shown = annotated(self.type, self.alias)
        return shown if self.name is None else f"{shown} {self.name}"


class Argument(NamedTuple):
    """One declared argument; `default` is the literal's text, or None where the argument is required."""

    name: str
    type: str
    default: str | None = None
    kwarg_only: bool = False
    alias: Alias | None = None

    def __str__(self) -> str:
        shown = f"{annotated(self.type, self.alias)} {self.name}"
        return shown if self.default is None else f"{shown}={self.default}"

    @property
    def base_type(self) -> str:
        """The type without its suffixes: ``int`` of ``int[2]?``."""
        return _split_type(self.type)[0]

    @property
    def optional(self) -> bool:
        return self.type.endswith("?")

    @property
    def is_list(self) -> bool:
        return "[" in self.type

    @property
    def list_size(self) -> int | None:
        """N of ``int[N]``: a single value is accepted for such a list."""
        match = re.search(r"\[(\d+)\]", self.type)
        return int(match.group(1)) if match else None

    @property
    def written(self) -> bool:
        return self.alias is not None and self.alias.mutable

    @property
    def default_value(self) -> DefaultValue:
        """The default as a Python value; names of enumerations (``contiguous_format``) come back as strings."""
        if self.default is None:
            raise ValueError(f"argument {self.name!r} has no default")
        return literal(self.default)


@dataclass(frozen=True)
class Schema:
    """A parsed schema; ``str(schema)`` gives the string back."""

    namespace: str | None
    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[Return, ...]
    vararg: bool = False
    varret: bool = False

    @functools.cached_property
    def qualified_name(self) -> str:
        """``name.overload``, or ``name`` where the overload is the default one."""
        return f"{self.name}.{self.overload}" if self.overload else self.name

    @property
    def is_inplace(self) -> bool:
        return self.name.endswith("_") and not self.name.endswith("__") and self.name != "_"

    @property
    def is_out(self) -> bool:
        return any(argument.kwarg_only and argument.written for argument in self.arguments)

    @property
    def positional(self) -> tuple[Argument, ...]:
        return tuple(argument for argument in self.arguments if not argument.kwarg_only)

    @property
    def keyword_only(self) -> tuple[Argument, ...]:
        return tuple(argument for argument in self.arguments if argument.kwarg_only)

    def argument(self, name: str) -> Argument:
        """The argument of that name; KeyError lists the names there are."""
        for argument in self.arguments:
            if argument.name == name:
                return argument
        known = ", ".join(argument.name for argument in self.arguments)
        raise KeyError(f"{self.qualified_name} has no argument {name!r}; it has {known}")

    def __str__(self) -> str:
        shown: list[str] = []
        starred = False
        for argument in self.arguments:
            if argument.kwarg_only and not starred:
                shown.append("*")
                starred = True
            shown.append(str(argument))
        if self.vararg:
            shown.append("...")
        prefix = "" if self.namespace is None else f"{self.namespace}::"
        return f"{prefix}{self.qualified_name}({', '.join(shown)}) -> {self._returns()}"

    def _returns(self) -> str:
        shown = [str(value) for value in self.returns] + (["..."] if self.varret else [])
        return shown[0] if len(shown) == 1 and shown[0][0] != "(" else f"({', '.join(shown)})"


@functools.cache
def literal(text: str) -> DefaultValue:
    """The Python value of a default literal."""
    text = text.strip()
    if text in ("None", "True", "False"):
        return {"None": None, "True": True, "False": False}[text]
    if text.startswith("["):
        inner = text[1:-1].strip()
        return tuple(literal(part) for part in inner.split(",")) if inner else ()
    if text[0] in "'\"":
        return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match.group(1), match.group(1)), text[1:-1])
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if re.match(r"-?[\d.]", text):
        return float(text)
    return text


@functools.cache
def _split_type(text: str) -> tuple[str, tuple[str, ...]]:
    match = re.fullmatch(r"(.*?)((?:\[\d*\]|\?)*)", text)
    assert match is not None
    return match.group(1), tuple(re.findall(r"\[\d*\]|\?", match.group(2)))


def annotated(text: str, alias: Alias | None) -> str:
    if alias is None:
        return text
    base, suffixes = _split_type(text)
    return base + "".join(suffixes[: alias.place]) + str(alias) + "".join(suffixes[alias.place :])

"""Operator schemas: ``ns::name.overload(args) -> returns`` parsed into records and printed back unchanged.

>>> schema = parse("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")
>>> schema.qualified_name, [argument.name for argument in schema.arguments]
('add.Tensor', ['self', 'other', 'alpha'])
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NoReturn

from .schema_records import Alias, Argument, DefaultValue, Return, Schema, annotated, literal

__all__ = ["Alias", "Argument", "DefaultValue", "Return", "Schema", "SchemaError", "literal", "parse"]

GENERIC_TYPES = frozenset({"Dict", "Future", "RRef", "Await", "Tuple", "List", "Optional"})
BASE_TYPES = GENERIC_TYPES | {
    "Any", "AnyClassType", "AnyEnumType", "Capsule", "ConstQuantizerPtr", "Device", "DeviceIndex", "Dimname",
    "Generator", "Layout", "MemoryFormat", "Module", "NoneType", "PyObject", "QScheme", "Quantizer", "Scalar",
    "ScalarType", "Storage", "Stream", "SymBool", "SymFloat", "SymInt", "Tensor", "bool", "complex", "float", "int",
    "number", "str",
}  # fmt: skip
_TOKEN = re.compile(
    r"\s*(?:(?P<arrow>->)|(?P<dots>\.\.\.)|(?P<colons>::)"
    r"|(?P<number>-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<sign>[()\[\]{},.*?!|=]))"
)


class SchemaError(ValueError):
    """A schema string that does not parse; the message shows the string and a caret under the position."""

    def __init__(self, text: str, position: int, problem: str) -> None:
        super().__init__(f"{problem} at column {position + 1}\n    {text}\n    {' ' * position}^")
        self.text = text
        self.position = position
        self.problem = problem


@lru_cache(maxsize=4096)
def parse(text: str) -> Schema:
    """Parse one schema string; SchemaError names the column of what is wrong."""
    return _Parser(text).schema()


class _Parser:
    """Recursive descent over the tokens of one schema string."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        position, end = 0, len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None or match.lastgroup is None:
                start = position + len(text[position:]) - len(text[position:].lstrip())
                raise SchemaError(text, start, f"unexpected character {text[start]!r}")
            self.tokens.append((match.lastgroup, match.group(match.lastgroup), match.start(match.lastgroup)))
            position = match.end()
        self.tokens.append(("end", "end of schema", end))
        self.at = 0

    def schema(self) -> Schema:
        name = self._name("an operator name")
        namespace: str | None = None
        if self._accept("::"):
            namespace, name = name, self._name("an operator name")
        overload = ""
        if self._accept("."):
            place = self.at
            overload = self._name("an overload name")
            if overload == "default":
                self.at = place
                self._fail("'default' is the name of the empty overload and cannot be declared")
        arguments, vararg = self._arguments()
        self._expect("->")
        returns, varret = self._returns()
        if self.tokens[self.at][0] != "end":
            self._fail(f"expected the end of the schema, found {self.tokens[self.at][1]!r}")
        return Schema(namespace, name, overload, tuple(arguments), tuple(returns), vararg, varret)

    def _arguments(self) -> tuple[list[Argument], bool]:
        self._expect("(")
        arguments: list[Argument] = []
        kwarg_only = defaulted = False
        if self._accept(")"):
            return arguments, False
        while True:
            start = self.at
            if self._accept("..."):
                if any(argument.default is not None for argument in arguments):
                    self.at = start
                    self._fail("an operator with '...' cannot have default values")
                self._expect(")")
                return arguments, True
            if self._accept("*"):
                kwarg_only = True
            else:
                argument = self._argument(kwarg_only)
                if argument.default is None and defaulted and not kwarg_only:
                    self.at = start
                    self._fail(f"argument {argument.name!r} without a default follows one that has a default")
                defaulted = defaulted or argument.default is not None
                arguments.append(argument)
            if self._accept(")"):
                return arguments, False
            self._expect(",")

    def _argument(self, kwarg_only: bool) -> Argument:
        kind, alias = self._type()
        name = self._name("an argument name")
        if self._accept("["):
            size = "" if self.tokens[self.at][1] == "]" else self._take("number", "a list size")
            self._expect("]")
            kind += f"[{size}]"
        default = self._default() if self._accept("=") else None
        return Argument(name, kind, default, kwarg_only, alias)

    def _returns(self) -> tuple[list[Return], bool]:
        if self._accept("..."):
            return [], True
        if not self._accept("("):
            return [self._return()], False
        returns: list[Return] = []
        if self._accept(")"):
            return returns, False
        while True:
            if self._accept("..."):
                self._expect(")")
                return returns, True
            returns.append(self._return())
            if self._accept(")"):
                return returns, False
            self._expect(",")

    def _return(self) -> Return:
        kind, alias = self._type()
        return Return(kind, self._take("name", "a name") if self.tokens[self.at][0] == "name" else None, alias)

    def _type(self) -> tuple[str, Alias | None]:
        base = self._base_type()
        suffixes: list[str] = []
        alias: Alias | None = None
        while True:
            if self._accept("?"):
                suffixes.append("?")
            elif self._accept("["):
                size = "" if self.tokens[self.at][1] == "]" else self._take("number", "a list size")
                self._expect("]")
                suffixes.append(f"[{size}]")
            elif self.tokens[self.at][1] == "(" and alias is None:
                alias = self._alias(len(suffixes))
            else:
                return base + "".join(suffixes), alias

    def _base_type(self) -> str:
        if self._accept("("):
            return f"({', '.join(self._type_list())})"
        start = self.at
        name = self._name("a type")
        if name in GENERIC_TYPES and self._accept("("):
            return f"{name}({', '.join(self._type_list())})"
        dotted = False
        while self._accept("."):
            name += "." + self._name("a type")
            dotted = True
        if name not in BASE_TYPES and not dotted and not name[0].islower():
            self.at = start
            self._fail(f"unknown type {name!r}; known are {', '.join(sorted(BASE_TYPES))}, or a lower-case variable")
        return name

    def _type_list(self) -> list[str]:
        types: list[str] = []
        if self._accept(")"):
            return types
        while True:
            kind, alias = self._type()
            types.append(annotated(kind, alias))
            if self._accept(")"):
                return types
            self._expect(",")

    def _alias(self, place: int) -> Alias:
        self._expect("(")
        before = self._alias_set()
        mutable = self._accept("!")
        after = self._alias_set() if self._accept("->") else None
        self._expect(")")
        return Alias(before, mutable, after, place)

    def _alias_set(self) -> tuple[str, ...]:
        if self._accept("*"):
            return ("*",)
        names = [self._name("an alias set")]
        while self._accept("|"):
            names.append(self._name("an alias set"))
        return tuple(names)

    def _default(self) -> str:
        kind, value, start = self.tokens[self.at]
        if kind in ("number", "text", "name"):
            self.at += 1
            return value
        if value != "[":
            self._fail(f"expected a default value, found {value!r}")
        while not self._accept("]"):
            if self.tokens[self.at][0] == "end":
                self._fail("a default list is not closed")
            self.at += 1
        end = self.tokens[self.at - 1][2] + 1
        return self.text[start:end]

    def _accept(self, value: str) -> bool:
        kind, found, _ = self.tokens[self.at]
        if found != value or kind in ("text", "end"):
            return False
        self.at += 1
        return True

    def _expect(self, value: str) -> None:
        if not self._accept(value):
            self._fail(f"expected {value!r}, found {self.tokens[self.at][1]!r}")

    def _take(self, kind: str, wanted: str) -> str:
        found, value, _ = self.tokens[self.at]
        if found != kind:
            self._fail(f"expected {wanted}, found {value!r}")
        self.at += 1
        return value

    def _name(self, wanted: str) -> str:
        return self._take("name", wanted)

    def _fail(self, problem: str) -> NoReturn:
        raise SchemaError(self.text, self.tokens[self.at][2], problem)

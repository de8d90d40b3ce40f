"""JSON Schema compiled to functions that only say yes or no: fast enough to check ten thousand rows.

``jsonschema`` names what is wrong, and is asked only when something is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Check = Callable[[Any], bool]

# Keywords that say nothing about a value here: texts for readers, and "format", which JSON Schema leaves open.
SILENT = {"$schema", "$id", "$defs", "title", "description", "default", "examples", "format", "$comment"}

TYPES: dict[str, Check] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())
    ),
}


class Compiler:
    """Turns the parts of one schema document into checks; each definition is compiled once."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self._definitions: dict[str, list[Check]] = {}

    def compile(self, schema: dict[str, Any] | bool) -> Check:
        """A function that is True for the values that ``schema`` allows.

        Raises:
            ValueError: a keyword that this compiler does not know.
        """
        if isinstance(schema, bool):
            return lambda value: schema
        checks = [self._keyword(name, schema) for name in schema if name not in SILENT]
        if len(checks) == 1:
            return checks[0]
        return lambda value: all(check(value) for check in checks)

    def _keyword(self, name: str, schema: dict[str, Any]) -> Check:
        argument = schema[name]
        if name in ("properties", "additionalProperties", "patternProperties"):
            return self._members(schema)
        make = getattr(self, f"_{name.lstrip('$').lower()}", None)
        if make is None:
            raise ValueError(f"JSON Schema keyword {name!r} is not known here")
        made: Check = make(argument)
        return made

    def _type(self, names: str | list[str]) -> Check:
        checks = [TYPES[name] for name in ([names] if isinstance(names, str) else names)]
        return checks[0] if len(checks) == 1 else lambda value: any(check(value) for check in checks)

    def _members(self, schema: dict[str, Any]) -> Check:
        if "patternProperties" in schema:
            raise ValueError("JSON Schema keyword 'patternProperties' is not known here")
        known = {name: self.compile(part) for name, part in schema.get("properties", {}).items()}
        other = self.compile(schema.get("additionalProperties", True))

        def check(value: Any) -> bool:
            return not isinstance(value, dict) or all(known.get(name, other)(item) for name, item in value.items())

        return check

    def _required(self, names: list[str]) -> Check:
        wanted = frozenset(names)
        return lambda value: not isinstance(value, dict) or wanted <= value.keys()

    def _items(self, schema: dict[str, Any]) -> Check:
        check = self.compile(schema)
        return lambda value: not isinstance(value, list) or all(check(item) for item in value)

    def _ref(self, target: str) -> Check:
        if target not in self._definitions:
            self._definitions[target] = []
            part: Any = self.document
            for step in target.removeprefix("#/").split("/"):
                part = part[step]
            self._definitions[target].append(self.compile(part))
        found = self._definitions[target]
        return found[0] if found else lambda value: found[0](value)

    def _enum(self, values: list[Any]) -> Check:
        return lambda value: any(_same(value, allowed) for allowed in values)

    def _const(self, allowed: Any) -> Check:
        return lambda value: _same(value, allowed)

    def _pattern(self, text: str) -> Check:
        search = re.compile(text).search
        return lambda value: not isinstance(value, str) or search(value) is not None

    def _minimum(self, least: float) -> Check:
        return lambda value: not TYPES["number"](value) or value >= least

    def _maximum(self, most: float) -> Check:
        return lambda value: not TYPES["number"](value) or value <= most

    def _exclusiveminimum(self, least: float) -> Check:
        return lambda value: not TYPES["number"](value) or value > least

    def _minitems(self, least: int) -> Check:
        return lambda value: not isinstance(value, list) or len(value) >= least

    def _maxitems(self, most: int) -> Check:
        return lambda value: not isinstance(value, list) or len(value) <= most

    def _minlength(self, least: int) -> Check:
        return lambda value: not isinstance(value, str) or len(value) >= least

    def _minproperties(self, least: int) -> Check:
        return lambda value: not isinstance(value, dict) or len(value) >= least

    def _oneof(self, schemas: list[dict[str, Any]]) -> Check:
        checks = [self.compile(schema) for schema in schemas]
        return lambda value: sum(check(value) for check in checks) == 1

    def _anyof(self, schemas: list[dict[str, Any]]) -> Check:
        checks = [self.compile(schema) for schema in schemas]
        return lambda value: any(check(value) for check in checks)


def compiled(document: dict[str, Any]) -> Check:
    """The check of a whole schema document."""
    return Compiler(document).compile(document)


def _same(value: Any, allowed: Any) -> bool:
    """Equality in JSON, where True is not 1."""
    return bool(value == allowed) and isinstance(value, bool) == isinstance(allowed, bool)

"""A JSON Schema compiled to a function that says yes, or that it does not know: fast enough for ten thousand rows.

``jsonschema`` is asked only where this does not say yes; it names what is wrong, and knows the keywords that are left
out here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Check = Callable[[Any], bool]
# Types that a value may have (None: any), and what is asked beyond that (None: nothing).
Node = tuple[frozenset[type] | None, Check | None]

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "number": (int, float),
    "integer": (int,),
}
# Keywords that ask nothing of a value.
SILENT = frozenset({"$schema", "$id", "$defs", "title", "description", "format", "default", "examples"})


def compiled(document: dict[str, Any]) -> Check:
    """A function that is True only for values that the schema ``document`` allows, parsed from JSON."""
    return _Compiler(document).check(document)


class _Compiler:
    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self._known: dict[str, Node] = {}

    def check(self, schema: dict[str, Any]) -> Check:
        types, deeper = self._node(schema)
        if types is None:
            return deeper or _yes
        if deeper is None:
            return lambda value: type(value) in types
        return lambda value: type(value) in types and deeper(value)

    def _node(self, schema: dict[str, Any]) -> Node:
        if "$ref" in schema and schema.keys() <= SILENT | {"$ref"}:
            return self._definition(schema["$ref"])
        names = schema.get("type")
        listed = [names] if isinstance(names, str) else names
        types = None if listed is None else frozenset(kind for name in listed for kind in TYPES[name])
        checks = []
        left = schema.keys() - SILENT - {"type"}
        if left & {"properties", "required", "additionalProperties"} and schema.get("type") == "object":
            checks.append(self._object(schema))
            left -= {"properties", "required", "additionalProperties"}
        if "items" in left and schema.get("type") == "array":
            checks.append(self._array(schema["items"]))
            left -= {"items"}
        if "oneOf" in left and all("$ref" in part or "type" in part for part in schema["oneOf"]):
            checks.append(self._one_of(schema["oneOf"]))
            left -= {"oneOf"}
        checks += [make(schema[name]) for name, make in KEYWORDS.items() if name in left]
        if left - KEYWORDS.keys():
            checks = [_no]
        if len(checks) < 2:
            return types, checks[0] if checks else None
        return types, lambda value: all(check(value) for check in checks)

    def _definition(self, target: str) -> Node:
        if target not in self._known:
            self._known[target] = (None, _no)
            part: Any = self._document
            for step in target.removeprefix("#/").split("/"):
                part = part[step]
            self._known[target] = self._node(part)
        return self._known[target]

    def _object(self, schema: dict[str, Any]) -> Check:
        known = {name: self._node(part) for name, part in schema.get("properties", {}).items()}
        wanted = frozenset(schema.get("required", ()))
        rest = schema.get("additionalProperties", True)
        other: Node = (frozenset(), None) if rest is False else (None, None) if rest is True else self._node(rest)

        def check(value: Any) -> bool:
            for name, item in value.items():
                types, deeper = known.get(name, other)
                if types is not None and type(item) not in types:
                    return False
                if deeper is not None and not deeper(item):
                    return False
            return bool(wanted <= value.keys())

        return check

    def _array(self, schema: dict[str, Any]) -> Check:
        types, deeper = self._node(schema)

        def check(value: Any) -> bool:
            for item in value:
                if types is not None and type(item) not in types:
                    return False
                if deeper is not None and not deeper(item):
                    return False
            return True

        return check

    def _one_of(self, schemas: list[dict[str, Any]]) -> Check:
        checks = [self.check(schema) for schema in schemas]
        return lambda value: sum(check(value) for check in checks) == 1


def _yes(value: Any) -> bool:
    return True


def _no(value: Any) -> bool:
    """The answer where a keyword is not known, or a definition speaks of itself."""
    return False


def _enum(values: list[Any]) -> Check:
    allowed = frozenset(value for value in values if value is None or type(value) is str)
    return lambda value: (value is None or type(value) is str) and value in allowed


def _const(allowed: Any) -> Check:
    return lambda value: type(value) is type(allowed) and bool(value == allowed)


def _pattern(text: str) -> Check:
    search = re.compile(text).search
    return lambda value: type(value) is str and search(value) is not None


def _minimum(least: float) -> Check:
    return lambda value: type(value) in (int, float) and bool(value >= least)


def _maximum(most: float) -> Check:
    return lambda value: type(value) in (int, float) and bool(value <= most)


KEYWORDS: dict[str, Callable[[Any], Check]] = {
    "enum": _enum,
    "const": _const,
    "pattern": _pattern,
    "minimum": _minimum,
    "maximum": _maximum,
}

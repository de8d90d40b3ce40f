"""Schemas as the callable objects of operators show them, with torch's attribute names."""

from __future__ import annotations

from gaugeblock_spec.schema import Alias, Argument, DefaultValue, Schema


class SchemaArgument:
    """An argument or result of a FunctionSchema."""

    __slots__ = ("_alias", "default_text", "kwarg_only", "name", "type")

    def __init__(self, name: str | None, type: str, alias: Alias | None, default: str | None, kwarg_only: bool) -> None:
        self.name = name or ""
        self.type = type
        self._alias = alias
        self.default_text = default
        self.kwarg_only = kwarg_only

    @property
    def alias_info(self) -> SchemaAlias | None:
        """Return what the annotation ``(a!)`` says; None without one."""
        return None if self._alias is None else SchemaAlias(self._alias)

    @property
    def is_write(self) -> bool:
        """Return whether the operator writes the argument."""
        return self._alias is not None and self._alias.mutable

    @property
    def default_value(self) -> DefaultValue:
        """The default as a Python value; None also when there is none."""
        if self.default_text is None:
            return None
        return Argument(self.name, self.type, self.default_text).default_value

    def has_default_value(self) -> bool:
        """Return whether the argument may be left out."""
        return self.default_text is not None


class SchemaAlias:
    """An alias annotation: the sets of names before and after the call, and whether the value is written."""

    __slots__ = ("after_set", "before_set", "is_write")

    def __init__(self, alias: Alias) -> None:
        self.before_set = set(alias.before)
        self.after_set = set(alias.after or alias.before)
        self.is_write = alias.mutable


class FunctionSchema:
    """The schema of one overload: `name` with its namespace, `overload_name`, `arguments`, `returns`."""

    def __init__(self, qualified: str, schema: Schema) -> None:
        self.name = qualified.partition(".")[0]
        self.overload_name = schema.overload
        self.arguments = [SchemaArgument(a.name, a.type, a.alias, a.default, a.kwarg_only) for a in schema.arguments]
        self.returns = [SchemaArgument(r.name, r.type, r.alias, None, False) for r in schema.returns]
        self.is_mutable = any(argument.is_write for argument in self.arguments)
        self._text = f"{self.name.partition('::')[0]}::{str(schema).rpartition('::')[2]}"

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

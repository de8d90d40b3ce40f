"""Schemas as the callable objects of operators show them, with torch's attribute names."""

from __future__ import annotations

from gaugeblock_spec.schema import Alias, Argument, DefaultValue, Schema


class SchemaArgument:
    """An argument or result of a FunctionSchema."""

    __slots__ = ("_argument", "kwarg_only", "name", "type")

    def __init__(self, argument: Argument) -> None:
        self._argument = argument
        self.name = argument.name
        self.type = argument.type
        self.kwarg_only = argument.kwarg_only

    @property
    def alias_info(self) -> SchemaAlias | None:
        """Return what the annotation ``(a!)`` says; None without one."""
        return None if self._argument.alias is None else SchemaAlias(self._argument.alias)

    @property
    def is_write(self) -> bool:
        """Return whether the operator writes the argument."""
        return self._argument.written

    @property
    def default_value(self) -> DefaultValue:
        """The default as a Python value; None also when there is none."""
        return self._argument.default_value if self.has_default_value() else None

    def has_default_value(self) -> bool:
        """Return whether the argument may be left out."""
        return self._argument.default is not None


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
        self.arguments = [SchemaArgument(argument) for argument in schema.arguments]
        self.returns = [SchemaArgument(Argument(r.name or "", r.type, alias=r.alias)) for r in schema.returns]
        self.is_mutable = any(argument.is_write for argument in self.arguments)
        self._text = f"{self.name.partition('::')[0]}::{str(schema).rpartition('::')[2]}"

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

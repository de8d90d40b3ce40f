"""What the suite asks of declarations, as data: the calls of the capabilities schema and codegen.

Nothing here names a backend's API. A backend with the capabilities answers the operator names of :data:`CALLS` in its
``call``; it may raise :class:`~gaugeblock_conformance.backend.Unsupported` for those that it has no means for.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Declaration:
    """An operator declared from outside: its schema, what it computes and its derivative, as Python expressions in
    operators of the table, arguments and ``grad``; ``dtypes`` are those that its kernel has a loop for.

    ``signature`` is what the derivative is declared for, where that is not the schema's own.
    """

    schema: str
    formula: str
    derivative: str = ""
    signature: str = ""
    dtypes: tuple[str, ...] = ("float32", "float64")


CALLS: dict[str, str] = {
    "declared_schema": "(name) -> the schema string of a declared operator, without a namespace",
    "printed_schema": "(text) -> the schema that the text declares, printed; raises for a text that declares none",
    "declare_operator": "(Declaration); the operator is then callable by name, or it raises for a wrong one",
    "release_declarations": "() takes away what was declared",
}
"""Operator name -> its arguments and answer. ``function:NAME`` and ``method:NAME`` are the two ways to call an operator
of the table, with capability codegen."""

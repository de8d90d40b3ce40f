"""What an operator's row leaves free: values of whole families, and the conditions under which elements are open."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import yaml

FILE = "operator_freedoms.yaml"


@dataclass(frozen=True)
class Half:
    """What is different for float16 and bfloat16.

    ``argument`` with one of ``values`` is refused. Without ``results`` there is no dtype for what comes out;
    ``factors`` is the dtype of all results but the first, "" for that of the first. With a free ``truncation`` a
    quotient may be rounded to half before it is cut.
    """

    argument: str = ""
    values: tuple[Any, ...] = ()
    results: bool = True
    factors: str = ""
    truncation: str = "exact"

    def refuses(self, arguments: Mapping[str, Any]) -> bool:
        """Return whether a call with these arguments, by name, has no result of half floats."""
        return not self.results or (bool(self.argument) and arguments.get(self.argument) in self.values)


def half_from(field: Mapping[str, Any]) -> Half:
    """The field ``half`` of a row."""
    refused = field.get("refused_when", {})
    return Half(
        argument=refused.get("argument", ""),
        values=tuple(refused.get("values", ())),
        results=field.get("results") != "none",
        factors=field.get("factors", ""),
        truncation=field.get("truncation", "exact"),
    )


@functools.cache
def _content() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(files(__package__).joinpath(FILE).read_text(encoding="utf-8"))
    return content


@functools.cache
def of_family(family: str) -> Mapping[str, Any]:
    """The fields that rows of a family have where they do not say otherwise."""
    return MappingProxyType(_content()["families"].get(family, {}))


@functools.cache
def open_conditions() -> Mapping[str, str]:
    """Name of a condition under which elements are open -> sentence."""
    return MappingProxyType(_content()["open"])

"""How the arguments of an operator are drawn: `samples/*.yaml`, a short text for each argument that needs one.

The texts are described in operator_rows.md. An argument that is not named follows the rule of its type and name. What
no one form says, a list of several does.

>>> load()["gather"][0]["index"]
TensorFact(relation='within', dims=(), of='self', dim='dim', size='', many=False, kind='', index='dim', dtypes=())
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import yaml

from .operator_rows import dtype_classes

KINDS = (
    "hard", "finite", "small", "positive", "unit", "distinct", "sorted", "counts", "naturals", "chance", "signs",
    "labels", "rising", "falling", "zeros", "around", "spaced", "dominant", "regular", "definite", "pivots", "sorter",
    "gaps", "slack",
)  # fmt: skip
NUMBER_RULES = ("dim", "given_dim", "new_dim", "dims", "size")

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_RELATED = re.compile(r"(like|to|within) (\w+)(?: but (\w+)(?:=(\w))?)?")
_DIM = re.compile(r"\*|[a-z]~?\??|\d+\??")
_RANGE = re.compile(r"(-?\d+|\w)\.\.(-?\d+|\w|size\(\w+\))")


class SampleError(ValueError):
    """A text that is none of the forms; the message names file, operator, argument and what is allowed."""


@dataclass(frozen=True)
class TensorFact:
    """Sizes and values of a tensor argument, or (`many`) of the tensors of a list.

    `relation` is `free` (sizes are `dims`: a letter for a size shared by the call, ~ behind it for that size or 1, ?
    for a dim that may be missing with all before it, * for any dims shared by the call), or `like`, `to` (broadcasts
    to), `within` (no size larger) the argument `of`, but with another size along argument `dim`: `size` if that is a
    letter (with `many`: other sizes in each). `index` names the argument whose dim the values are places of ("" for
    places of the flattened tensor, None for other values); `kind` is one of KINDS, where distinct and index go
    together for places that differ. One that is `given` is never left out, one that is `packed`
    is contiguous. `parts` are the tensors of a list that has as many.
    """

    relation: str
    dims: tuple[str, ...] = ()
    of: str = ""
    dim: str = ""
    size: str = ""
    many: bool = False
    kind: str = ""
    index: str | None = None
    dtypes: tuple[str, ...] = ()
    given: bool = False
    packed: bool = False
    parts: tuple[TensorFact, ...] = ()


@dataclass(frozen=True)
class NumberFact:
    """Values of an argument that is no tensor: `choices`, or whole numbers from `low` to `high` (numbers, letters of
    sizes, or `size(ARGUMENT)`), or by the `rule` of a dim, of distinct dims, or of a shape."""

    choices: tuple[Any, ...] = ()
    low: str = ""
    high: str = ""
    rule: str = ""


Fact = TensorFact | NumberFact
Form = Mapping[str, Fact]


@functools.cache
def load() -> Mapping[str, tuple[Form, ...]]:
    """Operator -> its forms, each argument -> fact, over all files. Raises SampleError."""
    found: dict[str, tuple[Form, ...]] = {}
    folder = files("gaugeblock_spec").joinpath("samples")
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if not entry.name.endswith(".yaml"):
            continue
        for operator, stated in (yaml.load(entry.read_bytes(), Loader=_LOADER) or {}).items():
            if operator in found:
                raise SampleError(f"{entry.name}, {operator}: stands twice")
            forms = stated if isinstance(stated, list) else [stated or {}]
            if not forms or not all(isinstance(texts, dict) for texts in forms):
                raise SampleError(f"{entry.name}, {operator}: {stated!r} is neither a form nor a list of forms")
            found[operator] = tuple(_form(texts, f"{entry.name}, {operator}") for texts in forms)
    return MappingProxyType(found)


def _form(texts: Mapping[str, Any], where: str) -> Form:
    facts = {}
    for argument, text in texts.items():
        try:
            facts[argument] = parse(text)
        except SampleError as error:
            raise SampleError(f"{where}, {argument}: {error}") from None
    return MappingProxyType(facts)


def parse(text: Any) -> Fact:
    """The fact that a text (or a list of choices) states. Raises SampleError."""
    if isinstance(text, list):
        return NumberFact(choices=tuple(tuple(v) if isinstance(v, list) else v for v in text))
    if not isinstance(text, str):
        raise SampleError(f"{text!r} is neither a text nor a list of values")
    if text in NUMBER_RULES:
        return NumberFact(rule=text)
    match = _RANGE.fullmatch(text)
    if match is not None:
        return NumberFact(low=match.group(1), high=match.group(2))
    shape, _, values = (part.strip() for part in text.partition("|"))
    if ";" in shape:
        parts = tuple(_with_values(_with_shape(part.strip(), False), values.split()) for part in shape.split(";"))
        return replace(parts[0], parts=parts)
    if shape.startswith("one "):
        part = _with_values(_with_shape(shape.removeprefix("one "), False), values.split())
        return replace(part, parts=(part,))
    many = shape.startswith("many")
    return _with_values(_with_shape(shape.removeprefix("many").strip(), many), values.split())


def _with_shape(shape: str, many: bool) -> TensorFact:
    shape, varying, varied = shape.partition(" but ") if many else (shape, "", "")
    match = _RELATED.fullmatch(shape)
    if varying:
        return replace(_with_shape(shape, many), dim=varied)
    if match is not None:
        relation, of, dim, size = match.groups(default="")
        return TensorFact(relation, of=of, dim=dim, size=size, many=many)
    dims = tuple(shape.split())
    if not all(_DIM.fullmatch(word) for word in dims):
        allowed = "letters, numbers [?] and * as dims, or: like, to or within ARGUMENT [but DIM[=letter]]"
        raise SampleError(f"sizes {shape!r}; allowed: {allowed}")
    return TensorFact("free", dims, many=many)


def _with_values(fact: TensorFact, words: list[str]) -> TensorFact:
    kind, index, dtypes = "", None, list[str]()
    given, packed = "given" in words, "packed" in words
    classes = dtype_classes()
    while words:
        word = words.pop(0)
        if word == "index":
            index = words.pop(0) if words and words[0] not in (*KINDS, *classes) else ""
        elif word in KINDS:
            kind = word
        elif word in classes:
            dtypes += classes[word]
        elif word not in ("given", "packed"):
            raise SampleError(f"values {word!r}; allowed: index [DIM], {', '.join(KINDS)}, or dtypes")
    return replace(fact, kind=kind, index=index, dtypes=tuple(dict.fromkeys(dtypes)), given=given, packed=packed)

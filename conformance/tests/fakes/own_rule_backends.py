"""The reference as a library that documents some things otherwise, each class with the row that says so or without."""

from __future__ import annotations

from typing import Any

from gaugeblock_conformance.backends.reference import ReferenceBackend
from gaugeblock_conformance.own_rules import OwnRule

PAGE = "https://own.example/docs/argmax.html"


class NoPlace(Exception):
    """The fake library's class for places that there are not."""


class Plain(ReferenceBackend):
    """Gives places as int32, raises NoPlace for IndexError, takes sizes that do not broadcast, and counts calls."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.called: list[str] = []

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        self.called.append(operator)
        if operator == "add.Tensor" and _sizes_clash(args[0], args[1]):
            return args[0]
        try:
            result = super().call(operator, *args, **kwargs)
        except IndexError as error:
            raise NoPlace("there is no such place") from error
        if operator in ("argmax", "argmin"):
            return result.to(self.module.int32)
        if operator in ("max.dim", "min.dim"):
            return (result[0], result[1].to(self.module.int32))
        return result


def _sizes_clash(x: Any, y: Any) -> bool:
    pairs = zip(reversed(tuple(x.shape)), reversed(tuple(y.shape)), strict=False)
    return any(m != n and 1 not in (m, n) for m, n in pairs)


PLACES = OwnRule(
    "dtypes", ("argmax", "argmin", "max.dim[1]", "min.dim[1]"), {"int64": "int32"},
    sentence="Places are of dtype int32.", source=PAGE,
)  # fmt: skip
CLASSES = OwnRule("exceptions", ("*",), {IndexError: NoPlace}, sentence="Raises NoPlace.", source=PAGE)
TEXTS = OwnRule("texts", ("*",), sentence="Texts of errors may change at any time.", source=PAGE)
BROADCASTING = OwnRule(
    "refusals", ("add",), (RuntimeError,), sentence="Sizes that do not broadcast are undefined.", source=PAGE
)


class Ruled(Plain):
    rules = (PLACES, CLASSES, TEXTS, BROADCASTING)


class NoSentence(Plain):
    rules = (OwnRule("texts", ("*",), sentence=" ", source=PAGE),)


class NoSuchOperator(Plain):
    rules = (OwnRule("texts", ("argmx",), sentence="Texts may change.", source=PAGE),)

"""Keys under which failures of one cause are grouped: what went wrong, without what was drawn.

Two failures have one cause if the same operator went wrong in the same way, whatever its sizes, numbers, overload and
index were. An exception whose text names something in the code has that text for its cause, whichever operator was
called: ``expand`` and ``t`` that both raise "as_strided: storage_offset is required" show one bug. A text that speaks
of operands alone, such as "sizes do not match", may come from anywhere, and is kept apart for each operator.
"""

from __future__ import annotations

import re
from functools import cache

from gaugeblock_spec import operators

from .problem import first_line

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\d*\.\d+)j?(?![\w.]*\w)")
_DTYPE = re.compile(r"\b(u?int|b?float|complex)\d+\b")
_SCALAR_TYPE = re.compile(
    r"'(?:Bool|Byte|Char|Short|Int|Long|UInt\d+|Half|Float|Double|BFloat16|Complex(?:Half|Float|Double))'"
)
_VARIABLE = re.compile(r"\b[rxy]\d+\b")
_PLACE = re.compile(r" at [\[(][^\[\]()]*[\])](?=$|[:,; ])")
_NUMBERS = re.compile(r"(?<!\w)[\[(](?:N(?:, N)*,?)?[\])]|(?<=\w)(?<=\()N(?:, N)+")
_NAME = re.compile(r"(?<![\w.])(?:\w+:)?([A-Za-z_]\w*)\.([A-Za-z_]\w*)")
_CODE = re.compile(
    r"""
    (?<![\w.]) (?: \w*[a-z0-9]_[a-z]\w* | _[a-z]\w+ )       # a_name or _name, and not one in torch.a_name
    | \b \w+ \(\)                                           # name()
    | \b [A-Za-z]\w* :: \w+                                 # space::name
    | \b [a-z]+ [A-Z] [A-Za-z]\w*                           # camelCase
    | (?<![\w'"]) [a-z]\w* = (?! = )                        # name=value
    """,
    re.VERBOSE,
)
_SPEAKER = re.compile(r"(\w+)(?:\(\))?(?=: )")
_OF_THE_SUITE = re.compile(r"wrong [\w ]+ of x\b")


def of_failure(told: str, operator: str = "") -> str:
    """Return the key of a failure that is ``told``; ``operator`` was called last.

    >>> of_failure("wrong value of eq.Scalar's result at (0, 3)")
    "wrong value of eq's result"
    >>> of_failure("wrong value of x2 at (1,)", "mm.out")
    'wrong value of x, after mm.out'
    """
    key = _without_what_was_drawn(_PLACE.sub("", told))
    # Of a tensor that the suite made, the operator that wrote it says more than the tensor.
    return f"{key}, after {family(operator)}" if operator and _OF_THE_SUITE.match(key) else key


def of_exception(operator: str, error: BaseException) -> str:
    """Return the key of an exception that a call of ``operator`` raised.

    >>> of_exception("expand", RuntimeError("as_strided: storage_offset is required"))
    'RuntimeError: as_strided: storage_offset is required'
    >>> of_exception("isin.Tensor_Tensor", RuntimeError("sizes (2, 3) and 4 do not match"))
    'isin raises RuntimeError: sizes N and N do not match'
    >>> of_exception("unflatten.int", RuntimeError("view: input tensor must be contiguous"))
    'RuntimeError: view: input tensor must be contiguous'
    """
    kind, text = type(error).__name__, first_line(error)
    said = f"{kind}: {_without_what_was_drawn(text)}" if text else kind
    speaker = _SPEAKER.match(text)
    named = _CODE.search(text) or (speaker is not None and speaker[1].rstrip("_") in _families())
    return said if named else f"{family(operator)} raises {said}"


def of_refusal(operator: str, error: BaseException | None, told: str) -> str:
    """Return the key of an exception, or of none, where a call of ``operator`` must raise another one: that of what is
    ``told``, unless another function says that it failed.

    >>> of_refusal("expand", RuntimeError("as_strided: storage_offset is required"), "expand raised RuntimeError")
    'RuntimeError: as_strided: storage_offset is required'
    >>> of_refusal("take", ValueError("take(): index 7 is too large"), "take raised ValueError instead of IndexError")
    'take raised ValueError instead of IndexError'
    """
    speaker = _SPEAKER.match("" if error is None else first_line(error))
    if error is None or speaker is None or speaker[1].strip("_") in operator or not _CODE.search(speaker[0]):
        return of_failure(told, operator)
    return of_exception(operator, error)


def family(operator: str) -> str:
    """Return an operator's name without its overload and the form that was called, but for ``out``.

    >>> [family(name) for name in ("eq.Tensor", "method:sum.dim_IntList", "mm.out", "sort.values_stable", "neg")]
    ['eq', 'sum', 'mm.out', 'sort', 'neg']
    """
    base, _, overload = operator.rpartition(":")[2].partition(".")
    return f"{base}.out" if overload.rpartition("_")[2] == "out" else base


def _without_what_was_drawn(text: str) -> str:
    """Return ``text`` with one letter for numbers and lists of them, however long, and operators without overloads."""
    text = _NAME.sub(lambda found: family(found[0]) if found[1].rstrip("_") in _families() else found[0], text)
    text = _DTYPE.sub(r"\1N", _NUMBER.sub("N", _VARIABLE.sub("x", _SCALAR_TYPE.sub("'DTYPE'", text))))
    while (shorter := _NUMBERS.sub("N", text)) != text:
        text = shorter
    return text


@cache
def _families() -> frozenset[str]:
    """The names of operators without overloads and without the underscore of the in-place form."""
    return frozenset(family(name).rstrip("_") for name in operators.load())

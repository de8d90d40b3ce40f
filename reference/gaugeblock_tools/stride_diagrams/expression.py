"""Evaluates an expression of tensors without `eval`: only what `vocabulary` lists is reached, sizes are bounded.

Every tensor on the way to the last one is kept as a step: what a call or an index was applied to, or, for a function,
its first argument.
"""

from __future__ import annotations

import ast
import difflib
import math
import operator
import warnings
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from gaugeblock.tensor.tensor import Tensor

from ..problem import PictureProblem
from . import vocabulary
from .bounded_memory import bounded_memory
from .placement import Placement, placement

CHARACTERS = 1000
NUMBER = 1 << 16
ELEMENTS = 1 << 16
ALLOWED = "calls of operators and of tensor methods, indexing, arithmetic, dtypes and literals"

BINARY: dict[type[ast.AST], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
}
UNARY: dict[type[ast.AST], Callable[[Any], Any]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
}  # fmt: skip

REFUSALS = (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError)


class Step(NamedTuple):
    """The text that was added to the expression, the tensor it came to, and where that was found to lie."""

    text: str
    tensor: Tensor
    placement: Placement


def steps(text: str) -> list[Step]:
    """The tensors that `text` goes through, the last one last.

    Raises PictureProblem for text that is no expression, uses anything but the vocabulary, wants more memory or
    elements than allowed, is refused by the engine, or does not come to a tensor.
    """
    shown = " ".join(text.split())
    if len(shown) > CHARACTERS:
        raise PictureProblem(f"the expression has {len(shown):,} characters; allowed: {CHARACTERS:,}")
    try:
        tree = ast.parse(shown, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else "nested too deeply or not text"
        raise PictureProblem(f"not an expression: {reason}") from None
    with bounded_memory(), warnings.catch_warnings(action="ignore"):
        evaluation = _Evaluation(shown)
        try:
            result, chain, _ = evaluation.chain(tree)
        except RecursionError:
            raise PictureProblem("nested too deeply") from None
    if not isinstance(result, Tensor):
        raise PictureProblem(f"the expression comes to {_kind(result)}; allowed: one tensor")
    return chain


class _Evaluation:
    def __init__(self, text: str) -> None:
        self.lines = text.encode()

    def chain(self, node: ast.expr) -> tuple[Any, list[Step], int]:
        """The value of `node`, the steps to it, and where in the text that begins which the next step adds."""
        if isinstance(node, ast.Call):
            value, before, begin = self._call(node)
        elif isinstance(node, ast.Subscript):
            owner, before, begin = self.chain(node.value)
            value = self._index(node, owner)
        elif isinstance(node, ast.Attribute) and not _is_module(node.value):
            owner, before, begin = self.chain(node.value)
            value = self._property(node, owner)
        else:
            value, before, begin = self._plain(node), [], node.col_offset
        if not isinstance(value, Tensor):
            return value, before, begin
        end = node.end_col_offset or begin
        label = self.lines[begin if before else node.col_offset : end].decode()
        return value, [*before, Step(label.lstrip(") "), value, placement(value))], end

    def value(self, node: ast.expr) -> Any:
        return self.chain(node)[0]

    def _plain(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            return self._constant(node)
        if isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and _is_module(node.value)):
            name = node.id if isinstance(node, ast.Name) else node.attr
            return vocabulary.values()[_known("name", name, vocabulary.values())]
        if isinstance(node, ast.Tuple | ast.List):
            items = [self.value(item) for item in node.elts]
            return tuple(items) if isinstance(node, ast.Tuple) else items
        if isinstance(node, ast.UnaryOp) and type(node.op) in UNARY:
            operand = _operand(self.value(node.operand))
            return self._checked(node, UNARY[type(node.op)], operand)
        if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
            return self._binary(node, node.left, node.op, node.right)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in BINARY:
            return self._binary(node, node.left, node.ops[0], node.comparators[0])
        raise PictureProblem(f"{self._source(node)!r} is {_form(node)}; allowed: {ALLOWED}")

    def _binary(self, node: ast.expr, left: ast.expr, sign: ast.AST, right: ast.expr) -> Any:
        operands = _operand(self.value(left)), _operand(self.value(right))
        return self._checked(node, BINARY[type(sign)][1], *operands)

    def _constant(self, node: ast.Constant) -> Any:
        value = node.value
        if isinstance(value, bool | float | complex) or value is None or value is Ellipsis:
            return value
        if isinstance(value, int):
            return _number(value)
        raise PictureProblem(f"{self._source(node)!r} is {_kind(value)}; allowed: numbers, True, False, None and ...")

    def _call(self, node: ast.Call) -> tuple[Any, list[Step], int]:
        before: list[Step] = []
        begin = node.col_offset
        function = node.func
        arguments = list(node.args)
        if isinstance(function, ast.Name) or (isinstance(function, ast.Attribute) and _is_module(function.value)):
            name = _known("function", _name(function), vocabulary.functions())
            import gaugeblock

            callee: Callable[..., Any] = getattr(gaugeblock, name)
            given: list[Any] = []
            if arguments:
                first, before, _ = self.chain(arguments.pop(0))
                given = [first]
        elif isinstance(function, ast.Attribute):
            owner, before, begin = self.chain(function.value)
            if not isinstance(owner, Tensor):
                raise PictureProblem(f"{self._source(function.value)!r} is {_kind(owner)}; only tensors have methods")
            callee = getattr(owner, _known("tensor method", function.attr, vocabulary.methods()))
            given = []
        else:
            raise PictureProblem(f"{self._source(function)!r} is called; allowed: {ALLOWED}")
        given += [self.value(argument) for argument in arguments]
        named = {self._keyword(keyword): self._named(keyword) for keyword in node.keywords}
        return self._checked(node, callee, *given, **named), before, begin

    def _keyword(self, keyword: ast.keyword) -> str:
        if keyword.arg is None:
            raise PictureProblem("'**' in a call; allowed: arguments one by one")
        if keyword.arg in ("device", "generator", "out", "pin_memory") or keyword.arg.startswith("_"):
            raise PictureProblem(f"argument {keyword.arg!r}; tensors are drawn in plain host memory, without it")
        return keyword.arg

    def _named(self, keyword: ast.keyword) -> Any:
        word = keyword.value
        if keyword.arg == "indexing" and isinstance(word, ast.Constant) and word.value in ("ij", "xy"):
            return word.value
        return self.value(word)

    def _property(self, node: ast.Attribute, owner: Any) -> Any:
        if not isinstance(owner, Tensor):
            raise PictureProblem(f"{self._source(node.value)!r} is {_kind(owner)}; only tensors have properties")
        name = _known("tensor property", node.attr, vocabulary.PROPERTIES)
        return self._checked(node, getattr, owner, name)

    def _index(self, node: ast.Subscript, owner: Any) -> Any:
        index = self._place(node.slice)
        if isinstance(owner, list | tuple) and not isinstance(index, int):
            raise PictureProblem(f"{self._source(node.slice)!r} as the index of {_kind(owner)}; allowed: an integer")
        if not isinstance(owner, Tensor | list | tuple):
            raise PictureProblem(f"{self._source(node.value)!r} is {_kind(owner)}; only tensors are indexed")
        return self._checked(node, operator.getitem, owner, index)

    def _place(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Slice):
            return slice(*(None if part is None else self.value(part) for part in (node.lower, node.upper, node.step)))
        if isinstance(node, ast.Tuple):
            return tuple(self._place(item) for item in node.elts)
        return self.value(node)

    def _checked(self, node: ast.expr, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """Return what `function` gives, if the engine takes the arguments and the result is small enough."""
        try:
            value = function(*given, **named)
        except PictureProblem as problem:
            raise PictureProblem(f"{self._source(node)}: {problem}") from None
        except REFUSALS as error:
            said = " ".join(str(error).split())
            raise PictureProblem(f"{self._source(node)}: {type(error).__name__}: {said}") from None
        for one in value if isinstance(value, list | tuple) else (value,):
            self._bounded(node, one)
        return value

    def _bounded(self, node: ast.expr, value: Any) -> None:
        if isinstance(value, int):
            _number(value)
        if isinstance(value, Tensor):
            if value.device.type != "cpu":
                raise PictureProblem(f"{self._source(node)}: a tensor on {value.device}; allowed: host memory")
            elements = math.prod(value.shape)
            if elements > ELEMENTS:
                raise PictureProblem(f"{self._source(node)}: {elements:,} elements; allowed: {ELEMENTS:,}")

    def _source(self, node: ast.expr) -> str:
        return self.lines[node.col_offset : node.end_col_offset].decode()


def _is_module(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in vocabulary.MODULES


def _name(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def _known(kind: str, name: str, known: Collection[str]) -> str:
    if name in known:
        return name
    near = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.7)
    hint = f"; did you mean {' or '.join(near)}?" if near else f"; allowed: {ALLOWED}"
    raise PictureProblem(f"{kind} {name!r} is not one that can be used here{hint}")


def _operand(value: Any) -> Any:
    if isinstance(value, Tensor | bool | int | float | complex):
        return value
    raise PictureProblem(f"arithmetic with {_kind(value)}; allowed: tensors and numbers")


def _number(value: int) -> int:
    if abs(value) > NUMBER:
        found = f"{value:,}" if value.bit_length() < 100 else f"an integer of {value.bit_length()} bits"
        raise PictureProblem(f"{found}; allowed: integers from -{NUMBER:,} to {NUMBER:,}")
    return value


def _kind(value: object) -> str:
    names = {list: "a list", tuple: "a tuple", str: "text", bytes: "bytes", type(None): "None", int: "a number"}
    return names.get(type(value), f"of type {type(value).__name__}")


def _form(node: ast.AST) -> str:
    names = {
        ast.Lambda: "a lambda", ast.JoinedStr: "formatted text", ast.Starred: "an unpacking", ast.Dict: "a dict",
        ast.BinOp: "arithmetic of another kind", ast.Compare: "a comparison of another kind",
    }  # type: dict[type[ast.AST], str]  # fmt: skip
    return names.get(type(node), f"not a form that can be used here ({type(node).__name__})")

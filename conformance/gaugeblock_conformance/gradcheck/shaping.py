"""What is done to operands before and to results after an operator, in operators of the backend."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Call = Callable[..., Any]
Arguments = Mapping[str, Any]


def _adjoint(call: Call, x: Any) -> Any:
    return call("conj", call("transpose.int", x, -2, -1))


def _symmetric(call: Call, x: Any, arguments: Arguments) -> Any:
    """Half the sum of a matrix and its adjoint."""
    return call("mul.Scalar", call("add.Tensor", x, _adjoint(call, x)), 0.5)


def _definite(call: Call, x: Any, arguments: Arguments) -> Any:
    """A Hermitian matrix with eigenvalues above those of the identity."""
    square = call("matmul", x, _adjoint(call, x))
    return call("add.Tensor", square, call("detach", call("diag_embed", _ones(call, square))))


def _ones(call: Call, x: Any) -> Any:
    return call("ones_like", call("diagonal", x, 0, -2, -1))


def _all(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, list | tuple) else (result,)


def _triangle(call: Call, x: Any, arguments: Arguments) -> Any:
    """The upper or lower triangle, as the argument ``upper`` says, with a positive diagonal."""
    triangle = call("triu", x, 1) if arguments.get("upper") else call("tril", x, -1)
    return call("add.Tensor", triangle, call("diag_embed", call("abs", call("diagonal", x, 0, -2, -1))))


def _hermitian(call: Call, x: Any, arguments: Arguments) -> Any:
    """Half the sum with the adjoint, if the argument ``hermitian`` says that the operator takes it for that."""
    return _symmetric(call, x, arguments) if arguments.get("hermitian") else x


PREPARE: dict[str, Callable[[Call, Any, Arguments], Any]] = {
    "symmetric": _symmetric,
    "definite": _definite,
    "triangle": _triangle,
    "hermitian": _hermitian,
    "normalized": lambda call, x, arguments: call("log_softmax.int", x, -1),
}
"""Of an operand, given all arguments of the call."""

FINISH: dict[str, Callable[[Call, Any], Any]] = {
    "first": lambda call, result: _all(result)[0],
    "last": lambda call, result: _all(result)[-1],
    "absolute": lambda call, result: tuple(call("abs", r) for r in _all(result)),
}

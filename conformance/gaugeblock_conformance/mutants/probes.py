"""Calls over a pool of tensors and arguments, to see whether two backends behave alike."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from gaugeblock_spec import operators

from ..backend import Backend, DType
from ..case import TensorCase, default_strides
from .mutant import OBSERVERS, Mutant, MutantBackend

Arguments = tuple[list[Any], dict[str, Any]]
Maker = Callable[[Backend], Arguments]


def _case(
    dtype: str, sizes: tuple[int, ...], strides: tuple[int, ...] | None = None, offset: int = 0, **rest: Any
) -> TensorCase:
    strides = default_strides(sizes) if strides is None else strides
    reach = 0 if 0 in sizes else 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    return TensorCase(dtype, sizes, strides, offset, offset + reach + (2 if offset else 0), **rest)


FIRST = (
    _case("float32", (2, 3), seed=5),
    _case("int32", (2, 3), seed=9),
    _case("bool", (3,), seed=4),
    _case("float32", (), kind="finite", seed=3),
    _case("int64", (), kind="small", seed=3),
    _case("uint8", (4,), seed=8),
    _case("float64", (9,), seed=0),
    _case("float16", (40,), seed=3),
    _case("bfloat16", (40,), seed=3),
    _case("complex64", (3, 2), seed=0),
    _case("int8", (20,), seed=7),
    _case("int64", (17,), kind="small", seed=7),
    _case("float32", (4, 3), (2, 8), 3, seed=2),
    _case("float32", (3, 5), (12, 2), 3, seed=2),
    _case("int64", (2, 4), (1, 3), 2, seed=2),
    _case("float32", (1, 3), (7, 1), 0, seed=2),
    _case("float32", (2, 3, 4), (1, 8, 2), 0, seed=2),
    _case("float32", (3, 2), (1, 0), 1, seed=2),
    _case("float32", (0,)),
    _case("float32", (2, 0, 3)),
    _case("float32", (1,), seed=2),
    _case("float32", (2, 2, 2, 2), (8, 1, 4, 2), 0, seed=2),
    _case("int64", (2, 1, 3), kind="distinct"),
    _case("float32", (65,), kind="finite", seed=1),
    _case("int64", (200,), kind="small", seed=1),
    _case("float32", (2049,), kind="positive", seed=1),
    _case("float32", (40000,), kind="unit", seed=1),
)
SECOND = (FIRST[0], FIRST[1], FIRST[3], FIRST[4], FIRST[6], FIRST[7], _case("int8", (20,), kind="small", seed=2),
          _case("uint8", (20,), seed=6), _case("bfloat16", (40,), seed=8), _case("int64", (2,), kind="small", seed=2),
          _case("bool", (2, 3), seed=3), _case("bool", (3,), seed=1), _case("float32", (2, 1), seed=6),
          FIRST[23], FIRST[25], FIRST[26])  # fmt: skip
PLAIN: tuple[tuple[Any, ...], ...] = (
    (), (0,), (1,), (-1,), (-2,), (2,), (1.5,), (-300,), ((0,),), ([0, 0],), ((),), (0, 1), (1, 0), (1, 2), (0, 2),
    (0, 1, 2), (1, 1, 1), (0, 2, 1), (0, 1, 3, 2), (1, 0, 4, 2), ((3, 2),), ((6,),), ((2, 2, 3),), ((1, 2, 3),),
    ((2, 3, 1),), ((1, 2, 0),), ((2, 0, 1),), ((5, 3),), ((4,),), (None,), ((Ellipsis, 0),), ((1, 1),), ((3,), (1,)),
    ((2,), (1,)), ((9, 9), (9, 1)), (DType("float32"),), (DType("int64"),), (DType("bool"),), (DType("bfloat16"),),
    (DType("float16"),), (DType("int16"),), (-1, 1), (1, 0.5), (-5, 5), (5, -5), (40,),
)  # fmt: skip
_WITH_KEYWORDS = ((), (0,), (2,), (DType("float32"),))
KEYWORDS: tuple[dict[str, Any], ...] = (
    {}, {"alpha": 2}, {"alpha": 0.5}, {"keepdim": True}, {"rounding_mode": "floor"}, {"rounding_mode": "trunc"},
    {"copy": True}, {"offset": 1}, {"correction": 1},
)  # fmt: skip
_NAN, _INF = float("nan"), float("inf")


def _row(dtype: str, *values: Any) -> TensorCase:
    return TensorCase(dtype, (len(values),), (1,), literal=values)


_LEFT, _RIGHT = _row("float32", _NAN, 1.0, -0.0, 2.0), _row("float32", 2.0, _NAN, 0.0, 3.0)
_HALVES, _DOUBLES = _row("float16", 2048.0, 1.0, 1.0, 1.0), _row("float64", 1 + 2**-11 + 2**-40)

# Arguments that bring out what the pool does not, by base name.
LITERAL: dict[str, tuple[tuple[list[Any], dict[str, Any]], ...]] = {
    "where": (([_row("bool", True, False), _row("float32", 1.0, 2.0), _row("float32", 3.0, 4.0)], {}),),
    "index_put_": (([_row("int64", 0, 0), [_row("int64", 1, 1)], _row("int64", 2, 3), True], {}),),
    **{name: (([_LEFT, _RIGHT], {}),) for name in ("maximum", "minimum", "fmax", "eq")},
    **{name: (([_LEFT], {}), ([_row("float32", 0.0, _NAN)], {})) for name in ("amax", "any", "argmax", "sort")},
    "clamp": (([_LEFT, 0.0, 1.0], {}),),
    "cat": (([[_row("int32", 1), _row("float32", 2.0)]], {}), ([[_row("int32", 1)]], {})),
    "promote_types": (([DType("int8"), DType("int16")], {}),),
    "can_cast": (([DType("float32"), DType("int32")], {}),),
    "sum": (
        ([_HALVES], {}),
        ([_row("int64", 2**53, 1)], {}),
        ([_row("float32", -0.0, -0.0)], {}),
        ([_row("float32", 0.75, 0.75)], {"dtype": DType("int64")}),
    ),
    "cumsum": (([_case("int64", (2, 17), kind="small", seed=1), 0], {}),),
    "item": (([_row("bool", True)], {}),),
    "__bool__": (([_row("float32", _NAN)], {}),),
    "__setitem__": (([_row("int64", 1, 2), 0, 1.75], {}),),
    "mm": (([_case("float32", (2, 0)), _case("float32", (0, 3))], {}),),
    "to": (([_DOUBLES, DType("float16")], {}),),
    "__getitem__": (
        ([_LEFT, _row("int64", 1, 2)], {}),
        ([_LEFT, _row("bool", *[True] * 4)], {}),
        ([_LEFT, True], {}),
    ),
    "pow": (([_row("int64", 3), 37], {}),),
    "amin": (([_case("int64", (40,), kind="distinct")], {}), ([_case("int64", (40,), seed=3)], {})),
    "squeeze": (([_case("float32", (1, 1, 3)), 0], {}),),
    "exp": (([FIRST[26]], {}),),
    "add": (
        ([_row("int8", 1), _row("uint8", 2)], {}),
        ([_row("float16", 1.0), _row("bfloat16", 2.0)], {}),
        ([_row("bool", True), _row("bool", True)], {}),
        ([FIRST[12], FIRST[12]], {"out": FIRST[12]}),
        ([FIRST[0], FIRST[0]], {"out": _case("float32", (0,))}),
        ([FIRST[0], _case("float32", (0,))], {}),
        ([FIRST[24], _row("int64", 1)], {}),
    ),
    "sub": (([_row("float32", _INF), _row("float32", _INF)], {}), ([_row("bool", True), _row("bool", True)], {})),
    **{name: (([(2, 0, 3)], {}), ([(2, 3)], {})) for name in ("zeros", "ones")},
    **{name: (([_row("int32", -7, 7), _row("int32", 2, -2)], {"rounding_mode": "trunc"} if name == "div" else {}),)
       for name in ("floor_divide", "remainder", "fmod", "div")},
    "view": (([_case("float32", (3,), (1,), 3), DType("int16")], {}),),
}


def _overlapping(b: Backend) -> Arguments:
    x = b.from_numpy(np.arange(5, dtype=np.int64))
    return [b.call("slice.Tensor", x, 0, 1, 5), b.call("slice.Tensor", x, 0, 0, 4)], {}


def _view(b: Backend) -> Arguments:
    return [b.call("t", b.from_numpy(np.zeros((2, 3), np.float32)))], {}


def _odd_bool(b: Backend) -> Arguments:
    return [b.call("view.dtype", b.from_numpy(np.array([2, 0, 1], np.uint8)), DType("bool")), DType("int32")], {}


MADE: dict[str, tuple[Maker, ...]] = {"copy_": (_overlapping,), "_base": (_view,), "to": (_odd_bool,)}


def _base_of_a_view_of_a_view(b: Any) -> bool:
    x = b.from_numpy(np.zeros((2, 3), np.float32))
    return b.call("_base", b.call("t", b.call("t", x))) is x


def _version_behind_detach(b: Any) -> int:
    x = b.from_numpy(np.zeros(2, np.float32))
    b.call("neg_", b.call("detach", x))
    return int(b.version_of(x))


# What only several calls bring out, by operator: an answer that right backends give alike.
STORIES: dict[str, Callable[[Any], Any]] = {"_base": _base_of_a_view_of_a_view, "detach": _version_behind_detach}


def build(b: Backend, case: TensorCase) -> Any:
    if case.plain:
        return b.from_numpy(case.contents.reshape(case.sizes))
    return b.call("as_strided", b.from_numpy(case.contents), case.sizes, case.strides, case.offset)


def names(mutant: Mutant) -> Iterator[str]:
    """The operators that a mutant patches, with all their overloads."""
    known = {n for row in operators.load().values() for n in (row.name, row.inplace_name, row.out_name) if n}
    for name in mutant.operators:
        yield name
        yield from sorted(n for n in known if n.split(".")[0] == name)


def probes(mutant: Mutant) -> Iterator[tuple[str, Maker]]:
    """Calls of the mutant's operators: with arguments made for them first, then with all of the pool."""
    operators_of = [name for name in dict.fromkeys(names(mutant)) if name != "set_num_threads"]
    for operator in operators_of:
        for arguments in LITERAL.get(operator.split(".")[0], ()):
            yield operator, _maker(*arguments)
        for maker in MADE.get(operator, ()):
            yield operator, maker
    for start in range(0, len(operators_of), 4):
        for maker in _pool():
            for operator in operators_of[start : start + 4]:
                yield operator, maker


def differs(mutant: Mutant, right: Backend) -> bool:
    """Return whether any probe tells the mutant from ``right``."""
    broken = MutantBackend(right, mutant)
    if "set_num_threads" in mutant.operators:
        broken.call("set_num_threads", 2)
    told = [STORIES[operator] for operator in mutant.operators if operator in STORIES]
    return any(story(broken) != story(right) for story in told) or any(
        behaviour(broken, right, operator, maker) != behaviour(right, right, operator, maker)
        for operator, maker in probes(mutant)
    )


@cache
def _pool() -> tuple[Maker, ...]:
    """All combinations, in an order that brings different ones early."""
    made = list(_combinations())
    random.Random(0).shuffle(made)
    return tuple(made)


def _combinations() -> Iterator[Maker]:
    for case in FIRST:
        for rest, given in itertools.product(PLAIN, KEYWORDS):
            if not given or rest in _WITH_KEYWORDS:
                yield _maker([case, *rest], given)
        for second in SECOND:
            yield _maker([case, second], {})
        for second, given in itertools.product(SECOND[:8] if len(case.sizes) < 2 else (), KEYWORDS[1:6]):
            yield _maker([case, second], given)
        yield _maker([[case, case]], {})
        yield _maker([[case]], {})
        for index in (SECOND[9], SECOND[10], SECOND[11]):
            yield _maker([case, [index]], {})
            yield _maker([index, case, case], {})


def _maker(args: list[Any], kwargs: dict[str, Any]) -> Maker:
    def resolve(b: Backend, value: Any) -> Any:
        if isinstance(value, TensorCase):
            return build(b, value)
        return [resolve(b, v) for v in value] if type(value) is list else value

    return lambda b: ([resolve(b, a) for a in args], {k: resolve(b, v) for k, v in kwargs.items()})


def behaviour(b: Any, right: Backend, operator: str, maker: Maker) -> Any:
    """All that can be seen of one call: the result, or the class of the exception, and what became of the arguments."""
    args, kwargs = maker(right)
    tensor_class = type(right.from_numpy(np.zeros(1, np.float32)))
    given = [a for a in (*args, *kwargs.values()) if isinstance(a, tensor_class)]
    seen: Any
    try:
        result = getattr(b, operator)(*args) if operator in OBSERVERS else b.call(operator, *args, **kwargs)
        seen = _describe(right, result, given, tensor_class) if operator != "data_ptr" else result % 64
        if operator == "_base":
            seen = (seen, result is b.call(operator, *args))
    except Exception as error:
        seen = type(error).__name__
    return seen, [_describe(right, a, given, tensor_class) for a in given]


def _describe(b: Any, value: Any, given: list[Any], tensor_class: type) -> Any:
    if isinstance(value, list | tuple):
        return [_describe(b, v, given, tensor_class) for v in value]
    if not isinstance(value, tensor_class):
        return repr(value)
    whose = [b.storage_id(value) == b.storage_id(g) for g in given]
    room = b.storage_nbytes(value) // b.to_numpy(value).itemsize
    content = np.array(b.to_numpy(b.call("as_strided", value, (room,), (1,), 0))).tobytes()
    version = b.version_of(value) if "version" in b.capabilities else 0
    same = [value is g for g in given]
    record = (b.dtype(value), b.shape(value), b.strides(value), b.storage_offset(value), b.storage_nbytes(value))
    return (*record, content, version, whose, same)

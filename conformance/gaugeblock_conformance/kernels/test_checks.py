"""What a kernel checks before it writes, and what its messages say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..backend import DType
from ..failure import NoReproducer
from ..forall import forall
from ..requirement import requirement
from ..session import Session

_UNTOLD = NoReproducer("the adapter watches the allocator during the call")

Call = Callable[[Session], tuple[Any, ...]]


def _ones(s: Session, *sizes: int, dtype: str = "float32") -> Any:
    return s.tensor(np.ones(sizes), dtype)


@requirement("kernels/shape-errors-say-what-was-given")
@forall(a=hs.integers(2, 40), b=hs.integers(2, 40), extra=hs.integers(1, 9))
def test_sizes_in_messages(s: Session, a: int, b: int, extra: int) -> None:
    b = b + extra if a == b else b
    both = rf"(?s)(\b{a}\b.*\b{b}\b|\b{b}\b.*\b{a}\b)"
    s.expect_raises(RuntimeError, "add.Tensor", _ones(s, a), _ones(s, b), match=both)
    s.expect_raises(RuntimeError, "cat", [_ones(s, 2, a), _ones(s, 2, b)], 0, match=both)
    s.expect_raises(RuntimeError, "stack", [_ones(s, a), _ones(s, b)], match=both)
    if "matmul" in s.capabilities:
        s.expect_raises(RuntimeError, "mm", _ones(s, 1, a), _ones(s, b, 1), match=rf"{a}\D+{b}")
        s.expect_raises(RuntimeError, "matmul", _ones(s, a), _ones(s, b), match=both)
    if "views" in s.capabilities:
        s.expect_raises(RuntimeError, "expand", _ones(s, a), (b,), match=both)
        s.expect_raises(RuntimeError, "view", _ones(s, a), (b,), match=both)


WORDS = {"float32": r"(?i)\bfloat(32)?\b", "float64": r"(?i)\b(double|float64)\b", "int64": r"(?i)\b(long|int64)\b"}


@requirement("kernels/dtype-errors-say-what-was-given")
def test_dtypes_in_messages(s: Session) -> None:
    def row(s: Session, operator: str, sizes: tuple[int, ...], dtypes: tuple[str, str]) -> None:
        for dtype in dtypes:
            x, y = (_ones(s, *sizes, dtype=name) for name in dtypes)
            s.expect_raises(RuntimeError, operator, x, y, match=WORDS[dtype])

    pairs = [("float32", "float64"), ("float64", "int64")]
    s.table([(name, sizes, pair) for pair in pairs for name, sizes in (("mm", (2, 2)), ("dot", (2,)))], row)


@requirement("kernels/named-checks-tell-argument-and-position")
def test_embedding_of_floats(s: Session) -> None:
    s.need_data()
    x, indices = _ones(s, 3, 2), s.tensor([0.0, 1.0])
    for part in ("#1", "indices", "embedding", "(?i)float", "(?i)long|int64"):
        s.expect_raises(RuntimeError, "embedding", x, indices, match=part)


@requirement("kernels/named-checks-tell-argument-and-position", needs=("accessor",))
@forall(
    dims=hs.lists(hs.integers(1, 4), min_size=0, max_size=4), wanted=hs.integers(0, 4), position=hs.integers(1, 9),
    name=hs.sampled_from(("weight", "self", "other")), function=hs.sampled_from(("f", "scaled_mm")),
)  # fmt: skip
def test_check_of_dims(
    s: Session, dims: list[int], wanted: int, position: int, name: str, function: str
) -> None:
    x = _ones(s, *dims)
    if len(dims) == wanted:
        s.call("check_argument", "check_dim", function, name, position, x, wanted)
        return
    for part in (rf"#{position}\b", name, rf"\b{function}\b", rf"\b{wanted}-dim", rf"\b{len(dims)}-dim"):
        s.expect_raises(
            RuntimeError, "check_argument", "check_dim", function, name, position, x, wanted, match=part
        )


@requirement("kernels/named-checks-tell-argument-and-position", needs=("accessor",))
def test_checks_of_sizes_and_elements(s: Session) -> None:
    x = _ones(s, 2, 3)
    s.call("check_argument", "check_size", "f", "weight", 2, x, (2, 3))
    s.call("check_argument", "check_numel", "f", "weight", 2, x, 6)
    for check, wanted, parts in [
        ("check_size", (2, 4), ("#2", "weight", "4", "3")),
        ("check_size", (6,), ("#2", "weight")),
        ("check_numel", 7, ("#2", "weight", "7", "6")),
    ]:
        for part in parts:
            s.expect_raises(RuntimeError, "check_argument", check, "f", "weight", 2, x, wanted, match=part)


def _zero_divisor(s: Session) -> tuple[Any, ...]:
    data = np.ones(40, np.int32)
    data[33] = 0
    return s.tensor(data), s.tensor(data)


def _far(s: Session) -> Any:
    return s.tensor([0, 1, 7], "int64")


# An operator, arguments that it refuses, and the sizes of an output that the call could have.
REFUSED: list[tuple[str, Call, tuple[int, ...]]] = [
    ("add.Tensor", lambda s: (_ones(s, 30), _ones(s, 40)), (40,)),
    ("mul.Tensor", lambda s: (_ones(s, 3, 20), _ones(s, 4, 20)), (4, 20)),
    ("gcd", lambda s: (_ones(s, 30), _ones(s, 30)), (30,)),
    ("bitwise_and.Tensor", lambda s: (_ones(s, 30), _ones(s, 30)), (30,)),
    ("cat", lambda s: ([_ones(s, 2, 10), _ones(s, 2, 11)],), (4, 10)),
    ("stack", lambda s: ([_ones(s, 10), _ones(s, 11)],), (2, 10)),
    ("view", lambda s: (_ones(s, 30), (7, -1)), ()),
    ("floor_divide", _zero_divisor, ()),
    ("sum.dim_IntList", lambda s: (_ones(s, 3, 10), (0, 5)), ()),
    ("where.self", lambda s: (_ones(s, 30), _ones(s, 30), _ones(s, 30)), ()),
    ("index_select", lambda s: (_ones(s, 5, 10), 0, _far(s)), ()),
    ("gather", lambda s: (_ones(s, 5), 0, _far(s)), ()),
    ("mm", lambda s: (_ones(s, 5, 6), _ones(s, 5, 6)), (5, 5)),
    ("mm", lambda s: (_ones(s, 5, 6), _ones(s, 6, 5, dtype="float64")), (5, 5)),
    ("bmm", lambda s: (_ones(s, 2, 5, 6), _ones(s, 3, 6, 5)), (2, 5, 5)),
    ("matmul", lambda s: (_ones(s, 5, 6), _ones(s, 5, 6)), (5, 5)),
]


@requirement("kernels/refused-calls-leave-no-memory-behind")
def test_memory_after_a_refusal(s: Session) -> None:
    def row(s: Session, operator: str, arguments: Call, _: tuple[int, ...]) -> None:
        given = arguments(s)
        raw = [[h.raw for h in a] if isinstance(a, list) else getattr(a, "raw", a) for a in given]
        s.backend.call("neg", s.tensor([1.0]).raw)
        with s.backend.observed_allocator() as log:  # type: ignore[attr-defined]
            try:
                s.backend.call(operator, *raw)
            except (RuntimeError, IndexError):
                refused = True
            else:
                refused = False
            held = {address for address, _ in log.given} - {address for address, _ in log.taken}
            got = len(held)
        s.expect(refused, True, f"{operator} refused", _UNTOLD)
        s.expect(got, 0, f"blocks that {operator} still holds after it raised", _UNTOLD)

    s.table(REFUSED, row)


@requirement("kernels/refused-calls-write-nothing", needs=("matmul",))
def test_outputs_after_a_refusal(s: Session) -> None:
    def row(s: Session, operator: str, arguments: Call, sizes: tuple[int, ...]) -> None:
        s.need_data()
        out = s.tensor(np.full(sizes, 5.0), "float32")
        name = f"{operator.split('.')[0]}.out"
        s.expect_raises(RuntimeError, name, *arguments(s), out=out)
        s.expect_values(out, np.full(sizes, 5.0, np.float32))

    s.table([row for row in REFUSED if row[2]], row)


KINDS: dict[str, tuple[type[Exception], bool, Callable[[Any, Any], tuple[Any, ...]]]] = {
    "index_select": (IndexError, False, lambda x, i: (x, 0, i)),
    "embedding": (IndexError, False, lambda x, i: (x, i)),
    "__getitem__": (IndexError, True, lambda x, i: (x, i)),
    "take": (IndexError, True, lambda x, i: (x, i)),
    "gather": (RuntimeError, False, lambda x, i: (x, 0, i)),
    "scatter.value": (RuntimeError, False, lambda x, i: (x, 0, i, 9.0)),
}


@requirement("kernels/indices-are-checked", may_crash=True)
def test_no_element_to_index(s: Session) -> None:
    def row(s: Session, operator: str, dtype: str) -> None:
        s.need_data()
        arguments = KINDS[operator][2]
        x = s.tensor(np.zeros((0, 1) if operator == "embedding" else 0, np.float32))
        for count in (1, 5, 40):
            s.expect_raises((IndexError, RuntimeError), operator, *arguments(x, s.tensor(np.zeros(count), dtype)))

    s.table([(operator, "int64") for operator in KINDS] + [("__getitem__", "int32"), ("index_select", "int32")], row)


@requirement("kernels/indices-are-checked", "kernels/negative-indices-wrap-in-two-operators")
@forall(
    operator=hs.sampled_from(sorted(KINDS)), size=hs.integers(0, 9),
    indices=hs.lists(hs.sampled_from((0, 0, 0, 1, -1, 2, -2, 8, 9, -9, 2**40, -(2**63))), min_size=1, max_size=40),
)  # fmt: skip
def test_indices_around_the_limits(s: Session, operator: str, size: int, indices: list[int]) -> None:
    _read(s, operator, size, indices)


@requirement("kernels/indices-are-checked", "kernels/negative-indices-wrap-in-two-operators")
def test_first_and_last(s: Session) -> None:
    s.table([(operator, 3, indices) for operator in KINDS for indices in ([0, 2], [2, 0, 2])], _read)


def _read(s: Session, operator: str, size: int, indices: list[int]) -> None:
    s.need_data()
    kind, wraps, arguments = KINDS[operator]
    data = np.arange(size, dtype=np.float32) + 1
    x = s.tensor(data.reshape(size, 1) if operator == "embedding" else data)
    given = arguments(x, s.tensor(np.array(indices), "int64"))
    low = -size if wraps else 0
    if any(not low <= k < size for k in indices):
        s.expect_raises(kind if size else (IndexError, RuntimeError), operator, *given)
        return
    y = s.call(operator, *given)
    if operator == "scatter.value":
        data[indices] = 9.0
        s.expect_values(y, data)
    else:
        picked = data[indices]
        s.expect_values(y, picked.reshape(-1, 1) if operator == "embedding" else picked)


@requirement("kernels/negative-indices-wrap-in-two-operators")
def test_last_element_by_minus_one(s: Session) -> None:
    s.need_data()
    x, index = s.tensor([1.0, 2.0, 3.0]), s.tensor([-1, -3], "int64")
    s.expect_values(s.call("__getitem__", x, index), [3.0, 1.0])
    s.expect_values(s.call("take", x, index), [3.0, 1.0])
    s.expect_raises(IndexError, "index_select", x, 0, index)
    s.expect_raises(RuntimeError, "gather", x, 0, index)
    s.expect_dtype(s.call("take", x, index), str(DType("float32")))

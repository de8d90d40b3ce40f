"""vmap: what it gives, what it is given, and what it refuses."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from ..backend_dispatch import Kernel, Mapping
from ..failure import NoReproducer
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .registry import suite_operators

_A = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
_UNTOLD = NoReproducer("the test compares all rows of what was drawn")
_UNARY = {"neg": np.negative, "abs": np.abs, "square": np.square}


@requirement("dispatch/vmap-gives-what-a-loop-gives")
def test_golden(s: Session) -> None:
    x = s.tensor(_A)
    rows = [
        ("dot", Mapping((0, 0)), (x, x), [14, 77]), ("sum", Mapping((1,)), (x,), [5, 7, 9]),
        ("sum", Mapping((-1,)), (x,), [5, 7, 9]),
        ("neg", Mapping((0,), out_dims=1), (x,), [[-1, -4], [-2, -5], [-3, -6]]),
        ("neg", Mapping((1,), out_dims=-1), (x,), [[-1, -2, -3], [-4, -5, -6]]),
        ("cumsum", Mapping((0, None)), (x, 0), [[1, 3, 6], [4, 9, 15]]),
        ("flip", Mapping((0, None)), (x, (0,)), [[3, 2, 1], [6, 5, 4]]),
        ("unsqueeze", Mapping((0, None)), (x, 0), [[[1, 2, 3]], [[4, 5, 6]]]),
        ("unsqueeze", Mapping((0, None)), (x, -1), [[[1], [2], [3]], [[4], [5], [6]]]),
        ("amax", Mapping((0, None)), (x, (0,)), [3, 6]),
        ("reshape", Mapping((0, None)), (x, (3, 1)), [[[1], [2], [3]], [[4], [5], [6]]]),
        ("outer", Mapping((1, 1)), (x, x), [[[1, 4], [4, 16]], [[4, 10], [10, 25]], [[9, 18], [18, 36]]]),
    ]  # fmt: skip
    for operator, mapping, args, want in rows:
        s.expect_values(s.call("mapped", operator, (mapping,), *args), want, dtype="float32")


@requirement("dispatch/vmap-gives-what-a-loop-gives")
@forall(
    sizes=hs.lists(hs.integers(1, 3), max_size=3), count=hs.integers(0, 3), place=hs.integers(0, 3),
    out=hs.integers(0, 3), operator=hs.sampled_from(sorted(_UNARY)),
)  # fmt: skip
def test_dims(s: Session, sizes: list[int], count: int, place: int, out: int, operator: str) -> None:
    place, out = place % (len(sizes) + 1), out % (len(sizes) + 1)
    whole = [*sizes[:place], count, *sizes[place:]]
    array = np.arange(np.prod(whole), dtype=np.float32).reshape(whole) - 2
    got = s.call("mapped", operator, (Mapping((place,), out_dims=out),), s.tensor(array))
    s.expect_values(got, np.moveaxis(_UNARY[operator](array), place, out))


@requirement("dispatch/vmap-gives-what-a-loop-gives")
@forall(first=hs.lists(hs.integers(1, 3), max_size=2), second=hs.lists(hs.integers(1, 3), max_size=2))
def test_ranks_broadcast_example_by_example(s: Session, first: list[int], second: list[int]) -> None:
    try:
        np.broadcast_shapes(first, second)
    except ValueError:
        return
    x, y = (np.arange(2 * np.prod(sizes), dtype=np.float32).reshape(2, *map(int, sizes)) for sizes in (first, second))
    want = np.stack([x[place] * y[place] for place in range(2)])
    s.expect_values(s.call("mapped", "mul.Tensor", (Mapping((0, 0)),), s.tensor(x), s.tensor(y)), want)


@requirement("dispatch/vmap-shares-what-is-not-mapped")
def test_not_mapped(s: Session) -> None:
    x, y = s.tensor([1.0, 2.0]), s.tensor([10.0, 20.0])
    s.expect_values(s.call("mapped", "mul.Tensor", (Mapping((0, None)),), x, y), [[10, 20], [20, 40]], dtype="float32")
    s.expect_values(s.call("mapped", "mul.Tensor", (Mapping((None, 0)),), x, y), [[10, 20], [20, 40]], dtype="float32")
    a = s.tensor(_A)
    picked = s.call("mapped", "mv", (Mapping((None, 0)),), a, s.tensor([[1.0, 0, 0], [0, 0, 1.0]]))
    s.expect_values(picked, [[1, 4], [3, 6]], dtype="float32")


@requirement("dispatch/vmap-nests")
def test_nested(s: Session) -> None:
    x, y = s.tensor([1.0, 2.0]), s.tensor([10.0, 20.0, 30.0])
    levels = (Mapping((0, None)), Mapping((None, 0)))
    s.expect_values(s.call("mapped", "mul.Tensor", levels, x, y), [[10, 20, 30], [20, 40, 60]], dtype="float32")
    swapped = (Mapping((None, 0)), Mapping((0, None)))
    s.expect_values(s.call("mapped", "mul.Tensor", swapped, x, y), [[10, 20], [20, 40], [30, 60]], dtype="float32")
    a = s.tensor([_A, _A])
    s.expect_values(s.call("mapped", "sum", (Mapping((0,)), Mapping((1,))), a), [[5, 7, 9]] * 2, dtype="float32")


@requirement("dispatch/vmap-in-chunks-gives-the-same")
@forall(count=hs.integers(1, 7), chunk=hs.integers(1, 8), out=hs.integers(0, 1))
def test_chunks(s: Session, count: int, chunk: int, out: int) -> None:
    array = np.arange(2.0 * count, dtype=np.float32).reshape(count, 2)
    mapping = Mapping((0, None), out_dims=out, chunk_size=chunk)
    want = np.moveaxis(np.cumsum(array, 1), 0, out)
    s.expect_values(s.call("mapped", "cumsum", (mapping,), s.tensor(array), 0), want)


@requirement("dispatch/vmap-maps-composites-by-their-parts")
def test_composites(s: Session) -> None:
    with suite_operators(s, "parts(Tensor x) -> Tensor"):
        s.call("register_kernel", "parts", "CompositeImplicitAutograd", Kernel(None, "chain", ("neg", "square", "sum")))
        s.expect_values(s.call("mapped", "suite::parts", (Mapping((0,)),), s.tensor(_A)), [14, 77], dtype="float32")
        s.expect_values(s.call("mapped", "suite::parts", (Mapping((1,)),), s.tensor(_A)), [17, 29, 45], dtype="float32")


@requirement("dispatch/vmap-writes-to-mapped-tensors-alone")
def test_writes(s: Session) -> None:
    x = s.call("clone", s.tensor(_A))  # which the session does not watch
    s.call("mapped", "add_.Tensor", (Mapping((1, 0)),), x, s.tensor([10.0, 20.0, 30.0]))
    s.expect_values(x, [[11, 22, 33], [14, 25, 36]], dtype="float32")
    y = s.tensor([0.0, 0.0, 0.0])
    s.expect_raises(RuntimeError, "mapped", "add_.Tensor", (Mapping((None, 0)),), y, s.tensor(_A))


@requirement("dispatch/vmap-refuses-what-depends-on-values")
def test_values_are_not_read(s: Session) -> None:
    mapped = (Mapping((0,)),)
    s.expect_raises(RuntimeError, "mapped", "item", mapped, s.tensor([1.0, 2.0]))
    s.expect_raises(RuntimeError, "mapped", "nonzero", mapped, s.tensor(_A))
    mask = s.tensor([[True, False, True], [True, True, True]], "bool")
    s.expect_raises(RuntimeError, "mapped", "masked_select", (Mapping((0, 0)),), s.tensor(_A), mask)


@requirement("dispatch/vmap-checks-its-dims")
def test_wrong_dims(s: Session) -> None:
    x = s.tensor(_A)
    rows = [
        ((x, x), Mapping((0, 1))), ((x, x), Mapping((2, 0))), ((x, x), Mapping((-3, 0))),
        ((x, x), Mapping((None, None))), ((s.tensor(1.0), x), Mapping((0, 0))), ((2.0, x), Mapping((0, 0))),
    ]  # fmt: skip
    for args, mapping in rows:
        s.expect_raises(ValueError, "mapped", "add.Tensor", (mapping,), *args)


@requirement("dispatch/vmap-draws-as-it-is-told")
def test_randomness(s: Session) -> None:
    x = s.call("zeros", (8, 16))
    s.expect_raises(RuntimeError, "mapped", "rand_like", (Mapping((0,)),), x)

    def equal_rows(text: str) -> list[bool]:
        drawn = s.read(s.call("mapped", "rand_like", (Mapping((0,), randomness=text),), x))
        return [bool((row == drawn[0]).all()) for row in drawn]

    s.expect(equal_rows("same"), [True] * 8, "rows equal to the first", _UNTOLD)
    s.expect(equal_rows("different"), [True] + [False] * 7, "rows equal to the first", _UNTOLD)

"""The session's own checks, each against a backend that breaks just that."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gaugeblock_conformance import discovery
from gaugeblock_conformance import strategies as st
from gaugeblock_conformance.backend import MissingCapability
from gaugeblock_conformance.backends.numpy import NumpyBackend
from gaugeblock_conformance.budget import Budget
from gaugeblock_conformance.case import TensorCase
from gaugeblock_conformance.forall import forall
from gaugeblock_conformance.session import ConformanceError, Session

FEW = Budget("few", 200, 30.0)
Change = Callable[[str, tuple[Any, ...], Any], Any]


class Broken(NumpyBackend):
    """NumPy with ``change(operator, args, result)`` applied after every call of ``operator``."""

    def __init__(self, operator: str, change: Change) -> None:
        super().__init__()
        self.operator = operator
        self.change = change

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        result = super().call(operator, *args, **kwargs)
        return self.change(operator, args, result) if operator == self.operator else result


@forall(xs=st.operands(2, ("float32", "int16"), same_dtype=True, kind="small"))
def adds(s: Session, xs: tuple[TensorCase, ...]) -> None:
    x, y = (s.build(case) for case in xs)
    s.expect_values(s.call("add.Tensor", x, y), xs[0].array + xs[1].array, signed_zero=False)


@forall(x=st.tensors("int32", min_dims=2, layouts=st.WRITABLE))
def transposes(s: Session, x: TensorCase) -> None:
    made = s.build(x)
    s.expect_values(s.call("transpose.int", made, 0, 1), np.swapaxes(x.array, 0, 1))


@forall(x=st.tensors("int32", layouts=st.WRITABLE))
def fills(s: Session, x: TensorCase) -> None:
    made = s.build(x)
    s.expect_values(s.call("fill_.Scalar", made, 3), np.full(x.sizes, 3, np.int32))


def drop_tail(operator: str, args: tuple[Any, ...], result: Any) -> Any:
    if result.size > 16:
        result.reshape(-1)[-1] = 0
    return result


def zero_input(operator: str, args: tuple[Any, ...], result: Any) -> Any:
    args[0][...] = 0
    return result


def copy_result(operator: str, args: tuple[Any, ...], result: Any) -> Any:
    return result.copy()


def write_gap(operator: str, args: tuple[Any, ...], result: Any) -> Any:
    owner = result if result.base is None else result.base
    while owner.base is not None:
        owner = owner.base
    last = owner.reshape(-1)[-1:]
    if not np.shares_memory(last, result):
        last[...] = 7
    return result


BREAKS = [
    (adds, "add.Tensor", drop_tail, "wrong value of add.Tensor's result"),
    (adds, "add.Tensor", zero_input, "add.Tensor changed a tensor"),
    (transposes, "transpose.int", copy_result, "not on the storage"),
    (fills, "fill_.Scalar", write_gap, "fill_.Scalar wrote outside the tensor"),
]


@pytest.mark.parametrize(("check", "operator", "change", "says"), BREAKS)
def test_break_is_told_with_a_snippet(check: Any, operator: str, change: Change, says: str) -> None:
    with pytest.raises(ConformanceError) as caught:
        check(Session(Broken(operator, change), FEW, 1))
    assert says in caught.value.message
    assert len(caught.value.snippet.strip().splitlines()) <= 10
    assert "gaugeblock" not in caught.value.snippet


@pytest.mark.parametrize("check", [adds, transposes, fills])
def test_right_backend_is_not_accused(check: Any) -> None:
    session = Session(NumpyBackend(), FEW, 2)
    check(session)
    assert session.outcome.examples == FEW.examples


def test_a_third_of_the_tensors_is_strided() -> None:
    session = Session(NumpyBackend(), FEW, 3)
    adds(session)
    assert session.outcome.noncontiguous * 3 >= session.outcome.tensors


def test_same_seed_same_examples() -> None:
    seen: list[list[TensorCase]] = [[], []]
    for run in seen:

        def note(s: Session, x: TensorCase, run: list[TensorCase] = run) -> None:
            run.append(x)

        forall(x=st.tensors())(note)(Session(NumpyBackend(), FEW, 5))
    assert seen[0] == seen[1]
    assert len({repr(x) for x in seen[0]}) > FEW.examples // 2


@pytest.mark.parametrize("place", [0, 2**17, -1])
def test_a_byte_changed_in_a_long_tensor_is_caught(place: int) -> None:
    """Long tensors are compared part by part, of 2**20 bytes."""

    def touch(operator: str, args: tuple[Any, ...], result: Any) -> Any:
        args[0][place] += 1
        return result

    data = np.arange(2**18 + 3)
    session = Session(NumpyBackend(), FEW)
    session.call("neg", session.tensor(data))
    session = Session(Broken("neg", touch), FEW)
    with pytest.raises(ConformanceError, match="neg changed a tensor"):
        session.call("neg", session.tensor(data))


def test_unrepeatable_call_is_caught() -> None:
    noise = iter(range(10**6))

    def jitter(operator: str, args: tuple[Any, ...], result: Any) -> Any:
        return np.asarray(result + result.dtype.type(next(noise) % 2))

    @forall(x=st.tensors("float32", kind="small", empty=False))
    def negates(s: Session, x: TensorCase) -> None:
        s.call("neg", s.build(x))

    with pytest.raises(ConformanceError, match="another result"):
        negates(Session(Broken("neg", jitter), FEW, 1))


def test_a_tensor_is_no_list_of_one() -> None:
    session = Session(NumpyBackend(), FEW, 1)
    with pytest.raises(ConformanceError, match="is one tensor, not a list of 1") as caught:
        session.parts(session.call("neg", session.tensor([1.0])), 1)
    assert (caught.value.expected, caught.value.got) == ("list or tuple", "ndarray")
    with pytest.raises(AssertionError, match="ndarray"):
        exec(caught.value.snippet, {})


def test_results_that_numpy_cannot_describe_are_not_read() -> None:
    """Some calls are repeated to compare results; NumPy refuses a size of 2**62 even in an empty array."""
    session = Session(discovery.load(discovery.resolve("reference")), FEW, 1)
    x = session.tensor([[1.0, 2.0], [3.0, 4.0]])
    for _ in range(20):
        assert session.observe("shape", session.call("repeat", x, (2**62, 0, 2))) == (2**62, 0, 4)


def test_a_backend_without_strides_gets_the_elements() -> None:
    """Layouts that it cannot have are no reason to skip what is said of values."""

    class Dense(NumpyBackend):
        capabilities = frozenset({"core"})

        def strides(self, tensor: Any) -> tuple[int, ...]:
            raise AssertionError("strides of a backend that has none were asked for")

    s = Session(Dense(), FEW)
    adds(s)
    assert s.outcome.examples == FEW.examples
    s.begin()
    with pytest.raises(MissingCapability, match="strided"):
        s.expect_strides(s.tensor([1.0]), (1,))


def test_missing_capability_skips() -> None:
    with pytest.raises(MissingCapability, match="sparse_coo"):
        Session(NumpyBackend()).require("core", "sparse_coo")


def test_snippet_fails_the_same_way_in_a_fresh_process() -> None:
    session = Session(NumpyBackend())
    x = session.tensor([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(ConformanceError) as caught:
        session.expect_values(session.call("transpose.int", x, 0, 1), [[1.0, 2.0], [3.0, 4.0]])
    done = subprocess.run([sys.executable, "-c", caught.value.snippet], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "AssertionError: 3.0" in done.stderr


def test_backend_exception_is_a_failure() -> None:
    def explode(operator: str, args: tuple[Any, ...], result: Any) -> Any:
        raise ValueError("boom")

    session = Session(Broken("neg", explode))
    with pytest.raises(ConformanceError, match="neg raised ValueError: boom"):
        session.call("neg", session.tensor([1.0]))


def test_refusal_must_come_and_be_of_the_class() -> None:
    session = Session(NumpyBackend())
    x = session.tensor([[1.0, 2.0]])
    session.expect_raises(IndexError, "select.int", x, 0, 5)
    with pytest.raises(ConformanceError, match="accepted what it must refuse"):
        session.expect_raises(IndexError, "select.int", x, 0, 0)
    with pytest.raises(ConformanceError, match="instead of RuntimeError"):
        session.expect_raises(RuntimeError, "select.int", x, 0, 5)
    session.expect_raises(IndexError, "select.int", x, 0, 5, match="words that NumPy does not promise")
    strict = Session(type("Strict", (NumpyBackend,), {"rules": ()})())
    with pytest.raises(ConformanceError, match="does not say"):
        strict.expect_raises(IndexError, "select.int", strict.tensor([[1.0, 2.0]]), 0, 5, match="no such words")


def test_what_is_no_number_is_told_as_a_tensor() -> None:
    """The names of the suite's own handles say nothing to a reader."""
    s = Session(Broken("__len__", lambda operator, args, result: args[0]))
    with pytest.raises(ConformanceError) as told:
        s.expect(s.call("__len__", s.tensor([1, 2], "int32")), 2, "len")
    assert told.value.message == "len: expected 2, got a tensor"
    assert told.value.got == "a tensor"
    s = Session(Broken("__len__", lambda operator, args, result: [args[0]]))
    with pytest.raises(ConformanceError, match="len: expected 2, got tensors"):
        s.expect(s.call("__len__", s.tensor([1, 2], "int32")), 2, "len")


def test_one_tensor_in_place_of_several_is_told_in_words() -> None:
    s = Session(NumpyBackend())
    with pytest.raises(TypeError, match="the backend gave one tensor where several results are wanted"):
        _first, _second = s.call("clone", s.tensor([1, 2], "int32"))


@pytest.mark.parametrize(
    ("row", "told"),
    [(("words", lambda: 0), "'words'"), (("words", 2, lambda: 0), "('words', 2)"), ("words", "'words'")],
)
def test_a_row_of_a_table_is_told_without_its_functions(row: Any, told: str) -> None:
    def body(s: Session, *values: Any) -> None:
        s.expect(s.call("__len__", s.tensor([1, 2], "int32")), 3, "len")

    with pytest.raises(ConformanceError) as failed:
        Session(NumpyBackend()).table([row], body)
    assert failed.value.example == {"row": told}


def test_the_snippet_of_an_unrepeatable_call_reads_sparse_results() -> None:
    right = discovery.load(discovery.resolve("reference"))
    drawn = iter(range(1, 10**6))

    class Drifting(type(right)):  # type: ignore[misc]
        def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
            result = super().call(operator, *args, **kwargs)
            return super().call("mul.Tensor", result, next(drawn)) if operator == "neg" else result

    @forall(x=st.tensors("float32", min_dims=2, kind="small", empty=False))
    def negates(s: Session, x: TensorCase) -> None:
        s.call("neg", s.call("to_sparse", s.build(x)))

    with pytest.raises(ConformanceError, match="neg gave another result when it was called again") as caught:
        negates(Session(Drifting(), FEW, 1))
    assert ".to_dense().tolist()) == repr(again.to_dense().tolist())" in caught.value.snippet

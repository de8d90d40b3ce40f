"""Failures are grouped by what a maintainer would call one bug."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from gaugeblock_conformance import causes
from gaugeblock_conformance.backends.numpy import NumpyBackend
from gaugeblock_conformance.backends.reference import ReferenceBackend
from gaugeblock_conformance.budget import QUICK
from gaugeblock_conformance.session import ConformanceError, Session


def test_the_examples_of_the_module_hold() -> None:
    found = doctest.testmod(causes)
    assert (found.failed, found.attempted) == (0, 8)


@pytest.mark.parametrize(
    ("told", "cause"),
    [
        ("wrong value of neg's result at (0,)", "wrong value of neg's result"),
        ("wrong value of neg's result at ()", "wrong value of neg's result"),
        ("wrong value of isin.Tensor_Tensor's result at (0, 0, 1, 0, 3)", "wrong value of isin's result"),
        ("wrong value of mm.out's result at (8, 0)", "wrong value of mm.out's result"),
        ("add_.Tensor accepts bad input", "add_ accepts bad input"),
        ("scatter_.value, which raised, impure", "scatter_, which raised, impure"),
        ("derivative of special_hermite_polynomial_h.n_scalar", "derivative of special_hermite_polynomial_h"),
        ("wrong size of upsample_nearest2d's result", "wrong size of upsample_nearest2d's result"),
        ("linspace's last: expected 0.4285714, got 4.2e-1", "linspace's last: expected N, got N"),
        ("requires_grad of int64 written: expected False, got True",
         "requires_grad of intN written: expected False, got True"),
        ("reshape's result does not share the storage of x1", "reshape's result does not share the storage of x"),
    ],
)  # fmt: skip
def test_what_was_drawn_is_no_part_of_a_cause(told: str, cause: str) -> None:
    assert causes.of_failure(told, "flip") == cause


def test_a_wrong_tensor_of_the_suite_is_told_with_what_wrote_it() -> None:
    assert causes.of_failure("wrong value of x5 at (0, 1)", "mm.out") == "wrong value of x, after mm.out"
    assert causes.of_failure("wrong size of x2", "cat.out") == "wrong size of x, after cat.out"
    assert causes.of_failure("wrong size of x2") == "wrong size of x"


_NO_OFFSET = "RuntimeError: as_strided: storage_offset is required"
_NO_FILL = "NotImplementedError: \"fill_opencl_standard\" not implemented for 'DTYPE'"


@pytest.mark.parametrize(
    ("operator", "error", "cause"),
    [
        ("t", RuntimeError("as_strided: storage_offset is required"), _NO_OFFSET),
        ("squeeze.dim", RuntimeError("as_strided: storage_offset is required"), _NO_OFFSET),
        ("ones", NotImplementedError("\"fill_opencl_standard\" not implemented for 'Bool'"), _NO_FILL),
        ("full", NotImplementedError("\"fill_opencl_standard\" not implemented for 'BFloat16'"), _NO_FILL),
        ("to.dtype", RuntimeError("clEnqueueCopyBuffer"), "RuntimeError: clEnqueueCopyBuffer"),
        ("nll_loss2d", RuntimeError("grad_input must be contiguous"), "RuntimeError: grad_input must be contiguous"),
        ("sum", TypeError("reduce() of empty iterable\nand more"), "TypeError: reduce() of empty iterable"),
        ("__getitem__", ValueError("Chunks do not add up. Got chunks=((2, 2),), shape=(2,)"),
         "ValueError: Chunks do not add up. Got chunks=N, shape=N"),
        ("index_select", ValueError("Chunks do not add up. Got chunks=((2, 1, 3),), shape=(2, 4)"),
         "ValueError: Chunks do not add up. Got chunks=N, shape=N"),
        ("copy_", RuntimeError("_copy_from: numel mismatch: src=2 dst=4"),
         "RuntimeError: _copy_from: numel mismatch: src=N dst=N"),
    ],
)  # fmt: skip
def test_what_another_function_says_is_one_cause_whoever_called_it(
    operator: str, error: Exception, cause: str
) -> None:
    assert causes.of_exception(operator, error) == cause


@pytest.mark.parametrize(
    ("operator", "error", "cause"),
    [
        ("isin.Tensor_Tensor", RuntimeError("view size is not compatible with input tensor's size and stride"),
         "isin raises RuntimeError: view size is not compatible with input tensor's size and stride"),
        ("take_along_dim", RuntimeError("view size is not compatible with input tensor's size and stride"),
         "take_along_dim raises RuntimeError: view size is not compatible with input tensor's size and stride"),
        ("narrow_copy", RuntimeError("The size of tensor a (0) must match the size of tensor b (2)"),
         "narrow_copy raises RuntimeError: The size of tensor a N must match the size of tensor b N"),
        ("exp", NotImplementedError("not implemented"), "exp raises NotImplementedError: not implemented"),
        ("log", NotImplementedError(), "log raises NotImplementedError"),
        ("eq.Tensor", TypeError("'>=' not supported between instances of 'complex' and 'int'"),
         "eq raises TypeError: '>=' not supported between instances of 'complex' and 'int'"),
        ("floor_divide", RuntimeError("derivative for aten::floor_divide is not implemented"),
         "RuntimeError: derivative for aten::floor_divide is not implemented"),
        ("scatter.reduce", RuntimeError("derivative for aten::scatter is not implemented"),
         "RuntimeError: derivative for aten::scatter is not implemented"),
    ],
)  # fmt: skip
def test_what_any_function_might_say_stays_with_the_operator(operator: str, error: Exception, cause: str) -> None:
    assert causes.of_exception(operator, error) == cause


def test_a_refusal_for_another_reason_is_of_that_reason() -> None:
    wrong_class = "gather raised RuntimeError instead of IndexError"
    no_offset = RuntimeError("as_strided: storage_offset is required")
    assert causes.of_refusal("gather", no_offset, wrong_class) == _NO_OFFSET
    assert causes.of_refusal("gather", RuntimeError("gather(): index 3 is out of bounds"), wrong_class) == wrong_class
    assert causes.of_refusal("gather", RuntimeError("index 3: too large"), wrong_class) == wrong_class
    assert causes.of_refusal("gather", None, "gather accepts bad input") == "gather accepts bad input"


class Limited(NumpyBackend):
    """A backend of which ``neg`` and ``abs`` end in one helper that fails, and ``flip`` and ``add`` each by itself."""

    def call(self, operator: str, *args: object, **kwargs: object) -> object:
        if operator in ("neg", "abs"):
            raise RuntimeError("_copy_from: src must be contiguous")
        if operator in ("flip", "add.Tensor"):
            raise RuntimeError("not here")
        return super().call(operator, *args, **kwargs)


def test_a_session_makes_the_causes() -> None:
    s = Session(Limited(), QUICK)
    x = s.tensor(np.arange(3.0))
    found = []
    for operator, *rest in (("neg",), ("abs",), ("flip", (0,)), ("add.Tensor", x)):
        with pytest.raises(ConformanceError) as caught:
            s.call(operator, x, *rest)
        found.append(caught.value.cause)
    assert found == [
        "RuntimeError: _copy_from: src must be contiguous",
        "RuntimeError: _copy_from: src must be contiguous",
        "flip raises RuntimeError: not here",
        "add raises RuntimeError: not here",
    ]


def test_what_wrote_a_tensor_is_told_though_others_were_called_since() -> None:
    s = Session(ReferenceBackend(), QUICK)
    x, y = s.tensor([1.0, 2.0]), s.tensor([5.0, 6.0])
    s.call("mul_.Scalar", x, 3)
    s.call("add_.Scalar", y, 3)
    s.call("neg", y)
    with pytest.raises(ConformanceError) as caught:
        s.expect_values(x, np.array([1.0, 2.0], np.float32))
    assert (caught.value.message, caught.value.cause) == (
        "wrong value of x1 at (0,)", "wrong value of x, after mul_",
    )  # fmt: skip


def test_a_wrong_value_is_one_cause_however_exact_it_was_asked_to_be() -> None:
    s = Session(NumpyBackend(), QUICK)
    y = s.call("neg", s.tensor([1.0, 2.0]))
    with pytest.raises(ConformanceError) as exactly:
        s.expect_values(y, np.array([-1.0, 2.0], np.float32))
    with pytest.raises(ConformanceError) as nearly:
        s.expect_close(y, np.array([1.0, -2.0]), 0.5)
    assert exactly.value.cause == nearly.value.cause == "wrong value of neg's result"
    assert exactly.value.message != nearly.value.message

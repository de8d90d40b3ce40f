"""A GPU computes what the CPU does: every pointwise operator as PTX, reductions and products by CuPy, the rest by the
host. `nox -s gpu` runs it; skipped where there is no GPU."""

from __future__ import annotations

import warnings
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.operators.invoke import apply
from gaugeblock.operators.rows import rows

from .real_gpu import NEEDS_GPU, real_gpu
from .test_cuda_device_gpu import BEYOND_CUPY, POINTWISE, REDUCED, values
from .test_ptx_operators import NAMES, check, given_of
from .test_ptx_special import NAMES as SPECIAL_NAMES
from .test_ptx_special import operands

pytestmark = [NEEDS_GPU, pytest.mark.usefixtures("real_gpu")]
__all__ = ["real_gpu"]


def moved(value: Any) -> Any:
    return value.to("cuda") if isinstance(value, gb.Tensor) else value


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("strided", [False, True], ids=["flat", "strided"])
def test_pointwise_operators_give_the_bits_of_the_cpu(name: str, strided: bool) -> None:
    for dtype in rows()[name].dtypes:
        given, keywords = given_of(rows()[name], dtype, strided)
        wanted = apply(name, *given, **keywords)
        given, keywords = given_of(rows()[name], dtype, strided, "cuda")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = apply(name, *given, **keywords)
        assert found.is_cuda and (found.dtype, found.stride()) == (wanted.dtype, wanted.stride())
        check(name, dtype, found.cpu(), wanted)


@pytest.mark.parametrize("name", SPECIAL_NAMES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_with_loops_and_numbers_taken_apart_agree_with_the_cpu(name: str, dtype: str) -> None:
    wanted = apply(name, *operands(name, dtype))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = apply(name, *(moved(value) for value in operands(name, dtype)))
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    for one, other in pairs:
        gb.testing.assert_close(one.cpu(), other, equal_nan=True)


@pytest.mark.parametrize("number", range(len(POINTWISE)))
def test_forms_of_pointwise_calls(number: int) -> None:
    start = gb.tensor([[1.0, 2.0, 4.0], [0.5, 3.0, 8.0]])
    x = start.cuda()
    for _ in range(3):
        assert values(POINTWISE[number](x)) == values(POINTWISE[number](start))
        start, x = start * 2, x * 2


@pytest.mark.parametrize("number", range(len(REDUCED)))
def test_reductions_products_scans_and_sorting(number: int) -> None:
    start = gb.tensor([[1.0, 2.0, 4.0], [0.5, 3.0, 8.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = REDUCED[number](start.cuda())
    assert found[0].is_cuda if isinstance(found, tuple) else found.is_cuda
    assert values(found) == values(REDUCED[number](start))


@pytest.mark.parametrize(("call", "expected"), BEYOND_CUPY)
def test_values_that_cupy_alone_would_not_keep(call: Any, expected: Any) -> None:
    found = call(gb.tensor([1.0, 2.0, 3.0], device="cuda"))
    assert found.is_cuda and found.tolist() == gb.tensor(expected, dtype=found.dtype).tolist()


def test_an_operator_without_a_kernel_runs_on_the_host_and_says_so() -> None:
    x = gb.tensor([[2.0, 1.0], [1.0, 3.0]])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = gb.linalg.inv(x.cuda())
    assert found.is_cuda and found.cpu().equal(gb.linalg.inv(x))
    assert all("runs on the CPU" in str(one.message) for one in told)


def test_gradients_are_those_of_the_cpu() -> None:
    def slopes(device: str) -> list[Any]:
        generator = gb.Generator().manual_seed(3)
        made = [gb.randn(*shape, generator=generator).to(device).requires_grad_() for shape in ((8, 4), (4, 3), (3,))]
        x, weight, bias = made
        target = gb.arange(8).remainder(3).to(device)
        gb.nn.functional.cross_entropy((x @ weight + bias).tanh(), target).backward()
        return [one.grad.cpu() for one in made]

    for found, wanted in zip(slopes("cuda"), slopes("cpu"), strict=True):
        gb.testing.assert_close(found, wanted)

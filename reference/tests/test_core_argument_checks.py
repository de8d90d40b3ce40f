"""Argument checks: each names the function, the argument, its position, what was expected and what came."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock import kernel_tools as tools

FIRST = tools.Argument(gb.ones(2, 3), "self", 1)
SECOND = tools.Argument(gb.ones(3, dtype=gb.int32), "weight", 2)

FAILING: list[tuple[Callable[..., None], tuple[Any, ...], str]] = [
    (tools.check_dim, (SECOND, 3), "Expected 3-dimensional tensor, but got 1-dimensional tensor for "),
    (tools.check_dim_range, (SECOND, 2, 5), "Expected 2 to 4 dimensions, but got 1-dimensional tensor for "),
    (tools.check_size, (SECOND, (4,)), r"Expected tensor of size \[4\], but got tensor of size \[3\] for "),
    (tools.check_size_at, (SECOND, 0, 5), "Expected tensor to have size 5 at dimension 0, but got size 3 for "),
    (tools.check_numel, (SECOND, 7), "Expected tensor for "),
    (tools.check_dtype, (SECOND, gb.float32), "Expected tensor for "),
    (tools.check_same_dtype, (FIRST, SECOND), "Expected tensor for argument #1 'self' to have the same dtype as "),
    (tools.check_same_size, (FIRST, SECOND), "Expected tensor for argument #1 'self' to have the same size as "),
    (tools.check_same_dim, (FIRST, SECOND), "Expected tensor for argument #1 'self' to have the same number"),
    (tools.check_contiguous, (SECOND._replace(tensor=gb.ones(2, 3).t()),), "Expected contiguous tensor, but got non"),
    (tools.check_defined, (SECOND._replace(tensor=None),), "Expected tensor to be defined, but got None for "),
    (tools.check_same_device, (FIRST, SECOND._replace(tensor=gb.ones(2, device="meta"))), "device cpu does not equal"),
]  # fmt: skip


@pytest.mark.parametrize(("checker", "given", "text"), FAILING, ids=lambda value: getattr(value, "__name__", ""))
def test_message(checker: Callable[..., None], given: tuple[Any, ...], text: str) -> None:
    with pytest.raises(RuntimeError, match=text) as caught:
        checker("linear", *given)
    assert "argument #2 'weight'" in str(caught.value)
    assert str(caught.value).endswith("(while checking arguments for linear)")


def test_right_arguments_pass() -> None:
    tools.check_dim("f", FIRST, 2)
    tools.check_dim_range("f", FIRST, 1, 3)
    tools.check_size("f", FIRST, [2, 3])
    tools.check_size_at("f", FIRST, -1, 3)
    tools.check_numel("f", FIRST, 6)
    tools.check_dtype("f", FIRST, gb.float64, gb.float32)
    tools.check_same_dtype("f", FIRST, FIRST)
    tools.check_same_device("f", FIRST, SECOND)
    tools.check_contiguous("f", FIRST, SECOND)


def test_check_joins_any_values() -> None:
    tensor = gb.ones(2, 3)
    with pytest.raises(RuntimeError) as caught:
        tools.check(False, "f: got ", tensor.dtype, " ", list(tensor.shape), " on ", tensor.device, ", ", 3, " ", True)
    assert str(caught.value) == "f: got gaugeblock.float32 [2, 3] on cpu, 3 True"
    tools.check(True, "never shown")

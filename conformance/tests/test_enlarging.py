"""Calls of operators on as many elements as asked."""

from __future__ import annotations

import pytest
from gaugeblock_conformance.operators.enlarging import enlarged
from gaugeblock_conformance.strategies.tensors import layout_of
from gaugeblock_spec import operators

FLOATING = [name for name, row in operators.load().items() if "float32" in row.dtypes]


@pytest.mark.parametrize("elements", [16, 1000, 30_000])
def test_nearly_every_operator_has_a_call(elements: int) -> None:
    calls = {name: enlarged(name, elements) for name in FLOATING}
    drawn = [call for call in calls.values() if call is not None]
    assert len(drawn) > 0.9 * len(FLOATING)
    for call in drawn:
        assert call.dtype == "float32"
        if call.tensors:
            assert elements / 2 <= call.tensors[0].numel <= 2 * elements


@pytest.mark.parametrize(
    ("operator", "sizes", "numbers"),
    [
        ("add.Tensor", [(25, 40), (25, 40)], {}),
        ("sum.dim_IntList", [(25, 40)], {"dim": (0,)}),
        ("mm", [(31, 32), (32, 31)], {}),
        ("linalg_inv", [(10, 10, 10)], {}),
        ("where.self", [(25, 40), (25, 40), (25, 40)], {}),
        ("l1_loss", [(25, 40), (25, 40)], {"reduction": 1}),
        ("randn", [], {"size": (1000,)}),
        ("hann_window", [], {"window_length": 1000}),
    ],
)
def test_sizes_are_nearly_equal_and_defaults_stay(
    operator: str, sizes: list[tuple[int, ...]], numbers: dict[str, object]
) -> None:
    call = enlarged(operator, 1000)
    assert call is not None
    assert ([case.sizes for case in call.tensors], call.numbers) == (sizes, numbers)


def test_the_layout_is_that_of_the_first_tensor() -> None:
    call = enlarged("add.Tensor", 1000, layout="permuted")
    assert call is not None
    assert [layout_of(case) for case in call.tensors] == ["permuted", "contiguous"]


@pytest.mark.parametrize("operator", ["to.device", "linalg_tensorinv"])
def test_sizes_that_samples_fix_are_no_call_of_another_size(operator: str) -> None:
    assert enlarged(operator, 1000) is None


def test_a_dtype_that_the_row_does_not_take() -> None:
    assert enlarged("bitwise_and.Tensor", 16) is None
    assert enlarged("bitwise_and.Tensor", 16, "int64") is not None

"""Outcomes that the model of writes leaves open, because libraries may differ."""

from __future__ import annotations

import pytest
from gaugeblock_conformance.autograd.actions import Action
from gaugeblock_conformance.autograd.histories import Open
from gaugeblock_conformance.autograd.write_model import WriteModel
from gaugeblock_conformance.backend_autograd import EnableGrad, NoGrad, Value

# The first value is a leaf of two dims.
LEAF = Value(0)


def _run(*actions: Action) -> WriteModel:
    model = WriteModel()
    for action in actions:
        model.run(action)
    return model


@pytest.mark.parametrize("operator", ["mul.Tensor", "add.Tensor", "clone"])
def test_results_of_transposed_operands_may_have_any_strides(operator: str) -> None:
    transposed, result = Value(3), Value(4)
    operands = (transposed, transposed)[: 1 if operator == "clone" else 2]
    model = _run(Action("transpose.int", (LEAF, 0, 1)), Action(operator, operands))
    with pytest.raises(Open):
        model.run(Action("view", (result, (-1,))))
    model.run(Action("transpose.int", (result, 0, 1)))
    with pytest.raises(Open):
        model.run(Action("view", (Value(5), (-1,))))


def test_results_of_contiguous_operands_are_contiguous() -> None:
    model = _run(Action("mul.Tensor", (LEAF, LEAF)), Action("view", (Value(3), (-1,))))
    assert model.values[4].value.shape == (6,)


@pytest.mark.parametrize("part", [Action("split.Tensor", (Value(3), 1, 0)), Action("select.int", (Value(3), 0, 0))])
def test_views_that_are_not_recorded_are_left_open(part: Action) -> None:
    model = _run(Action("mul.Tensor", (LEAF, LEAF)), part, Action("push", (NoGrad(),)))
    view = Value(len(model.values))
    model.run(Action("select.int", (Value(4), 0, 0)))
    model.run(Action("push", (EnableGrad(),)))
    with pytest.raises(Open):
        model.run(Action("sum", (view,)))

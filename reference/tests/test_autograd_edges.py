"""Gradients at the edges of what arguments may be: golden literals, the same in PyTorch."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import pytest

GRADIENTS: dict[str, tuple[str, Any]] = {
    "output padding beyond the stride": (
        "F.conv_transpose1d(x.view(1, 1, 3), w, stride=2, output_padding=3, dilation=4)", [3.0, 3.0, 3.0],
    ),
    "margins of one class": ("F.multi_margin_loss(x[0], m.tensor(0))", [0.0, 0.0, 0.0]),
    "margins of one label": ("F.multilabel_margin_loss(x[0], m.tensor(0))", [0.0, 0.0, 0.0]),
}  # fmt: skip


def space(module: Any) -> dict[str, Any]:
    return {"m": module, "F": module.nn.functional, "w": module.tensor([[[1.0, 2.0]]])}


@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.parametrize("library", ["gaugeblock", "torch"])
def test_gradients_at_the_edges(name: str, library: str) -> None:
    module = gb if library == "gaugeblock" else pytest.importorskip("torch")
    text, expected = GRADIENTS[name]
    x = module.tensor([1.0, 2.0, 3.0], requires_grad=True)
    eval(text, {**space(module), "x": x}).sum().backward()
    assert x.grad.tolist() == expected


def test_the_last_of_equal_places_has_the_tangent_in_unpooling() -> None:
    # PyTorch's threads race for equal places.
    forward = gb.autograd.forward_ad
    places = gb.tensor([[[[1, 1]]]])
    with forward.dual_level():
        dual = forward.make_dual(gb.tensor([[[[1.0, 2.0]]]]), gb.tensor([[[[5.0, 7.0]]]]))
        result = gb.nn.functional.max_unpool2d(dual, places, (1, 2), output_size=(1, 3))
        value, tangent = forward.unpack_dual(result)
    assert value.tolist() == [[[[0.0, 2.0, 0.0]]]]
    assert tangent.tolist() == [[[[0.0, 7.0, 0.0]]]]


@pytest.mark.parametrize("dtype", [gb.int64, gb.bool])
def test_integers_that_are_written_have_no_history(dtype: Any) -> None:
    x = gb.tensor([1.0, 0.0], requires_grad=True)
    y = gb.zeros(2, dtype=dtype)
    assert not y.copy_(x).requires_grad and y.grad_fn is None and y.tolist() == [1, 0]
    y[:1], y[x > 0] = x[1], x[1]
    assert not y.requires_grad and y.tolist() == [0, 0]
    assert y.fill_(x[0]).grad_fn is None and y.view(2, 1)[0].copy_(x[1]).grad_fn is None and y.tolist() == [0, 1]


def test_embedding_without_columns() -> None:
    weight = gb.zeros((3, 0), requires_grad=True)
    gb.nn.functional.embedding(gb.tensor([0, 2]), weight).sum().backward()
    assert weight.grad.shape == (3, 0)

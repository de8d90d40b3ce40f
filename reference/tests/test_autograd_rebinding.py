"""Tensors with a history that are put on another storage; parts that forget where they come from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import pytest

SOURCES: dict[str, Callable[[], Any]] = {
    "tensor": lambda: gb.full((3,), 5.0), "storage": lambda: gb.full((3,), 5.0).untyped_storage(),
    "tensor with a history": lambda: gb.full((3,), 5.0, requires_grad=True) * 1,
}  # fmt: skip


@pytest.mark.parametrize("kind", SOURCES)
def test_no_gradient_flows_on_from_set(kind: str) -> None:
    x = gb.ones(3, requires_grad=True)
    y = x * 2
    assert y.set_(SOURCES[kind]()) is y and y.tolist() == [5.0] * 3
    assert y.requires_grad and not y.is_leaf
    with pytest.raises(RuntimeError, match="derivative for set_ is not implemented"):
        (y * 2).sum().backward()
    assert x.grad is None


@pytest.mark.parametrize("kind", SOURCES)
def test_a_leaf_is_set_with_recording_off_alone(kind: str) -> None:
    x, source = gb.ones(3, requires_grad=True), SOURCES[kind]()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x.set_(source)
    assert x.tolist() == [1.0] * 3
    with gb.no_grad():
        x.set_(source)
    assert x.is_leaf and x.requires_grad
    (x * x).sum().backward()
    assert x.grad.tolist() == [10.0] * 3


def test_a_view_that_is_set_leaves_its_base() -> None:
    x = gb.ones(3, requires_grad=True)
    base = x * 2
    view = base[:2]
    with gb.no_grad():
        view.set_(gb.zeros(2))
        view.add_(1)
    assert view._base is None and base.tolist() == [2.0] * 3
    base.sum().backward()
    assert x.grad.tolist() == [2.0] * 3


def cut(function: Callable[[Any], Any]) -> tuple[Any, Any, Any]:
    """A leaf of ones, twice that, and two parts of the latter, of which the first is then tripled."""
    x = gb.ones(4, requires_grad=True)
    y = x * 2
    parts = function(y)
    parts[0].mul_(3)
    return x, y, parts


PARTS: dict[str, Callable[[Any], Any]] = {
    "unsafe_split": lambda x: x.unsafe_split(2), "unsafe_chunk": lambda x: gb.unsafe_chunk(x, 2),
    "unsafe_split_with_sizes": lambda x: x.unsafe_split_with_sizes([2, 2]),
}  # fmt: skip


@pytest.mark.parametrize("name", PARTS)
def test_unsafe_parts_count_their_writes_apart(name: str) -> None:
    x, y, (first, second) = cut(PARTS[name])
    assert (first._version, second._version, y._version) == (1, 0, 0) and not first._is_view()
    assert y.tolist() == [6.0, 6.0, 2.0, 2.0]
    (first.sum() + second.sum()).backward()
    assert x.grad.tolist() == [6.0, 6.0, 2.0, 2.0]
    with gb.inference_mode():
        assert all(part.is_inference() for part in PARTS[name](gb.ones(4)))


SLICES: dict[str, Callable[[Any], Any]] = {
    "sections": lambda x: x.tensor_split(2), "indices": lambda x: x.tensor_split((2,)),
    "tensor": lambda x: gb.tensor_split(x, gb.tensor([2])), "hsplit": lambda x: x.hsplit(2),
    "one": lambda x: [*x.tensor_split(1), x[2:]],
}  # fmt: skip


@pytest.mark.parametrize("name", SLICES)
def test_parts_between_places_may_be_written_to(name: str) -> None:
    x, y, (_, second) = cut(SLICES[name])
    second.mul_(5)
    (y * 1).sum().backward(retain_graph=True)
    want = [6.0, 6.0, 10.0, 10.0] if name != "one" else [6.0, 6.0, 30.0, 30.0]
    assert x.grad.tolist() == want
    second.sum().backward()
    assert x.grad.tolist() == want[:2] + [2 * slope for slope in want[2:]]


def test_tensors_that_fit_are_given_back() -> None:
    x, other = gb.ones(2, 3), gb.ones(3)
    first, second = gb.broadcast_tensors(x, other)
    assert first is x and second._base is other and second.shape == (2, 3)
    assert gb.cartesian_prod(other) is other

"""Views that are taken while the user records nothing: whatever makes them, no recorded write goes into them."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.tensor.hooks import UNRECORDED

MAKERS: dict[str, Callable[[Any], Any]] = {
    "t": lambda x: x.t(), "T": lambda x: x.T, "mT": lambda x: x.mT, "H": lambda x: x.H, "slice": lambda x: x[1:3],
    "int": lambda x: x[1], "tuple": lambda x: x[1:3, :], "ellipsis": lambda x: x[...], "view": lambda x: x.view(16),
    "view of sizes": lambda x: x.view((2, 8)), "expand": lambda x: x.expand(4, 4),
    "expand_as": lambda x: x.expand_as(x), "reshape": lambda x: x.reshape(-1), "permute": lambda x: x.permute(1, 0),
    "unsqueeze": lambda x: x.unsqueeze(0), "unbind": lambda x: x.unbind()[0], "split": lambda x: x.split(2)[1],
    "chunk": lambda x: gb.chunk(x, 2)[0], "iteration": lambda x: list(x)[3], "transpose": lambda x: x.transpose(0, 1),
    "narrow": lambda x: x.narrow(0, 0, 1), "function": lambda x: gb.transpose(x, 0, 1),
    "select": lambda x: gb.select(x, 0, 1), "by name": lambda x: gb.transpose(input=x, dim0=0, dim1=1),
    "diagonal": lambda x: x.diagonal(), "view_as": lambda x: x.view_as(x),
    "meshgrid": lambda x: gb.meshgrid(x[0], indexing="xy")[0], "einsum": lambda x: gb.einsum("ij->ji", x),
    "atleast_3d": lambda x: gb.atleast_3d(x), "linalg.diagonal": lambda x: gb.linalg.diagonal(x),
    "broadcast_tensors": lambda x: gb.broadcast_tensors(x, gb.zeros(1, 1, 4))[0],
    "a view of a view": lambda x: x[1:3][0:1], "unfold": lambda x: x.unfold(0, 2, 1)[0],
    "flatten": lambda x: x.flatten(), "as_strided": lambda x: x.as_strided((2,), (1,)),
    "view of another dtype": lambda x: x.view(gb.float32),
}  # fmt: skip


@pytest.mark.parametrize("name", MAKERS)
def test_a_recorded_write_into_the_view_is_refused(name: str) -> None:
    x, w = gb.zeros(4, 4), gb.ones((), requires_grad=True)
    with gb.no_grad():
        view = MAKERS[name](x)
        view.add_(1)
    later = view[...]
    view.add_(1)
    for one in (view, later):
        with pytest.raises(RuntimeError, match="created in no_grad mode and is being modified inplace"):
            one.add_(w)
    assert view.tolist() == later.tolist() and view.flatten()[0].item() == 2.0
    assert not x.requires_grad and x._version == 2


def test_what_is_no_new_view_is_written_to_as_before() -> None:
    x, w = gb.zeros(4, 4), gb.ones((), requires_grad=True)
    row = x[1:3]
    with gb.no_grad():
        detached = x.detach()
        assert row.contiguous() is row and x.real is x and x.reshape(4, 4) is not x
        assert gb.broadcast_tensors(row, row)[0] is row
        assert row.view(2, 4).detach().add_(1).tolist() == [[1.0] * 4] * 2
    detached.add_(w)
    row.add_(w)
    assert type(row.grad_fn).__name__ == "AsStridedBackward0" and x.requires_grad


def test_the_view_cannot_follow_a_write_to_its_base() -> None:
    x, w = gb.zeros(3), gb.ones(3, requires_grad=True)
    with gb.no_grad():
        view = x[:2]
    x.add_(w)
    with pytest.raises(RuntimeError, match="created in no_grad mode and its base or another view"):
        view * 2


def test_views_are_special_only_while_a_user_records_nothing() -> None:
    def forget() -> None:
        gb.set_grad_enabled(False)
        assert UNRECORDED

    x = gb.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    assert not UNRECORDED
    thread = threading.Thread(target=forget)
    thread.start()
    thread.join()
    assert not UNRECORDED
    gb.set_grad_enabled(False)
    with gb.enable_grad(), gb.no_grad():
        assert UNRECORDED
    gb.set_grad_enabled(True)
    assert not UNRECORDED
    with pytest.raises(ZeroDivisionError), gb.no_grad():
        raise ZeroDivisionError
    assert not UNRECORDED


def test_views_out_of_the_collectors_sight_get_a_history() -> None:
    base, factor = gb.ones(4), gb.full((4,), 3.0, requires_grad=True)
    view = base[1:]
    gc.collect()
    gc.freeze()
    base.mul_(factor)
    assert view.requires_grad
    view.sum().backward()
    assert factor.grad.tolist() == [0.0, 1.0, 1.0, 1.0]

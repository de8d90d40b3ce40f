"""Warnings point at the line of the caller, however deep in the engine they are given."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from pathlib import Path

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.calls import caller
from gaugeblock.core.warn import PACKAGE, warn
from gaugeblock.interop import typed_storage

F = gb.nn.functional


def read_only() -> np.ndarray:  # type: ignore[type-arg]
    made = np.zeros(3, np.float32)
    made.flags.writeable = False
    return made


def backward_of_nan() -> None:
    with gb.autograd.set_detect_anomaly(True):
        result = gb.sqrt(gb.tensor([-1.0], requires_grad=True)).sum()
        with pytest.raises(RuntimeError, match="returned nan values"):
            result.backward()


def replaced_kernel() -> None:
    library = gb.library.Library("caller_warned", "DEF")
    library.define("same(Tensor x) -> Tensor")
    library.impl("same", lambda x: x, "CPU")
    library.impl("same", lambda x: x, "CPU")


CALLS: dict[str, Callable[[], object]] = {
    "index of a list of lists": lambda: gb.ones(3, 3)[[[0, 1], [1, 2]]],
    "index of uint8": lambda: gb.ones(3)[gb.tensor([1, 0, 1], dtype=gb.uint8)],
    "assignment by uint8": lambda: gb.ones(3).__setitem__(gb.tensor([1, 0, 1], dtype=gb.uint8), 2.0),
    "index_fill_ of an expanded tensor": lambda: gb.ones(1).expand(3).index_fill_(0, gb.tensor([0]), 2.0),
    "masked_fill_ of an expanded tensor": lambda: gb.ones(1).expand(3).masked_fill_(gb.tensor([True] * 3), 2.0),
    "random_": lambda: gb.ones(3).random_(0, 2**30),
    "cov": lambda: gb.cov(gb.ones(2, 1)),
    "cross without dim": lambda: gb.cross(gb.ones(3), gb.ones(3)),
    "corrcoef": lambda: gb.corrcoef(gb.ones(2, 1)),
    "var": lambda: gb.ones(1).var(),
    "std_mean": lambda: gb.std_mean(gb.ones(1)),
    "complex to real": lambda: gb.ones(2, dtype=gb.complex64).to(gb.float32),
    "complex copied into real": lambda: gb.ones(2).copy_(gb.ones(2, dtype=gb.complex64)),
    "tensor of a tensor": lambda: gb.tensor(gb.ones(2)),
    "out= of a pointwise operator": lambda: gb.add(gb.ones(2), gb.ones(2), out=gb.ones(3)),
    "out= of half precision": lambda: gb.add(gb.ones(2), gb.ones(2), out=gb.ones(3, dtype=gb.float16)),
    "out= of a product": lambda: gb.mm(gb.ones(2, 2), gb.ones(2, 2), out=gb.ones(3)),
    "out= of a reduction": lambda: gb.sum(gb.ones(2, 2), 0, out=gb.ones(3)),
    "out= of a join": lambda: gb.cat([gb.ones(2), gb.ones(2)], out=gb.ones(3)),
    "out= of a comparison": lambda: gb.eq(gb.ones(2), 1, out=gb.ones(3, dtype=gb.bool)),
    "out= of two": lambda: gb.sort(gb.ones(2), out=(gb.ones(3), gb.ones(3, dtype=gb.int64))),
    "out= that is conjugated": lambda: gb.add(
        gb.ones(2, dtype=gb.complex64), 1, out=gb.ones(3, dtype=gb.complex64).conj()
    ),
    "out= of arange": lambda: gb.arange(4, out=gb.ones(3)),
    "positional alpha": lambda: gb.add(gb.ones(2), 2, gb.ones(2)),
    "range": lambda: gb.range(0, 3),
    "from_numpy": lambda: gb.from_numpy(read_only()),
    "as_tensor": lambda: gb.as_tensor(read_only()),
    "frombuffer": lambda: gb.frombuffer(b"abcd", dtype=gb.uint8),
    "set_default_tensor_type": lambda: gb.set_default_tensor_type(gb.FloatTensor),
    "TypedStorage": lambda: gb.TypedStorage(2),
    "grad of what is no leaf": lambda: (gb.ones(2, requires_grad=True) * 2).grad,
    "detect_anomaly": gb.autograd.detect_anomaly,
    "anomaly": backward_of_nan,
    "replaced kernel": replaced_kernel,
    "upsample": lambda: F.upsample(gb.ones(1, 1, 2, 2), 4),
    "size_average": lambda: F.mse_loss(gb.ones(2), gb.ones(2), size_average=False),
    "softmax without dim": lambda: F.softmax(gb.ones(2)),
    "eps of gumbel_softmax": lambda: F.gumbel_softmax(gb.ones(2), eps=1e-3),
    "grid_sample": lambda: F.grid_sample(gb.ones(1, 1, 2, 2), gb.zeros(1, 2, 2, 2)),
    "affine_grid": lambda: F.affine_grid(gb.ones(1, 2, 3), [1, 1, 2, 2]),
    "mse_loss of other sizes": lambda: F.mse_loss(gb.ones(2), gb.ones(1)),
    "kl_div": lambda: F.kl_div(gb.zeros(2), gb.ones(2), reduction="mean"),
    "one parameter twice": lambda: gb.optim.SGD([{"params": [leaf := gb.ones(2, requires_grad=True), leaf]}], lr=0.1),
}


REPEATED = 4
"""Times that each call is made: later ones may be answered by what an earlier one left in a cache."""


@pytest.mark.parametrize("name", CALLS)
def test_a_warning_names_the_file_of_the_caller(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typed_storage, "_WARNED", [])
    gb.set_warn_always(True)
    try:
        for _ in range(REPEATED):
            caller._WARNED.clear()
            typed_storage._WARNED.clear()
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                CALLS[name]()
            assert {one.filename for one in found} == {__file__}
    finally:
        gb.set_warn_always(False)


def test_no_module_of_the_engine_counts_frames() -> None:
    counting = [
        str(path.relative_to(PACKAGE))
        for path in Path(PACKAGE).rglob("*.py")
        if "stacklevel=" in path.read_text(encoding="utf-8")
    ]
    assert counting == []


def test_a_warning_has_the_category_that_is_asked_for() -> None:
    with pytest.warns(RuntimeWarning, match="why") as found:
        warn("why", RuntimeWarning)
    assert found[0].filename == __file__


def test_every_call_warns_that_no_degrees_of_freedom_are_left() -> None:
    x, out = gb.ones(1, 2), gb.empty(2)
    recorded = gb.ones(1, 2, requires_grad=True)
    calls: list[Callable[[], object]] = [
        lambda: x.var(0), lambda: gb.std(x, [0]), lambda: gb.var_mean(x, 0, correction=3), lambda: recorded.var(0),
        lambda: gb.var(x, 0, out=out), lambda: gb.std(x, 0, out=out), lambda: gb.std_mean(recorded, 0),
    ]  # fmt: skip
    for call in calls:
        for _ in range(4):
            with pytest.warns(UserWarning, match="degrees of freedom") as found:
                call()
            assert [one.filename for one in found] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="degrees of freedom"):
            x.var(0)
        assert x.var(1).tolist() == [0.0]


def test_kept_calls_of_a_variance_that_warns_tell_corrections_apart() -> None:
    one = gb.tensor([2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            assert math.isnan(gb.var(one, 0, correction=1).item())
            assert gb.var(one, 0, correction=0).item() == 0
            assert math.isnan(gb.var(one, 0).item())
            assert gb.var(one, 0, unbiased=False).item() == 0
            assert gb.std(one, unbiased=False).item() == 0
            assert math.isnan(gb.std(one, dim=0, correction=2.5).item())

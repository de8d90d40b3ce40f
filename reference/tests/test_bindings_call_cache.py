"""The call cache: entries give what the dispatcher gives, and are left where it must be asked."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.calls.call_cache import ENABLED, OTHER, plain
from gaugeblock.calls.functions import FUNCTIONS, ops
from gaugeblock.dispatch import REGISTRY, call
from gaugeblock.dispatch.guards import Guard
from gaugeblock.kernels.bound_call import UNSET, Fresh, Into, View, form_of
from gaugeblock.operators.rows import rows

from .cached import CACHED

RAISED = (IndexError, RuntimeError, ValueError, TypeError)
ROWS = [
    name for name, row in rows().items()
    if {"function", "method", "nn"} & {*row.variants} and row.family != "factory" and row.base not in FUNCTIONS
]  # fmt: skip


def entries(x: gb.Tensor, name: str) -> list[Any]:
    """The entries of a binding in the cache of a tensor's meta."""
    return [entry for key, entry in x.meta.calls.items() if key[0] == name]


def outcome(function: Any, text: str, names: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gb.manual_seed(1)
        try:
            result = eval(f"F({text})", {**names, "F": function})
        except (*RAISED, NotImplementedError, OverflowError) as error:
            return type(error)
    return result if isinstance(result, tuple) else (result,)


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, type) or isinstance(theirs, type):
        return ours is theirs
    return type(ours) is type(theirs) and len(ours) == len(theirs) and all(map(alike, ours, theirs))


def alike(one: Any, other: Any) -> bool:
    if isinstance(one, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if not isinstance(one, gb.Tensor):
        return bool(one == other)
    if one.stride() != other.stride() or one.dtype is not other.dtype or one._version != other._version:
        return False
    return np.allclose(one.numpy(force=True), other.numpy(force=True), rtol=1e-6, equal_nan=True)


def other_data(names: dict[str, Any]) -> dict[str, Any]:
    """The same metas with other floating values."""
    fresh = {}
    for name, value in names.items():
        if isinstance(value, gb.Tensor) and value.dtype is gb.float32 and name != "e":
            value = gb.empty_strided(value.shape, value.stride()).copy_(value * 0.7 - 1.3)
        fresh[name] = value
    return fresh


@pytest.mark.parametrize("name", ROWS)
def test_entries_agree_with_the_dispatcher(
    name: str, operator_samples: dict[str, list[str]], sample_names: Any
) -> None:
    row = rows()[name]
    for operator in [row.name] + ([row.inplace_name] if row.inplace_name else []):
        base = operator.partition(".")[0]
        public = getattr(gb, base, None) or getattr(gb.Tensor, base, None) or getattr(ops, base)
        for text in operator_samples.get(name, []):
            for change in (dict, other_data, dict):
                ours = outcome(public, text, change(sample_names(gb, "cpu")))
                found = REGISTRY.find(operator)
                theirs = outcome(lambda *a, f=found, **k: call(f, *a, **k), text, change(sample_names(gb, "cpu")))
                if isinstance(theirs, type) and not isinstance(ours, type):
                    continue
                assert same(ours, theirs), f"{operator}({text}): {ours} and {theirs}"
def test_numbers_are_not_kept() -> None:
    x = gb.tensor([-2.0, 0.5, 3.0])
    assert [x.clamp(0.0, high).tolist()[2] for high in (1.0, 2.0, 5.0)] == [1.0, 2.0, 3.0]
    assert [x.masked_fill(x > 0, value).tolist()[1] for value in (1, 2, 3)] == [1.0, 2.0, 3.0]
    assert [(x**power).tolist()[2] for power in (2, 3, 2.0, 1)] == [9.0, 27.0, 9.0, 3.0]
    for _ in range(2):
        with pytest.raises(RuntimeError, match="overflow"):
            x.clamp(0.0, 1e300)
        with pytest.raises(RuntimeError, match="overflow"):
            _ = x**1e300


def test_keys_tell_types_apart() -> None:
    x = gb.ones(2, 3)
    for _ in range(2):
        assert tuple(x.sum(1).shape) == (2,) and tuple(x.sum((1,), True).shape) == (2, 1)
        for wrong in (1.0, "1", (1.0,)):
            with pytest.raises(TypeError):
                x.sum(wrong)
        with pytest.raises(TypeError):
            x.sum(1, 1)
        with pytest.raises(TypeError):
            x.index_select(0.0, gb.tensor([0]))
        with pytest.raises(TypeError):
            gb.cat([x, 1])


def test_out_is_checked_each_time() -> None:
    a, b, out = gb.arange(4.0), gb.ones(4), gb.zeros(4)
    base = gb.arange(8.0)
    for _ in range(3):
        version = out._version
        assert gb.add(a, b, out=out) is out and out._version == version + 1
        assert gb.add(base[:4], 1.0, out=out).tolist() == [1, 2, 3, 4]
        with pytest.raises(RuntimeError):
            gb.add(base[1:5], 1.0, out=base[:4])
        assert gb.add(a, b, out=a).tolist()[0] == a.tolist()[0]
    assert gb.add(a, b, alpha=2).tolist() == gb.add(a, b * 2).tolist() == gb.add(a, b, alpha=2.0).tolist()


WRITTEN = (
    "gb.cumsum(a, 0", "gb.sum(m, 1", "gb.mm(m, m", "gb.matmul(m, m", "gb.clamp(m, 0.0, 2.0", "gb.where(m > 1, m, m + 1",
    "gb.cat((m, m), 1", "gb.argmax(m, 1", "gb.gather(m, 1, i", "gb.tril(m", "gelu(m", "linear(m, m",
)  # fmt: skip


@pytest.mark.parametrize("call", WRITTEN)
def test_out_takes_what_runners_give(call: str) -> None:
    names = {"gb": gb, "a": gb.arange(4.0), "m": gb.arange(16.0).reshape(4, 4), "i": gb.zeros(4, 2, dtype=gb.int64)}
    names |= {name: getattr(ops, name) for name in ("gelu", "linear")}
    wanted = eval(f"{call})", names)
    names["out"] = out = gb.full_like(wanted, 7)
    for _ in range(4):
        version = out._version
        assert eval(f"{call}, out=out)", names) is out
        assert out._version == version + 1 and out.tolist() == wanted.tolist()
        out.fill_(7)
    names["empty"] = gb.empty(0, dtype=out.dtype)
    assert eval(f"{call}, out=empty)", names).tolist() == wanted.tolist()


def test_out_that_is_an_input_too() -> None:
    for _ in range(4):
        x = gb.arange(4.0)
        assert gb.cumsum(x, 0, out=x) is x and x.tolist() == [0.0, 1.0, 3.0, 6.0]
        base = gb.arange(5.0)
        with pytest.raises(RuntimeError):
            gb.clamp(base[:4], 0.0, 2.0, out=base[1:])


def test_guards_and_other_devices_leave_runners_alone() -> None:
    x, seen = gb.ones(3), []
    for _ in range(2):
        x.softmax(0), x.clamp(0.0, 2.0), gb.cat([x, x])
    remove = REGISTRY.register("softmax.int", "CPU", lambda *args: seen.append(args), warn=False)
    x.softmax(0)
    remove()
    with Guard():
        assert x.softmax(0).tolist() == x.clamp(0.0, 2.0).softmax(0).tolist()
    assert len(seen) == 1
    meta = gb.empty(3, device="meta")
    with pytest.raises(RuntimeError):
        gb.cat([x, meta])
    assert meta.softmax(0).device.type == "meta"


def test_nothing_is_kept_alive() -> None:
    x, index = gb.ones(4, 4), gb.zeros(4, 4, dtype=gb.int64)
    for text in (
        "x.add_(1)", "gb.add(x, x, out=gb.empty(4, 4))", "x.clamp(0.0, 1.0)", "gb.cat([x, x])", "x.gather(1, index)",
        "x.scatter(1, index, x)", "x @ x", "x.sort()", "x.sum(1)", "gb.where(x > 0, x, x)", "x.topk(2)",
        "x.copy_(gb.zeros(4, 4))", "gb.add(x, x, alpha=2)", "x.masked_fill(x > 0, 1.0)", "gb.addmm(x, x, x)",
        "gb.equal(x, x)", "x.flip(0)", "x.index_select(0, index[0])", "x[index[0]]", "x.float()", "x.to(gb.float64)",
    ):  # fmt: skip
        eval(text, {"gb": gb, "x": x, "index": index})
        with pytest.raises(RuntimeError):
            gb.cat([x, gb.ones(3, 3)], 1)
    storages = [weakref.ref(x.storage_impl), weakref.ref(index.storage_impl)]
    del x, index
    assert [storage() for storage in storages] == [None, None]


def test_indices_are_checked_each_time() -> None:
    x = gb.arange(12.0).reshape(3, 4)
    for places, right in (([0, 2], True), ([2, 1], True), ([0, 3], False), ([0, -1], False), ([1, 1], True)):
        index = gb.tensor(places)
        if right:
            assert x.index_select(0, index).tolist() == [x[place].tolist() for place in places] == x[index].tolist()
            continue
        with pytest.raises(IndexError):
            x.index_select(0, index)
        with pytest.raises(RuntimeError):
            x.gather(0, index.view(2, 1))
    assert x[gb.tensor([0, -1])].tolist() == [x[0].tolist(), x[2].tolist()]
    with pytest.raises(IndexError):
        x[gb.tensor([0, 3])]


LISTS = {
    "x.sum([1])": "x.sum((1,))", "x.flip([0])": "x.flip(0)", "x.flip((0,))": "x.flip(0)",
    "gb.amax(x, [1])": "gb.amax(x, (1,))", "x.roll([1], [0])": "x.roll((1,), (0,))",
}  # fmt: skip


@pytest.mark.parametrize("call", LISTS)
def test_ints_in_a_list_are_served_as_those_in_a_tuple(call: str) -> None:
    names = {"gb": gb, "x": gb.arange(6, dtype=gb.float32).reshape(2, 3)}
    expected = eval(LISTS[call], names)
    kept = len(names["x"].meta.calls)
    results = [eval(call, names) for _ in range(2)]
    assert len(names["x"].meta.calls) == kept
    assert all(gb.equal(one, expected) for one in results)


def test_missing_sizes_are_not_an_empty_list() -> None:
    x = gb.ones(2, 3)
    assert x.flip([]).tolist() == x.flip(()).tolist() == x.tolist()
    with pytest.raises(TypeError, match=r'flip\(\) missing 1 required positional argument: "dims"'):
        x.flip()
    with pytest.raises(TypeError, match=r'repeat\(\) missing 1 required positional argument: "repeats"'):
        x.repeat()


def test_bools_and_ints_are_told_apart() -> None:
    assert plain(True) is not plain(1) and plain(1) == 1
    assert plain((1, True)) is OTHER and plain(1.0) is OTHER and plain((1, 2)) == (1, 2)
    x = gb.tensor([[1.0, 2.0], [3.0, 5.0]])
    for _ in range(2):
        assert x.var(1).tolist() == [0.5, 2.0] and x.var(True).item() == pytest.approx(2.9166667)


@CACHED
@pytest.mark.parametrize("function", [gb.exp, lambda x: x + x, lambda x: x + 1.5, lambda x: 2 - x, lambda x: x.neg_()])
def test_a_new_size_gets_its_entry_from_another(function: Callable[[gb.Tensor], gb.Tensor]) -> None:
    function(gb.ones(11))
    x = gb.ones(12, 13)
    x.meta.calls.clear()
    function(x)
    [form] = [form_of(entry) for entry in x.meta.calls.values()]
    assert form is not None and form.tail == (156,)
    np.testing.assert_array_equal(function(gb.full((3, 1, 5), 2.0)).numpy(), function(gb.full((15,), 2.0)).numpy()[0])


def test_other_layouts_are_planned_for_themselves() -> None:
    gb.exp(gb.ones(11))
    turned = gb.arange(6.0).view(2, 3).t()
    assert turned.exp().stride() == (1, 3)
    assert gb.exp(gb.ones(15, device="meta")).device.type == "meta"


def test_the_default_dtype_is_asked_every_time() -> None:
    x = gb.ones(40, dtype=gb.int64)
    try:
        for dtype in (gb.float32, gb.float64, gb.float32):
            gb.set_default_dtype(dtype)
            found = {(x * 0.5).dtype, x.exp().dtype, gb.logsumexp(x, 0).dtype, gb.div(x, x).dtype, (0.5 - x).dtype}
            assert found == {dtype}
    finally:
        gb.set_default_dtype(gb.float32)


@CACHED
def test_an_entry_in_machine_code_does_what_it_is_made_of() -> None:
    a, b = gb.arange(4.0), gb.ones(4)
    a.meta.calls.clear()
    a + b, a.add_(b), a.clamp(0.0, 2.0)
    for name in ("add", "clamp"):
        [entry] = entries(a, name)
        form = form_of(entry)
        assert isinstance(form, Fresh) and entry is not form
        values = (a, b) if name == "add" else (a, 0.0, 2.0)
        assert entry(*values).tolist() == form(*values).tolist()
    [entry] = entries(a, "add_")
    form = form_of(entry)
    assert isinstance(form, Into) and form.read
    for call_ in (entry, form):
        x, y = gb.arange(8.0)[:4], gb.ones(4)
        assert call_(x, y) is x and x.tolist() == [1, 2, 3, 4] and x._version == 1
        assert call_(x, x) is x and x.tolist() == [2, 4, 6, 8]
        assert call_(x, x.view(4)) is x and x.tolist() == [4, 8, 12, 16] and x._version == 3
        assert call_(x, x.as_strided((4,), (1,), 1)) is None and x._version == 3
    limited = form_of(entries(a, "clamp")[0])
    for call_ in (limited, limited.native()):
        for wrong in (1e30, -1e30, 65505, 1 << 70, 1 << 2000):
            assert call_(a, 0.0, wrong) is None
        assert call_(a, 2.5, float("inf")).tolist() == [2.5, 2.5, 3.0, 4.0]
        assert call_(a, UNSET, 0.0, None, 2.0).tolist() == a.clamp(0.0, 2.0).tolist()


@CACHED
def test_references_are_counted() -> None:
    a, b = gb.arange(4.0), gb.ones(4)
    a.meta.calls.clear()
    a + b
    [entry] = entries(a, "add")
    gc.collect()
    before = sys.getrefcount(a), sys.getrefcount(b), sys.getrefcount(a.meta)
    results = [entry(a, b) for _ in range(1000)]
    kept = sys.getrefcount(a.meta)
    del results
    gc.collect()
    assert kept >= before[2] + 990
    assert (sys.getrefcount(a), sys.getrefcount(b), sys.getrefcount(a.meta)) == before
    assert entry(a, "no number") is None
    assert sys.getrefcount(a) == before[0]


def test_a_failing_kernel_leaves_nothing_behind() -> None:
    meta = gb.ones(4).meta

    def fail(*values: Any) -> None:
        raise KeyError("kernel")

    for call_ in (Fresh(fail, (meta, meta), (4,)).native(), Into(fail, (4,), False, False).native()):
        x = gb.ones(4)
        count, tensors = sys.getrefcount(x), sum(type(one) is gb.Tensor for one in gc.get_objects())
        for _ in range(50):
            with pytest.raises(KeyError):
                call_(x, x.clone())
        assert sys.getrefcount(x) == count
        assert sum(type(one) is gb.Tensor for one in gc.get_objects()) <= tensors


@pytest.mark.skipif(not ENABLED, reason="runs the tests without the cache from those with it")
def test_without_the_cache_everything_works() -> None:
    program = (
        "import gaugeblock as gb; a = gb.arange(6.0).view(2, 3); x = gb.ones(3, requires_grad=True)\n"
        "for _ in range(3): r = [(a + a.exp()).sum(), (2 - a).clamp(0, 1).tolist(), a.softmax(0).shape, (a @ a.t())]\n"
        "a.add_(1); (x * 2).sum().backward(); print(r[1], x.grad.tolist(), a.meta.calls, x.meta.calls)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "GAUGEBLOCK_CALL_CACHE": "0"},
        capture_output=True,
        text=True,
    )
    assert shown.stdout.strip() == "[[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]] [2.0, 2.0, 2.0] {} {}", shown.stderr


def test_values_of_numbers_that_decide_the_call_are_looked_at() -> None:
    x = gb.tensor([-0.5, 0.25])
    for _ in range(2):
        assert [gb.nn.functional.celu(x, alpha).tolist()[0] for alpha in (1.0, 0.5)] == pytest.approx(
            [-0.393469, -0.316060], abs=1e-5
        )
        assert gb.nn.functional.softshrink(x, 0.25).tolist() == [-0.25, 0.0]
        assert gb.isclose(x, x + 0.1, rtol=0.0, atol=0.2).tolist() == [True, True]
        assert gb.logit(gb.tensor([0.25]), eps=0.3).item() == pytest.approx(-0.847298)
        assert gb.logit(gb.tensor([0.25]), eps=-1.0).item() == pytest.approx(-1.098612)
        with pytest.raises(RuntimeError, match="softshrink"):
            gb.nn.functional.softshrink(x, -1.0)
        with pytest.raises(RuntimeError, match="celu"):
            gb.nn.functional.celu(x, 0.0)
        with pytest.raises(RuntimeError, match="rtol"):
            gb.isclose(x, x, rtol=-1.0)
    assert (gb.tensor([True]) + 2j).dtype is gb.complex64
    gb.set_default_dtype(gb.float64)
    try:
        assert (gb.tensor([True]) + 2j).dtype is gb.complex128
    finally:
        gb.set_default_dtype(gb.float32)


def test_out_that_has_no_call_of_its_own() -> None:
    for _ in range(3):
        x = gb.tensor([0.5, -1.5], dtype=gb.bfloat16)
        assert gb.conj_physical(x, out=x) is x and x.tolist() == [0.5, -1.5]
        assert gb.fft.ifft(gb.tensor([2.0]), out=gb.empty(1, dtype=gb.complex64)).tolist() == [2 + 0j]


def test_lists_of_ints_are_read_when_the_call_is_made() -> None:
    x = gb.arange(6.0).view(2, 3)
    calls: list[Callable[[list[int]], gb.Tensor]] = [
        x.flip, x.sum, x.amax, x.std, lambda dims: gb.roll(x, [1], dims),
        lambda dims: gb.linalg.vector_norm(x, 2, dims),
    ]  # fmt: skip
    for call_ in calls:
        x.meta.calls.clear()
        expected, dims = call_([0]).tolist(), [0]
        x.meta.calls.clear()
        call_(dims)
        dims[0] = 1
        assert call_([0]).tolist() == expected


SAME_PLACE = {
    "x.t()": (3, 2), "x.transpose(0, 1)": (3, 2), "x.transpose(-1, -2)": (3, 2), "x.permute(1, 0)": (3, 2),
    "x.expand(4, 2, 3)": (4, 2, 3), "x.expand((4, 2, -1))": (4, 2, 3), "x.unsqueeze(1)": (2, 1, 3),
    "x.reshape(3, 2)": (3, 2), "x.reshape(-1)": (6,), "x.flatten()": (6,), "x.movedim(0, 1)": (3, 2),
    "gb.swapaxes(x, 0, 1)": (3, 2), "x.expand_as(gb.ones(4, 2, 3))": (4, 2, 3),
}  # fmt: skip


@CACHED
@pytest.mark.parametrize("call", SAME_PLACE)
def test_views_at_the_same_place_are_bound_to_their_meta(call: str) -> None:
    base = gb.arange(8.0)
    x = base[2:].view(2, 3)
    for _ in range(3):
        view = eval(call, {"gb": gb, "x": x})
        assert view.shape == SAME_PLACE[call] and view.storage_offset() == 2 and view._base is base
        assert view.data_ptr() == x.data_ptr() and not view.requires_grad
        assert sorted({*view.contiguous().view(-1).tolist()}) == [2, 3, 4, 5, 6, 7]
    forms = [getattr(entry, "__self__", None) for entry in entries(x, call.partition("(")[0].partition(".")[2])]
    assert View((view.meta,), (0,), (0,)) in forms
    view.zero_()
    assert base.tolist() == [0, 1, 0, 0, 0, 0, 0, 0] and x._version == view._version == base._version == 1


@CACHED
def test_one_entry_serves_all_places_of_a_view() -> None:
    x = gb.arange(20.0).reshape(4, 5)
    for start in range(3):
        assert x.narrow(0, start, 2).tolist() == x[start : start + 2].tolist()
        assert x.select(1, start).tolist() == [row[start] for row in x.tolist()]
        assert x.diagonal(start).tolist() == [x.tolist()[k][k + start] for k in range(min(4, 5 - start))]
    assert [len(entries(x, name)) for name in ("narrow", "select")] == [1, 1]
    for wrong in (lambda: x.narrow(0, 3, 2), lambda: x.select(1, 5), lambda: x.diagonal(0, 1, 1)):
        with pytest.raises((IndexError, RuntimeError)):
            wrong()
    with pytest.raises(TypeError):
        x.narrow(0, 1.5, 2)


def test_a_view_says_where_it_was_taken_from_once_it_is_kept() -> None:
    x = gb.zeros(2, 3)
    marked = []
    for _ in range(3):
        with gb.no_grad():
            marked += [x.t(), x.narrow(0, 0, 1), gb.transpose(x, 0, 1), x[0]]
        assert x.t().add_(gb.ones(3, 2, requires_grad=True)).requires_grad
        x = gb.zeros(2, 3)
    for view in marked:
        with pytest.raises(RuntimeError, match="no_grad mode"):
            view.mul_(gb.ones(1, requires_grad=True))


def test_a_view_of_a_tensor_that_requires_grad_is_recorded() -> None:
    w, x = gb.ones(2, 3, requires_grad=True), gb.ones(2, 3)
    for _ in range(3):
        assert x.t().grad_fn is None and x.detach().grad_fn is None
        assert w.t().grad_fn is not None and w.narrow(0, 0, 1).grad_fn is not None
        alone = w.detach()
        assert alone.grad_fn is None and not alone.requires_grad and alone._base is None
        assert w[0].detach()._base is None
        assert w.split(1)[0].detach().add_(gb.ones(1, 3, requires_grad=True)).requires_grad
        assert x.expand_as(gb.ones(4, 2, 3, requires_grad=True)).grad_fn is None


@CACHED
@pytest.mark.parametrize("call", ["x.sum()", "x.sum(0)", "x.mean()", "x.amax()", "x.amax((0, 1))", "x.std()"])
def test_reductions_are_kept_with_and_without_dims(call: str) -> None:
    x = gb.arange(6.0).reshape(2, 3)
    for _ in range(2):
        eval(call, {"x": x})
    kept = entries(x, call.partition("(")[0].partition(".")[2])
    assert kept and all(kept)


@CACHED
def test_an_optional_bool_may_be_left_out() -> None:
    x, window = gb.arange(32.0), gb.ones(8)
    first, *others = [gb.stft(x, 8, window=window, return_complex=True) for _ in range(3)]
    assert len(entries(x, "stft.center")) == 1
    assert gb.stft(x, 8, window=window, onesided=False, return_complex=True).shape == (8, 17)
    assert all(gb.equal(first, one) for one in others)


@pytest.mark.parametrize("dtype", [gb.int32, gb.int64], ids=str)
def test_kept_calls_with_whole_numbers_refuse_what_the_first_would(dtype: gb.dtype) -> None:
    x = gb.arange(4, dtype=dtype)
    for _ in range(3):
        assert (x**3).tolist() == [0, 1, 8, 27] and x.clamp(1, 2).tolist() == [1, 1, 2, 2]
        assert x.addcmul(x, x, value=2).tolist() == [0, 3, 10, 21]
    with pytest.raises(RuntimeError, match="negative integer powers"):
        x**-1
    assert x.clamp(0.5, 1).dtype is gb.float32
    if dtype is gb.int32:
        with pytest.raises(RuntimeError, match="overflow"):
            x.clamp(0, 2**40)
        with pytest.raises(RuntimeError, match="overflow"):
            x.addcmul(x, x, value=2**40)
    else:
        assert x.clamp(2**40).tolist() == [2**40] * 4

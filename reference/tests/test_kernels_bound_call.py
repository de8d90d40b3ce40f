"""Bound calls in machine code and in Python: temporaries, refusals, kernels one after the other, errors, references."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.kernels.bound_call import Fresh, Kernels, Part, Slice, View, view_call

gb.add(gb.ones(1), 1)  # the compiler loads machine code with the first kernel
META = gb.zeros(3).meta


def forms(call: Any) -> list[Callable[..., Any]]:
    return [call.__call__, call.native()]


def test_machine_code_is_loaded() -> None:
    assert type(Fresh(None, (META,), ()).native()).__name__ == "builtin_function_or_method"


@pytest.mark.parametrize("form", [0, 1], ids=["Python", "machine code"])
def test_temporaries_are_passed_and_not_returned(form: int) -> None:
    seen: list[Any] = []
    results = (META, gb.zeros(2).meta, gb.zeros(5).meta)
    one = forms(Fresh(lambda *given: seen.append(given), results, (7,), temporary=2))[form]
    x = gb.zeros(4)
    made = one(x)
    assert type(made) is gb.Tensor and made.meta is META
    assert len(seen[0]) == 5 and seen[0][0] == made.data_ptr() and seen[0][3:] == (x.data_ptr(), 7)
    two = forms(Fresh(lambda *given: None, results, (), temporary=1))[form](x)
    assert [part.meta for part in two] == [META, results[1]]


@pytest.mark.parametrize("form", [0, 1], ids=["Python", "machine code"])
def test_only_a_refusing_kernel_declines_and_only_by_a_runtime_error(form: int) -> None:
    def fails(error: type[BaseException]) -> Callable[..., None]:
        def kernel(*given: Any) -> None:
            raise error("no")

        return kernel

    assert forms(Fresh(fails(RuntimeError), (META,), (), refusing=True))[form](gb.zeros(3)) is None
    with pytest.raises(RuntimeError, match="no"):
        forms(Fresh(fails(RuntimeError), (META,), ()))[form](gb.zeros(3))
    with pytest.raises(ValueError, match="no"):
        forms(Fresh(fails(ValueError), (META,), (), refusing=True))[form](gb.zeros(3))
    assert (gb.ones(2) + 1).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("form", [0, 1], ids=["Python", "machine code"])
def test_kernels_get_their_addresses_offsets_and_tails_in_turn(form: int) -> None:
    seen: list[tuple[Any, ...]] = []

    def first(*given: Any) -> None:
        seen.append(("first", *given))

    def second(*given: Any) -> None:
        seen.append(("second", *given))

    calls = ((first, (2, 0), (8, 0), (5, 6)), (second, (1,), (-4,), ()))
    assert forms(Kernels(calls, ()))[form](1 << 40, 200, 300) is None
    assert seen == [("first", 308, 1 << 40, 5, 6), ("second", 196)]


@pytest.mark.parametrize("form", [0, 1], ids=["Python", "machine code"])
def test_an_error_of_one_kernel_stops_those_behind_it_and_keeps_no_reference(form: int) -> None:
    seen: list[Any] = []

    def fails(*given: Any) -> None:
        raise ValueError("no")

    address, tail = (1 << 40) + form, (1 << 41) + form
    call = forms(Kernels(((fails, (0,), (16,), (tail,)), (seen.append, (0,), (0,), ())), ()))[form]
    before = sys.getrefcount(address), sys.getrefcount(tail)
    for _ in range(50):
        with pytest.raises(ValueError, match="no"):
            call(address)
    assert not seen and (sys.getrefcount(address), sys.getrefcount(tail)) == before


def test_temporaries_and_results_go_back_to_the_allocator() -> None:
    call = Fresh(lambda *given: None, (META, META, META), (), temporary=2).native()
    call()
    blocks = {call().data_ptr() for _ in range(200)}
    assert len(blocks) <= 6


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x, i: gb.gather(x, 0, i), RuntimeError),
        (lambda x, i: gb.index_select(x, 0, i), IndexError),
        (lambda x, i: gb.scatter(x, 0, i, x), RuntimeError),
        (lambda x, i: gb.nn.functional.embedding(i, x.reshape(2, 2)), IndexError),
    ],
    ids=["gather", "index_select", "scatter", "embedding"],
)
def test_a_kept_call_with_an_index_outside_raises_what_the_first_one_does(call: Any, error: Any) -> None:
    x, good = gb.arange(4.0), gb.tensor([0, 1, 1, 0])
    for _ in range(3):
        call(x, good)
    bad = gb.tensor([0, 9, 1, 0])
    messages = []
    for _ in range(2):
        with pytest.raises(error, match="9") as raised:
            call(x, bad)
        messages.append(str(raised.value))
    assert messages[0] == messages[1] and x.tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("operator", "error"),
    [("gather", RuntimeError), ("index_select", IndexError), ("scatter", RuntimeError), ("scatter_add", RuntimeError),
     ("index_add", IndexError)],
)  # fmt: skip
def test_a_kept_call_with_out_and_an_index_outside_changes_nothing(operator: str, error: Any) -> None:
    x, good, bad, out = gb.arange(4.0), gb.tensor([0, 1, 1, 0]), gb.tensor([0, 9, 1, 0]), gb.zeros(4)
    others = (x,) if operator not in ("gather", "index_select") else ()
    call = getattr(gb, operator)
    for _ in range(3):
        call(x, 0, good, *others, out=out)
    assert out.tolist() == call(x, 0, good, *others).tolist()
    out.fill_(7)
    with pytest.raises(error, match=r"index.* 9"):
        call(x, 0, bad, *others, out=out)
    assert out.tolist() == [7.0] * 4


EMPTIED = {
    "flip": lambda x: gb.flip(x, (0,)),
    "roll": lambda x: gb.roll(x, 1),
    "cat": lambda x: gb.cat((x, x)),
    "tril": lambda x: gb.tril(x.view(2, 4)),
    "gather": lambda x: gb.gather(x, 0, gb.zeros(2, dtype=gb.int64)),
    "index_select": lambda x: gb.index_select(x, 0, gb.zeros(2, dtype=gb.int64)),
    "embedding": lambda x: gb.nn.functional.embedding(gb.tensor([0, 1]), x.view(2, 4)),
    "scatter": lambda x: gb.scatter(x, 0, gb.zeros(2, dtype=gb.int64), gb.ones(2)),
    "max_pool1d": lambda x: gb.nn.functional.max_pool1d(x.view(1, 1, 8), 2),
    "pad": lambda x: gb.nn.functional.pad(x.view(1, 8), (1, 1), mode="reflect"),
    "nearest": lambda x: gb.nn.functional.interpolate(x.view(1, 1, 8), scale_factor=2),
    "linear": lambda x: gb.nn.functional.interpolate(x.view(1, 1, 8), scale_factor=2, mode="linear"),
    "cumsum": lambda x: gb.cumsum(x, 0),
}


@pytest.mark.parametrize("kept", [False, True], ids=["first", "kept"])
@pytest.mark.parametrize("name", EMPTIED)
def test_an_emptied_storage_is_not_read(name: str, kept: bool) -> None:
    for _ in range(3 if kept else 0):
        EMPTIED[name](gb.ones(8))
    x = gb.ones(8)
    x.untyped_storage().resize_(0)
    with pytest.raises(RuntimeError, match="storage"):
        EMPTIED[name](x)


@pytest.mark.parametrize("form", [0, 1], ids=["Python", "machine code"])
def test_views_lie_so_many_elements_further_on(form: int) -> None:
    base = gb.arange(12.0).reshape(3, 4)[1:]
    rows = [base[k] for k in range(2)]
    call = forms(View((rows[0].meta, rows[1].meta), (0, 4), (0, 16), False, True))[form]
    found = call(base)
    assert type(found) is tuple and [view.tolist() for view in found] == [[4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]]
    for view, row in zip(found, rows, strict=True):
        assert (view.storage_offset(), view.data_ptr()) == (row.storage_offset(), row.data_ptr())
        assert view._base is base._base and view._version == base._version and not view.requires_grad
    found[0].fill_(0)
    assert base[0].tolist() == [0.0] * 4 and base._version == found[1]._version
    one = forms(View((rows[1].meta,), (4,), (16,)))[form](base)
    assert one.tolist() == [8.0, 9.0, 10.0, 11.0]
    nothing = forms(View((gb.empty(0, 2).meta,), (3,), (12,)))[form](gb.empty(0, 4))
    assert nothing.data_ptr() == 0 and nothing.storage_offset() == 3


def test_a_view_call_is_made_of_views_only() -> None:
    base = gb.arange(4.0)
    assert view_call(base, base) is None
    assert view_call(base, base.clone()) is None
    assert view_call(base, base.view(gb.int32))(base + 1.0).tolist()[0] == 0x3F800000
    halves = view_call(base, base.view(gb.int16))
    assert halves(base)[1].item() == 0
    assert halves(base[1:]) is None
    assert view_call(base, (base[:2], base.clone())) is None
    again = view_call(base, base.split(2))
    assert again is not None
    assert [part.tolist() for part in again(gb.arange(4.0) + 1)] == [[1.0, 2.0], [3.0, 4.0]]


PARTS = {
    "chunk": lambda x: x.chunk(2, 1),
    "split": lambda x: x.split(2, 1),
    "split sizes": lambda x: x.split([1, 3], 1),
    "unbind": lambda x: x.unbind(0),
    "tensor_split": lambda x: gb.tensor_split(x, 3, 1),
    "hsplit": lambda x: gb.hsplit(x, [1]),
    "diagonal": lambda x: (x.diagonal(1),),
    "unfold": lambda x: (x.unfold(1, 2, 1),),
}


@pytest.mark.parametrize("name", PARTS)
def test_kept_parts_are_as_the_first_ones(name: str) -> None:
    x = gb.arange(12.0).reshape(3, 4)
    first = PARTS[name](x)
    for y in (x, gb.arange(12.0).reshape(3, 4), gb.arange(24.0).reshape(6, 4)[3:] - 12):
        again = PARTS[name](y)
        assert [part.tolist() for part in again] == [part.tolist() for part in first]
        assert [part.stride() for part in again] == [part.stride() for part in first]
        assert all(part._base is (y if y._base is None else y._base) for part in again)
    fresh = gb.ones(3, 4, requires_grad=True)
    parts = PARTS[name](fresh)
    sum((part.sum() for part in parts), gb.zeros(())).backward()
    assert fresh.grad is not None and fresh.grad.sum().item() == sum(part.numel() for part in parts)


def test_one_of_several_views_is_not_written_to_by_a_recorded_call() -> None:
    for _ in range(3):
        x = gb.ones(4)
        first, _second = x.chunk(2)
        with pytest.raises(RuntimeError, match="view"):
            first.mul_(gb.ones(2, requires_grad=True))


def test_very_many_tensors_are_joined_and_cut_apart() -> None:
    x = gb.arange(40000.0).reshape(20000, 2)
    for _ in range(3):
        parts = x.unbind(0)
        assert len(parts) == 20000 and parts[-1].tolist() == [39998.0, 39999.0]
        assert bool((gb.stack(parts) == x).all())


@pytest.mark.parametrize("form", [0, 1])
def test_a_part_is_at_a_place_of_its_dim(form: int) -> None:
    base = gb.arange(12.0).reshape(3, 4)
    call = forms(Part(base.select(1, 0).meta, 4, 3, 1, 4))[form]
    assert [call(base, place).tolist() for place in (0, 3, -1, -4)] == [
        [0.0, 4.0, 8.0], [3.0, 7.0, 11.0], [3.0, 7.0, 11.0], [0.0, 4.0, 8.0],
    ]  # fmt: skip
    found = call(base, 2)
    assert (found.storage_offset(), found._base is base._base, found.is_contiguous()) == (2, True, False)
    for wrong in (4, -5, 1 << 70, -(1 << 70), None, 1.0, True, "1", base):
        assert call(base, wrong) is None


@pytest.mark.parametrize("form", [0, 1])
def test_a_slice_has_the_meta_of_its_length(form: int) -> None:
    base = gb.arange(7.0)
    metas = {len(part): part.meta for part in (base[0:0:2], base[0:2:2], base[0:3:2], base[::2])}
    call = forms(Slice(metas, 7, 2, 1, 4))[form]
    for start in (None, 0, 1, 3, 6, 7, 9, -1, -7, -8, 1 << 62):
        for end in (None, 0, 1, 5, 7, 8, -1, -2, -7, -9, (1 << 63) - 1, -(1 << 63)):
            places = list(range(7))[start:end:2]
            found = call(base, start, end)
            assert found is None if len(places) not in metas else found.tolist() == [float(one) for one in places]
    for wrong in (1.0, True, "1", base, *([1 << 70] if form else [])):
        assert call(base, wrong, 3) is None
        assert call(base, 0, wrong) is None


CHANGED = """
import threading
import gaugeblock as gb
from gaugeblock.kernels.bound_call import Change, Share

gb.add(gb.ones(1), 1)
for native in (False, True):
    x = gb.arange(6.0).reshape(2, 3)
    change, version = Change(x.t().meta), x._version
    call = change.native() if native else change.__call__
    assert call(x) is x
    assert x.tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    assert x._version == version + 1
    with gb.inference_mode():
        inferred = gb.zeros(2, 3)
    try:
        call(inferred)
        raise AssertionError("an inference tensor was changed")
    except RuntimeError as error:
        assert "inference tensor" in str(error)

share = Share().native()
x, source = gb.zeros(3), gb.arange(4.0)[1:]
source.add_(1.0)
x.mul_(2.0)
for version in (2, 3, 4):
    assert share(x, source) is x
    assert (x.tolist(), x._version, x.storage_offset(), x._base) == ([2.0, 3.0, 4.0], version, 1, None)
assert x.data_ptr() == source.data_ptr()
x.add_(1.0)
assert source.tolist() == [3.0, 4.0, 5.0]
assert (x._version, source._version) == (5, 1)
assert share(x, 1.0) is None

x, end = gb.zeros(2, 3), threading.Event()
change = Change(x.t().meta).native()
thread = threading.Thread(target=end.wait)
thread.start()
try:
    assert change(x) is None
    assert share(x, gb.zeros(3)) is None
    assert x.shape == (2, 3)
finally:
    end.set()
    thread.join()
assert change(x) is x
print("changed")
"""


def test_metadata_is_changed_by_machine_code_unless_there_are_other_threads() -> None:
    run = subprocess.run([sys.executable, "-c", CHANGED], capture_output=True, text=True, check=False)
    assert (run.stdout, run.stderr) == ("changed\n", "")

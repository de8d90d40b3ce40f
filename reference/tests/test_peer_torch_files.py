"""Files through PyTorch and back: torch.load opens what gb.save wrote, and gb.load what torch.save wrote."""

from __future__ import annotations

import collections
import io
import warnings
from pathlib import Path
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.core.dtype import ALL_DTYPES
from gaugeblock.interop.torch_names import STORAGE_NAMES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

torch: Any = pytest.importorskip("torch")

QUIETLY = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
UNTYPED = {dtype.name for dtype in ALL_DTYPES if dtype not in STORAGE_NAMES}
SHARED_NAMES = [dtype.name for dtype in ALL_DTYPES if hasattr(torch, dtype.name)]


def to_torch(value: Any) -> Any:
    stream = io.BytesIO()
    gb.save(value, stream)
    stream.seek(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.load(stream, weights_only=True)


def from_torch(value: Any) -> Any:
    stream = io.BytesIO()
    torch.save(value, stream)
    stream.seek(0)
    return gb.load(stream)


def told(x: Any) -> tuple[Any, ...]:
    """Return what is compared of a tensor of either library; its bytes, since NaN is not equal to itself."""
    data = bytes(x.untyped_storage().tolist())
    names = (str(x.dtype).split(".")[-1], str(x.device), tuple(x.shape), tuple(x.stride()), x.storage_offset())
    return (*names, x.requires_grad, x.is_conj(), x.is_neg(), data)


@st.composite
def views(draw: Any) -> tuple[str, bytes, int, tuple[int, ...], tuple[int, ...]]:
    """Draw a dtype, the bytes of a storage, and offset, sizes and strides of a view that fits."""
    name = draw(st.sampled_from(SHARED_NAMES))
    itemsize = getattr(gb, name).itemsize
    sizes = tuple(draw(st.lists(st.integers(0, 3), max_size=3)))
    strides = tuple(draw(st.integers(0, 4)) for _ in sizes)
    offset = draw(st.integers(0, 3))
    needed = offset + (0 if 0 in sizes else 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True)))
    length = (needed + draw(st.integers(0, 2))) * itemsize
    data = draw(st.binary(min_size=length, max_size=length))
    return name, bytes(byte & 1 for byte in data) if name == "bool" else data, offset, sizes, strides


def made(library: Any, drawn: Any) -> Any:
    name, data, offset, sizes, strides = drawn
    dtype = getattr(library, name)
    storage = library.UntypedStorage(len(data))
    for place, byte in enumerate(data):
        storage[place] = byte
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # complex32 is experimental
        return library.empty(0, dtype=dtype).set_(storage, offset, sizes, strides)


@QUIETLY
@given(views(), st.booleans(), st.booleans())
def test_views_go_both_ways(drawn: Any, grad: bool, conj: bool) -> None:
    ours, theirs = made(gb, drawn), made(torch, drawn)
    if conj and ours.dtype.is_complex and drawn[0] != "complex32":
        ours, theirs = ours.conj(), theirs.conj()
    if grad and (ours.dtype.is_floating_point or ours.dtype.is_complex):
        ours, theirs = ours.requires_grad_(), theirs.requires_grad_()
    assert told(ours) == told(theirs)
    assert told(to_torch([ours])[0]) == told(ours)
    if not (theirs.requires_grad and drawn[0] in UNTYPED):  # these torch.load does not open either
        assert told(from_torch([theirs])[0]) == told(theirs)


def kinds(value: Any) -> Any:
    """Return the types of a value and its members, which comparison alone does not tell: True is 1."""
    if isinstance(value, dict):
        return type(value), [(kinds(key), kinds(one)) for key, one in value.items()]
    return (type(value), list(map(kinds, value))) if isinstance(value, (list, tuple)) else type(value)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(max_size=300)
    | st.complex_numbers(allow_nan=False) | st.sets(st.integers(), max_size=3),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner)
    | st.dictionaries(st.text(), inner).map(collections.OrderedDict),
    max_leaves=8,
)  # fmt: skip


@QUIETLY
@given(PLAIN)
def test_plain_values_go_both_ways(value: Any) -> None:
    for found in (to_torch(value), from_torch(value)):
        assert found == value and kinds(found) == kinds(value)


def test_state_dicts_go_both_ways(tmp_path: Path) -> None:
    ours, theirs = gb.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    torch.save(theirs.state_dict(), tmp_path / "theirs")
    ours.load_state_dict(gb.load(tmp_path / "theirs"))
    np.testing.assert_array_equal(ours.weight.detach().numpy(), theirs.weight.detach().numpy())
    fresh = torch.nn.Linear(3, 2)
    gb.save(ours.state_dict(), tmp_path / "ours")
    fresh.load_state_dict(torch.load(tmp_path / "ours", weights_only=True))
    x = torch.ones(1, 3)
    assert fresh(x).tolist() == theirs(x).tolist()


def test_the_state_of_an_optimizer_goes_both_ways() -> None:
    x = gb.ones(2, requires_grad=True)
    optimizer = gb.optim.Adam([x], 0.1)
    (x * x).sum().backward()
    optimizer.step()
    before = optimizer.state_dict()
    theirs = to_torch(before)
    assert theirs["param_groups"] == before["param_groups"]
    assert theirs["state"][0]["exp_avg"].tolist() == before["state"][0]["exp_avg"].tolist()
    optimizer.step()
    optimizer.load_state_dict(from_torch(theirs))
    assert optimizer.state_dict()["state"][0]["exp_avg"].tolist() == theirs["state"][0]["exp_avg"].tolist()


@pytest.mark.parametrize("state", [None, {"label": "weights"}])
def test_parameters_go_both_ways(state: dict[str, str] | None) -> None:
    ours, theirs = gb.nn.Parameter(gb.ones(2)), torch.nn.Parameter(torch.ones(2), requires_grad=False)
    for parameter in (ours, theirs):
        for name, value in (state or {}).items():
            setattr(parameter, name, value)
    found, back = to_torch({"p": ours})["p"], from_torch({"p": theirs})["p"]
    assert isinstance(found, torch.nn.Parameter) and isinstance(back, gb.nn.Parameter)
    assert (found.requires_grad, back.requires_grad) == (True, False)
    assert vars(found) == (state or {})
    assert getattr(back, "label", None) == (state or {}).get("label")


def test_sharing_goes_both_ways() -> None:
    for module, route in ((gb, to_torch), (torch, from_torch)):
        x = module.arange(6.0).reshape(2, 3)
        a, b, c = route([x, x[1], module.ones(2)])
        b.fill_(-1)
        assert a.tolist() == [[0.0, 1.0, 2.0], [-1.0, -1.0, -1.0]] and c.tolist() == [1.0, 1.0]
        assert a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def test_a_storage_of_several_dtypes_which_torch_does_not_save_is_opened_by_it() -> None:
    x = gb.arange(3.0)
    a, b = to_torch([x, x.view(gb.int32)])
    assert a.dtype == torch.float32 and b.dtype == torch.int32
    b[0] = 1065353216
    assert a.tolist() == [1.0, 1.0, 2.0]
    y = torch.arange(3.0)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        from_torch([y, y.view(torch.int32)])


def test_sparse_tensors_go_both_ways() -> None:
    for module, route in ((gb, to_torch), (torch, from_torch)):
        dense = module.tensor([[0.0, 1.5], [2.5, 0.0], [0.0, 0.0]])
        x = dense.to_sparse()
        found, hybrid, empty, twice = route([x, dense.to_sparse(1), module.zeros(2, 3).to_sparse(), x])
        assert found is twice and found.is_coalesced() and str(found.layout).endswith("sparse_coo")
        assert found.indices().tolist() == [[0, 1], [1, 0]] and found.values().tolist() == [1.5, 2.5]
        assert hybrid.sparse_dim() == 1 and hybrid.to_dense().tolist() == dense.tolist()
        assert empty.to_dense().tolist() == [[0.0] * 3] * 2
    grad = gb.eye(2).to_sparse().requires_grad_()
    assert to_torch([grad])[0].requires_grad
    uncoalesced = torch.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 3.0], (2,), check_invariants=True)
    assert not from_torch(uncoalesced).is_coalesced() and from_torch(uncoalesced).to_dense().tolist() == [2.0, 4.0]


def test_torch_maps_our_files(tmp_path: Path) -> None:
    gb.save(gb.arange(100), tmp_path / "tensors")
    assert torch.load(tmp_path / "tensors", mmap=True, weights_only=True)[99].item() == 99
    torch.save(torch.arange(100), tmp_path / "theirs")
    assert gb.load(tmp_path / "theirs", mmap=True).sum().item() == 4950


def test_sizes_devices_and_dtypes_go_both_ways() -> None:
    for module, route, other in ((gb, to_torch, torch), (torch, from_torch, gb)):
        found = route([module.zeros(2, 3).shape, module.float16, module.device("cuda", 1), module.strided])
        assert found == [other.Size([2, 3]), other.float16, other.device("cuda", 1), other.strided]

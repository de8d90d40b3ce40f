"""Pickles made to do harm, in files that are otherwise right: none runs code, crashes or takes memory."""

from __future__ import annotations

import io
import pickle
import re
import tracemalloc
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import gaugeblock as gb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

BASE = {
    "a": gb.arange(6.0).view(2, 3), "b": [gb.tensor([1j]).conj(), gb.nn.Parameter(gb.ones(2))], "c": (1, {2}, b"x"),
    "d": [gb.eye(2).to_sparse(), gb.ones(1, dtype=gb.float8_e5m2).requires_grad_(), gb.empty(2, device="meta")],
    "e": OrderedDict(size=gb.Size([1]), device=gb.device("cpu"), dtype=gb.uint16),
    "f": [gb.eye(2).to_sparse_csr(), gb.ones(2, 2).to_sparse_bsc((2, 1))],
    "g": [gb.quantize_per_tensor(gb.ones(2), 0.5, 3, gb.quint8),
          gb.quantize_per_channel(gb.eye(2), gb.tensor([0.5, 2.0]), gb.tensor([0, -1]), 1, gb.qint8)],
}  # fmt: skip


def members_of(value: Any) -> dict[str, bytes]:
    stream = io.BytesIO()
    gb.save(value, stream)
    archive = zipfile.ZipFile(stream)
    return {name: archive.read(name) for name in archive.namelist()}


MEMBERS = members_of(BASE)
PICKLE = MEMBERS["archive/data.pkl"]


def load(data: bytes, storage: bytes = bytes(24)) -> Any:
    """Load a file whose pickle is `data` and whose storage "0" has the given bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, contents in (MEMBERS | {"archive/data/0": storage, "archive/data.pkl": data}).items():
            archive.writestr(name, contents)
    stream.seek(0)
    return gb.load(stream)


PARTS = {
    layout: (f"{compressed}_indices", f"{plain}_indices", "values")
    for layouts, compressed, plain in (
        ((gb.sparse_csr, gb.sparse_bsr), "crow", "col"), ((gb.sparse_csc, gb.sparse_bsc), "ccol", "row"),
    )
    for layout in layouts
}  # fmt: skip
"""Names of the members of compressed tensors; those in coordinate form have others."""


def used(thing: Any) -> None:
    """Read every element of every tensor in loaded values."""
    if isinstance(thing, gb.Tensor) and thing.layout is not gb.strided:
        parts = PARTS.get(thing.layout, ("_indices", "_values"))
        used([getattr(thing, name)() for name in parts])
        used(thing.to_dense() if thing.numel() < 1000 else None)
    elif isinstance(thing, gb.Tensor) and thing.is_quantized:
        used([thing.int_repr(), thing.dequantize()] if thing.numel() < 1000 else [])
    elif isinstance(thing, gb.Tensor) and thing.device.type == "cpu" and thing.numel() < 1000:
        assert len(repr(thing)) and thing.clone().tolist() is not None
    elif isinstance(thing, dict):
        for one in thing.values():
            used(one)
    elif isinstance(thing, (list, tuple)):
        for one in thing:
            used(one)


class Global:
    """A name that is pickled as it stands, and arguments to call it with."""

    def __init__(self, module: str, name: str, *arguments: Any) -> None:
        self.module, self.name, self.arguments = module, name, arguments


class Writer(pickle._Pickler):
    """Pickler that writes calls of any name."""

    def persistent_id(self, obj: Any) -> Any:
        return obj.pid if isinstance(obj, Stored) else None

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Global):
            return (Name(obj.module, obj.name), obj.arguments)
        return obj.name if isinstance(obj, Name) else NotImplemented

    def save_global(self, obj: Any, name: Any = None) -> None:
        self.write(f"c{obj.module}\n{obj.name}\n".encode())


class Name:
    """A name that is not called."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self) -> None:
        raise AssertionError


class Stored:
    """A storage by its persistent id."""

    def __init__(self, kind: str = "FloatStorage", key: Any = "0", length: Any = 6, place: Any = "cpu") -> None:
        self.pid = ("storage", Name("torch", kind), key, place, length)


def pickled(value: Any) -> bytes:
    stream = io.BytesIO()
    Writer(stream, 2).dump(value)
    return stream.getvalue()


def tensor(*arguments: Any, storage: Any = None, version: str = "v2") -> Global:
    return Global("torch._utils", f"_rebuild_tensor_{version}", storage or Stored(), *arguments)


def test_the_writer_of_these_tests_writes_what_is_loaded() -> None:
    x = load(pickled([tensor(1, (2, 2), (2, 1), False, None)]), b"".join(bytes([0, 0, 128, 63]) for _ in range(6)))[0]
    assert (x.tolist(), x.storage_offset()) == ([[1.0, 1.0], [1.0, 1.0]], 1)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"), ("posix", "system"), ("builtins", "eval"), ("__builtin__", "getattr"), ("builtins", "print"),
        ("torch._utils", "os.system"), ("torch.serialization", "os"), ("torch", "load"), ("torch.nn", "Module"),
        ("gaugeblock", "load"), ("collections", "namedtuple"), ("subprocess", "Popen"), ("codecs", "encode"),
        ("torch.storage", "UntypedStorage.__init__"), ("gaugeblock.interop.copying", "rebuild_tensor"), ("", ""),
    ],
)  # fmt: skip
def test_other_names_are_refused_before_they_are_called(module: str, name: str, tmp_path: Any) -> None:
    trace = tmp_path / "trace"
    data = pickled([Global(module, name, f"touch {trace}")])
    with pytest.raises(pickle.UnpicklingError, match=rf"the file names {module}\.{name}, which is not allowed"):
        load(data)
    words = [b"\x8c" + bytes([len(word)]) + word.encode() for word in (module, name)]
    on_stack = b"\x80\x04" + b"".join(words) + b"\x93."
    with pytest.raises(pickle.UnpicklingError, match="which is not allowed"):
        load(on_stack)
    assert not trace.exists()


@pytest.mark.parametrize(
    "called",
    [
        Global("torch", "float32"), Global("torch", "FloatStorage", 10**12), Global("torch", "Tensor", 10**12),
        Global("torch.storage", "UntypedStorage", 10**12),
    ],
)  # fmt: skip
def test_constants_are_not_called(called: Global) -> None:
    with pytest.raises(pickle.UnpicklingError, match=r"load\(\): the file calls .*, which is not allowed"):
        load(pickled(called))


HUGE = 1 << 60
META = "_rebuild_meta_tensor_no_storage"
COO = Global("torch.serialization", "_get_layout", "torch.sparse_coo")


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (tensor(0, (7,), (1,), False, None), "do not fit the storage of 24 bytes"),
        (tensor(6, (1,), (1,), False, None), "do not fit the storage of 24 bytes"),
        (tensor(0, (2, 2), (5, 2), False, None), "do not fit the storage of 24 bytes"),
        (tensor(HUGE, (1,), (1,), False, None), "do not fit the storage"),
        (tensor(0, (HUGE,), (1,), False, None), "do not fit the storage"),
        (tensor(0, (HUGE, HUGE), (0, 0), False, None), "Storage size calculation overflowed"),
        (tensor(-1, (1,), (1,), False, None), r"the offset of a tensor are \(-1,\): they must be from 0"),
        (tensor(5, (2,), (-1,), False, None), r"the strides of a tensor are \(-1,\): they must be from 0"),
        (tensor(0, (-1,), (1,), False, None), r"the sizes of a tensor are \(-1,\): they must be from 0"),
        (tensor(0, (1 << 64,), (0,), False, None), "they must be from 0 to 9223372036854775807"),
        (tensor(0, (2.0,), (1,), False, None), r"the sizes of a tensor are \(2.0,\) in place of integers"),
        (tensor(0, (True,), (1,), False, None), r"the sizes of a tensor are \(True,\) in place of integers"),
        (tensor(0, "ab", (1,), False, None), "the sizes of a tensor are 'ab' in place of integers"),
        (tensor(0, (2, 2), (1,), False, None), r"a tensor has sizes \(2, 2\) and strides \(1,\)"),
        (tensor(0, (2,), (1,), 1, None), "requires_grad of a tensor is 1 in place of a bool"),
        (tensor(0, (2,), (1,), False, None, {"conj": True}), "a tensor of float32 has the bits"),
        (tensor(0, (2,), (1,), False, None, {"other": True}), "known are conj, neg"),
        (tensor(0, (2,), (1,), False, None, [1]), "a tensor has the bits"),
        (tensor(0, (2,), (1,)), "missing"),
        (tensor(0, (2,), (1,), True, None, storage=Stored("LongStorage", length=3)), "floating point"),
        (tensor(0, (2,), (1,), False, None, storage=[1]), "a tensor is made of a list|the dtype of a tensor is None"),
        (tensor(0, (2,), (1,), False, None, 7, version="v3"), "the dtype of a tensor is 7"),
        (tensor(0, (), (), False, None, storage=Stored(length=HUGE)), f"a storage of {4 * HUGE} bytes came with 24"),
        (tensor(0, (), (), False, None, storage=Stored(length=7)), "a storage of 28 bytes came with 24 bytes"),
        (tensor(0, (), (), False, None, storage=Stored(key="99")), "no item named 'archive/data/99'"),
        (tensor(0, (), (), False, None, storage=Stored(key="../data.pkl")), "no item named"),
        (tensor(0, (), (), False, None, storage=Stored(length=-1)), "a storage is called"),
        (tensor(0, (), (), False, None, storage=Stored(length=1.0)), "a storage is called"),
        (tensor(0, (), (), False, None, storage=Stored(place="nowhere")), "nowhere"),
        (tensor(0, (), (), False, None, storage=Stored("float32")), "a storage is called"),
        (Global("torch._utils", META, Name("torch", "float32"), (HUGE, 64), (64, 1), False), "overflowed"),
        (Global("torch._utils", META, 5, (2,), (1,), False), "the dtype of a tensor is 5"),
        (Global("torch._utils", "_rebuild_parameter", [1], True, None), "a parameter is made of a list"),
        (Global("torch._utils", "_rebuild_parameter", tensor(0, (), (), False, None), "yes", None), "requires_grad"),
        (Global("torch._tensor", "_rebuild_from_type_v2", Name("torch", "Size"), Name("torch", "Tensor"), (), {}),
         "a tensor is made by"),
        (Global("torch._tensor", "_rebuild_from_type_v2", Name("torch._utils", "_rebuild_tensor_v2"), None,
                (Stored(), 0, (), (), False, None), {5: 1}), "must be a dict of attributes"),
        (Global("torch._tensor", "_rebuild_from_type_v2", Name("torch._utils", "_rebuild_tensor_v2"), None,
                (Stored(), 0, (), (), False, None), [1]), "the attributes of a tensor are a list"),
        (Global("torch", "Size", (1.5,)), "takes an iterable of ints"),
        (Global("torch", "Size", 5), "has no len"),
        (Global("torch", "device", "nonsense"), "nonsense"),
        (Global("torch.serialization", "_get_layout", "torch.other"), "other"),
        (Global("_codecs", "encode", "a", "rot13"), "bytes are made of a text in another encoding than latin1"),
        (Global("_codecs", "encode", "\u0394", "latin1"), "latin-1"),
        (Global("__builtin__", "bytearray", HUGE), "has no len"),
        (Global("__builtin__", "bytes", HUGE), "positional argument"),
        (Global("__builtin__", "set", [[1]]), "unhashable"),
    ],
)  # fmt: skip
def test_impossible_members_are_refused(made: Global, message: str) -> None:
    tracemalloc.start()
    with pytest.raises(RuntimeError, match=message) as caught:
        load(pickled([made]))
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()
    assert str(caught.value)


def sparse(rows: Any, sizes: Any, *more: Any, layout: str = "torch.sparse_coo", held: int = 2) -> Global:
    """A sparse tensor whose indices are the first 8-byte numbers of the storage, with zeros as values."""
    indices = tensor(0, rows, (rows[-1], 1)[-len(rows) :], False, None, storage=Stored("LongStorage", length=3))
    values = tensor(0, (held,), (0,), False, None, storage=Stored("FloatStorage", key="1", length=1))
    data = (indices, values, sizes, *more)
    return Global("torch._utils", "_rebuild_sparse_tensor", Global("torch.serialization", "_get_layout", layout), data)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (sparse((1, 2), (1,), True), r"a sparse tensor of sizes \(1,\) has indices from \[0\] to \[5\]"),
        (sparse((1, 3), (9,), True, held=3), r"a sparse tensor of sizes \(9,\) has indices from \[-1\] to \[5\]"),
        (sparse((1, 2), (9,), True, held=3), "has indices of shape (1, 2) and values of shape (3,)"),
        (sparse((2,), (9,), True), "has indices of shape (2,)"), (sparse((1, 2), (9, 9), True), "of sizes (9, 9) has"),
        (sparse((1, 2), 9, True), "the sizes of a sparse tensor are 9"),
        (sparse((1, 2), (9,), layout="torch.strided"), "has the layout gaugeblock.strided, which is not read"),
        (sparse((1, 2), (9,), True, True), "is not made of indices, values and sizes"),
        (Global("torch._utils", "_rebuild_sparse_tensor", COO,
         ([1], [1], (2,))), "the indices of a sparse tensor are no strided tensor"),
    ],
)  # fmt: skip
def test_impossible_sparse_tensors_are_refused(made: Global, message: str) -> None:
    numbers = b"".join(number.to_bytes(8, "little", signed=True) for number in (0, 5, -1))
    with pytest.raises(RuntimeError, match=message if "\\" in message else re.escape(message)):
        load(pickled([made]), numbers)


def compressed(sizes: Any, *, layout: str = "torch.sparse_csr", plain: int = 1) -> Global:
    """A compressed tensor of two pointers, the first 8-byte numbers of the storage, and one index, the next but one."""
    numbers = Stored("LongStorage", length=4)
    parts = tensor(0, (2,), (1,), False, None, storage=numbers), tensor(2, (plain,), (0,), False, None, storage=numbers)
    values = tensor(0, (1,), (1,), False, None, storage=Stored("FloatStorage", key="1", length=1))
    data = (*parts, values, sizes)
    return Global("torch._utils", "_rebuild_sparse_tensor", Global("torch.serialization", "_get_layout", layout), data)


@pytest.mark.parametrize(
    ("numbers", "made", "message"),
    [
        ((0, 1, 7), compressed((1, 5)), "`0 <= col_indices < ncols`"),
        ((0, 1, -1), compressed((1, 5)), "`0 <= col_indices < ncols`"),
        ((0, 9, 2), compressed((1, 5)), "crow_indices[..., -1] == nnz"),
        ((1, 1, 2), compressed((1, 5)), "crow_indices[..., 0] == 0"),
        ((0, 1, 2), compressed((4, 5)), "must be equal to the number of rows + 1 (=5), but got 2"),
        ((0, 1, 2), compressed((1,)), "tensor dimensionality must be sum of batch, base, and dense dimensionalities"),
        ((0, 1, 2), compressed((1, 5), plain=2), "values must begin with the sizes of col_indices, [2], but got [1]"),
        ((0, 1, 7), compressed((5, 1), layout="torch.sparse_csc"), "`0 <= row_indices < nrows`"),
        ((0, 1, 2), compressed((1, 5), layout="torch.sparse_bsr"), "the two dims of a block, but got [1]"),
        ((0, 1, 2), compressed((1, "5")), "the sizes of a sparse tensor are (1, '5')"),
    ],
)
def test_impossible_compressed_tensors_are_refused(numbers: tuple[int, ...], made: Global, message: str) -> None:
    data = b"".join(number.to_bytes(8, "little", signed=True) for number in (*numbers, 0))
    with pytest.raises(RuntimeError, match=re.escape(message)):
        load(pickled([made]), data)


def quantized(*parameters: Any, sizes: Any = (2, 2), kind: str = "QInt8Storage", requires_grad: Any = False) -> Global:
    """A quantized tensor over four bytes."""
    strides = (2, 1)[: len(sizes)]
    return Global("torch._utils", "_rebuild_qtensor", Stored(kind, length=4), 0, sizes, strides, parameters,
                  requires_grad, None)  # fmt: skip


TENSOR_SCHEME, CHANNEL_SCHEME = Name("torch", "per_tensor_affine"), Name("torch", "per_channel_affine")
SCALES = tensor(0, (2,), (0,), False, None, storage=Stored("FloatStorage", key="1", length=1))
WIDE = tensor(0, (1 << 40,), (0,), False, None, storage=Stored("FloatStorage", key="1", length=1))
UNQUANTIZED = tensor(0, (2,), (1,), False, None, storage=Stored("QInt8Storage", length=4))


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (quantized(TENSOR_SCHEME, 0.0, 0), "'scale' must be positive and finite"),
        (quantized(TENSOR_SCHEME, float("nan"), 0), "'scale' must be positive and finite"),
        (quantized(TENSOR_SCHEME, 0.5, 128), "zero_point 128 is above upper bound"),
        (quantized(TENSOR_SCHEME, 0.5, 1.0), "a quantizer is"), (quantized(TENSOR_SCHEME, 0.5), "a quantizer is"),
        (quantized("torch.per_tensor_affine", 0.5, 1), "a quantizer is"),
        (quantized(TENSOR_SCHEME, 0.5, 1, 0), "a quantizer is"),
        (quantized(TENSOR_SCHEME, 0.5, 1, sizes=(3, 2)), "do not fit the storage of 4 bytes"),
        (quantized(TENSOR_SCHEME, 0.5, 1, sizes=(HUGE, 2)), "do not fit the storage of 4 bytes"),
        (quantized(TENSOR_SCHEME, 0.5, 1, kind="CharStorage"), "a quantized tensor has the dtype gaugeblock.int8"),
        (quantized(TENSOR_SCHEME, 0.5, 1, requires_grad=True), "requires_grad of a quantized tensor is True"),
        (quantized(CHANNEL_SCHEME, SCALES, SCALES, 0), "argument 'zero_points' must be of an integer dtype"),
        (quantized(CHANNEL_SCHEME, SCALES, 0, 0), "a quantizer is"),
        (quantized(CHANNEL_SCHEME, WIDE, WIDE, 0), "a tensor of 1099511627776 elements that the file does not hold"),
        (quantized(CHANNEL_SCHEME, SCALES, SCALES, 5), "argument 'axis' is out of range: got 5"),
        (UNQUANTIZED, "the dtype of a tensor is gaugeblock.qint8"),
        ([quantized(TENSOR_SCHEME, 1.0 + k, 0) for k in range(17)], "more than 16 quantizers"),
    ],
)  # fmt: skip
def test_impossible_quantized_tensors_are_refused(made: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=re.escape(message)):
        load(pickled([made]), bytes(4))


def test_sparse_tensors_that_claim_an_order_are_looked_at() -> None:
    numbers = b"".join(number.to_bytes(8, "little", signed=True) for number in (0, 5, 5))
    made = [sparse((1, 2), (9,), True), sparse((1, 3), (9,), True, held=3), sparse((1, 2), (9,))]
    found = load(pickled(made), numbers)
    assert [one.is_coalesced() for one in found] == [True, False, False]


def test_bytes_repeated_through_the_memo_are_refused() -> None:
    text = "x" * 10_000
    data = pickled([Global("_codecs", "encode", text, "latin1") for _ in range(1000)])
    assert len(data) < 50_000
    with pytest.raises(pickle.UnpicklingError, match="containers with more members than it has bytes"):
        load(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the pickle in the file has no end"), (b"\x80\x02", "the pickle in the file has no end"),
        (b"\x80\x02X\xff\xff\xff\xff", "a value of 4294967295 bytes at byte 7, beyond the end of its pickle"),
        (b"\x80\x02\x8b\xff\xff\xff\xff.", "a value of -1 bytes"),
        (b"\x80\x02\x8d" + b"\xff" * 8, "a value of 18446744073709551615 bytes"),
        (b"\x80\x02NN\x87.", "lacks the members of a tuple at byte 4"),
        (b"\x80\x02N]a.", "adds members to a NoneType at byte 4"),
        (b"\x80\x02}(Nu.", "a key without a value at byte 5"), (b"\x80\x02)(NNu.", "adds members to a tuple"),
        (b"\x80\x02ctorch\nSize\n", "the pickle in the file has no end"), (b"\x80\x02ctorch", None),
        (b"\x80\x02N\x82\x01.", "has EXT1 at byte 3"), (b"\x80\x02\xfe.", "has the byte 0xfe at byte 2"),
        (b"\x80\x02P0\n.", "has PERSID at byte 2"), (b"\x80\x02N0.", None), (b"\x80\x02h\x05.", None),
        (b"\x80\x02e.", None), (b"\x80\x02]}b.", "has BUILD at byte 4 on a list"),
        (b"\x80\x02ccollections\nOrderedDict\n)R]b.", "attributes that are not a dict"),
        (b"\x80\x02ccollections\nOrderedDict\n)R}K\x01Nsb.", "attributes that are not a dict"),
    ],
)  # fmt: skip
def test_malformed_pickles_are_refused(data: bytes, message: str | None) -> None:
    with pytest.raises((pickle.UnpicklingError, RuntimeError), match=message or r"load\(\): the file is damaged: "):
        load(data)


def test_tuples_nested_too_deep_are_refused() -> None:
    assert load(b"\x80\x02N" + b"\x85" * 9000 + b".") is not None
    with pytest.raises(pickle.UnpicklingError, match="tuples nested deeper than 10000 at byte 10003"):
        load(b"\x80\x02N" + b"\x85" * 20000 + b".")


def check_told(error: Exception) -> None:
    assert str(error).startswith("load(): ")


def refused_or_used(data: bytes) -> None:
    try:
        found = load(data)
    except (RuntimeError, pickle.UnpicklingError) as error:
        check_told(error)
    else:
        used(found)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(st.integers(0, len(PICKLE) - 1), st.integers(0, 255)), min_size=1, max_size=4), st.data())
def test_changed_pickles_are_refused_or_usable(changes: list[tuple[int, int]], data: st.DataObject) -> None:
    changed = bytearray(PICKLE)
    for place, byte in changes:
        changed[place] = byte
    refused_or_used(bytes(changed[: data.draw(st.integers(0, len(changed)) | st.just(len(changed)))]))


PIECES = [PICKLE[begin:end] for begin in range(0, len(PICKLE), 7) for end in (begin + 7, begin + 14)] + [
    bytes([code]) for code in b"()0123NK\x01\x85\x86\x87\x88\x89]}eausbRtQ.\x94h\x00q"
]


@settings(deadline=None, max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=40))
def test_pickles_of_shuffled_pieces_are_refused_or_usable(pieces: list[bytes]) -> None:
    refused_or_used(b"\x80\x02" + b"".join(pieces) + b".")


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), max_size=4),
    end=st.integers(0, 1 << 20) | st.none(),
)
def test_changed_files_are_refused_or_mapped(
    changes: list[tuple[int, int]], end: int | None, tmp_path: Path
) -> None:
    """Checksums are not looked at then, so that elements may differ."""
    changed = bytearray(WHOLE.getvalue())
    for place, byte in changes:
        changed[place % len(changed)] = byte
    path = tmp_path / "changed"
    path.write_bytes(bytes(changed if end is None else changed[: end % len(changed)]))
    try:
        found = gb.load(path, mmap=True)
    except (RuntimeError, pickle.UnpicklingError) as error:
        check_told(error)
    else:
        used(found)


WHOLE = io.BytesIO()
gb.save(BASE, WHOLE)


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.tuples(st.integers(0, len(WHOLE.getvalue()) - 1), st.integers(0, 255)), max_size=4),
    st.integers(0, len(WHOLE.getvalue())) | st.none(),
)
def test_changed_files_are_refused_or_give_what_was_saved(changes: list[tuple[int, int]], end: int | None) -> None:
    changed = bytearray(WHOLE.getvalue())
    for place, byte in changes:
        changed[place] = byte
    try:
        found = gb.load(io.BytesIO(bytes(changed[:end])))
    except (RuntimeError, pickle.UnpicklingError) as error:
        check_told(error)
    else:
        assert repr(found) == repr(BASE)

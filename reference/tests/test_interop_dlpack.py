"""DLPack: the memory of other libraries' tensors, ours for them, streams, and who frees what."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.cuda.streams import Stream
from gaugeblock.interop import managed_tensor
from gaugeblock.interop.dlpack_import import from_dlpack
from gaugeblock.interop.managed_tensor import VERSIONED, Managed, ManagedVersioned, capsule_of, keep
from gaugeblock.memory import set_allocator
from gaugeblock.memory.host_allocator import aligned_block, release_block
from gaugeblock.utils.dlpack import to_dlpack

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "float32"]


@pytest.fixture
def cuda() -> Iterator[Any]:
    yield gb.cuda.use_driver("simulated", devices=2, total_memory=1 << 26)
    gb.cuda.use_driver(None)


def described(
    address: int, sizes: list[int], strides: list[int] | None, *, code: int = 2, bits: int = 32, lanes: int = 1,
    device: tuple[int, int] = (1, 0), version: tuple[int, int] = (1, 0), flags: int = 0, byte_offset: int = 0,
) -> Any:  # fmt: skip
    """A versioned capsule with any contents, as another library could make it."""
    managed = ManagedVersioned()
    managed.major, managed.minor, managed.flags = *version, flags
    view = managed.view
    numbers = [(ctypes.c_int64 * max(1, len(sizes)))(*values) for values in (sizes, strides or [])]
    view.data, view.ndim, view.code, view.bits, view.lanes = address, len(sizes), code, bits, lanes
    view.device_type, view.device_id = device
    view.byte_offset = byte_offset
    view.shape = ctypes.cast(numbers[0], ctypes.POINTER(ctypes.c_int64))
    view.strides = ctypes.cast(numbers[1] if strides is not None else None, ctypes.POINTER(ctypes.c_int64))
    return capsule_of(keep(managed, numbers), VERSIONED)


@pytest.mark.parametrize("name", [*DTYPES, "float64", "complex64", "complex128"])
def test_memory_is_shared_both_ways(name: str) -> None:
    array = np.ones((3, 4), name)[:, 1:3]
    x = gb.from_dlpack(array)
    assert (x.data_ptr(), x.shape, x.stride(), x.dtype) == (array.ctypes.data, (3, 2), (4, 1), getattr(gb, name))
    x[0, 0] = 0
    assert array[0, 0] == 0
    back = np.from_dlpack(x)  # type: ignore[arg-type]
    assert back.dtype == array.dtype and back.strides == array.strides
    array[2, 1] = 0
    assert back[2, 1] == 0 and x[2, 1].item() == 0


def test_torch_takes_and_gives() -> None:
    torch = pytest.importorskip("torch")
    x = gb.arange(6, dtype=gb.bfloat16).view(2, 3).t()
    other = torch.from_dlpack(x)
    assert other.stride() == (1, 3) and other.dtype == torch.bfloat16 and other.data_ptr() == x.data_ptr()
    other[0, 1] = 40
    assert x[0, 1].item() == 40 and gb.from_dlpack(other).is_set_to(x) is False
    assert gb.from_dlpack(other).tolist() == x.tolist()
    assert gb.from_dlpack(torch.tensor(3)).item() == 3 and torch.from_dlpack(gb.zeros(0, 3)).shape == (0, 3)


def test_writes_through_a_taken_tensor_are_not_counted() -> None:
    x = gb.zeros(3)
    gb.from_dlpack(x).fill_(1)
    assert x.tolist() == [1.0] * 3 and x._version == 0


def test_the_producer_lives_as_long_as_what_was_taken() -> None:
    before = len(managed_tensor._KEPT)
    array = np.from_dlpack(gb.arange(1000))  # type: ignore[arg-type]
    gc.collect()
    assert array[999] == 999 and len(managed_tensor._KEPT) == before + 1
    del array
    assert len(managed_tensor._KEPT) == before
    x = gb.from_dlpack(gb.arange(1000))
    view = x[10:20]
    del x
    assert view[0].item() == 10 and len(managed_tensor._KEPT) == before + 1
    del view
    assert len(managed_tensor._KEPT) == before


class Given:
    """An object that gives out a capsule which was made before."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


@pytest.mark.parametrize("size", [1000, 1_000_000])
@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.resize_(2_000_000),
        lambda x: x.untyped_storage().resize_(0),
        lambda x: [x.untyped_storage().resize_(nbytes) for nbytes in (0, 1 << 20, 0)],
        lambda x: x.set_(),
        lambda x: setattr(x, "data", gb.ones(3)),
    ],
)
def test_what_was_given_outlives_changes_of_the_tensor(change: Any, size: int) -> None:
    x = gb.arange(size)
    capsules = [x.__dlpack__(), x.__dlpack__(), x[7:].__dlpack__()]  # type: ignore[attr-defined]
    taken = from_dlpack(x)
    change(x)
    others = [gb.full((size,), -7) for _ in range(4)]
    assert taken.tolist() == list(range(size))
    assert np.array_equal(np.from_dlpack(Given(capsules[0])), np.arange(size))
    assert from_dlpack(capsules[1]).tolist() == list(range(size))
    assert np.array_equal(np.from_dlpack(Given(capsules[2])), np.arange(7, size))
    assert x.resize_(5).fill_(3).tolist() == [3] * 5
    assert all(int(other[0]) == -7 for other in others)


def test_a_block_that_was_given_is_freed_with_its_last_user() -> None:
    allocator = Counting()
    set_allocator(allocator)
    try:
        x = gb.ones(1000)
        capsule = x.__dlpack__()  # type: ignore[attr-defined]
        x.untyped_storage().resize_(0)
        assert len(allocator.given) == 1
        del capsule
        assert not allocator.given
        x.untyped_storage().resize_(4000)
        taken = from_dlpack(x)
        del taken
        x.untyped_storage().resize_(8000)
        assert list(allocator.given.values()) == [8000]
    finally:
        set_allocator(None)


class Counting:
    """An allocator that knows which of its blocks are in use."""

    def __init__(self) -> None:
        self.given: dict[int, int] = {}

    def allocate(self, nbytes: int) -> int:
        address = aligned_block(nbytes)
        self.given[address] = nbytes
        return address

    def free(self, address: int, nbytes: int) -> None:
        assert self.given.pop(address) == nbytes
        release_block(address)


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (2, 0)])
def test_a_capsule_is_taken_once_or_goes_with_what_it_has(version: Any) -> None:
    before = len(managed_tensor._KEPT)
    capsule = gb.ones(2).__dlpack__(max_version=version)
    assert ("dltensor_versioned" in repr(capsule)) == (version is not None and version[0] > 0)
    x = gb.from_dlpack(capsule)
    assert "used_dltensor" in repr(capsule)
    with pytest.raises(RuntimeError, match=r"from_dlpack\(\): expected a capsule that nobody has taken"):
        gb.from_dlpack(capsule)
    del capsule, x
    unused = gb.ones(2).__dlpack__(max_version=version)
    assert len(managed_tensor._KEPT) == before + 1
    del unused
    assert len(managed_tensor._KEPT) == before


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: gb.ones(2, requires_grad=True), "requires a gradient"),
        (lambda: gb.ones(2, dtype=gb.complex64).conj(), "conjugate bit"),
        (lambda: gb.ones(2, dtype=gb.complex64).conj().imag, "negative bit"),
        (lambda: gb.empty(2, device="meta"), "is on meta"),
    ],
)
def test_what_cannot_be_described_is_refused(make: Any, reason: str) -> None:
    before = len(managed_tensor._KEPT)
    with pytest.raises(BufferError, match=rf"__dlpack__\(\): cannot export a tensor that .*{reason}"):
        make().__dlpack__()
    assert len(managed_tensor._KEPT) == before


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"code": 7, "bits": 8}, "no dtype has type code 7, 8 bits and 1 lanes"), ({"lanes": 2}, "2 lanes"),
        ({"bits": 24}, "24 bits"), ({"strides": [-1]}, "strides"), ({"sizes": [-1]}, "sizes"),
        ({"version": (2, 0)}, "version 2.0"), ({"device": (4, 0)}, "device type 4"), ({"address": 0}, "null"),
        ({"byte_offset": 2}, "not aligned"),
    ],
)  # fmt: skip
def test_capsules_that_no_tensor_fits_stay_whole(change: dict[str, Any], reason: str) -> None:
    memory = (ctypes.c_float * 8)()
    given: dict[str, Any] = {"address": ctypes.addressof(memory), "sizes": [4], "strides": [2], **change}
    capsule = described(**given)
    with pytest.raises(BufferError, match=reason):
        gb.from_dlpack(capsule)
    assert "used" not in repr(capsule)


def test_absent_strides_are_row_major_and_offsets_count() -> None:
    memory = (ctypes.c_float * 8)(*range(8))
    x = gb.from_dlpack(described(ctypes.addressof(memory), [3, 2], None, byte_offset=8))
    assert x.tolist() == [[2, 3], [4, 5], [6, 7]] and x.stride() == (2, 1)


def test_memory_that_is_not_writable_is_warned_of() -> None:
    array = np.arange(3.0)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        assert gb.from_dlpack(array).tolist() == [0, 1, 2]


def test_copies() -> None:
    array = np.zeros(3)
    assert gb.from_dlpack(array, copy=True).data_ptr() != array.ctypes.data
    assert gb.from_dlpack(array, copy=False).data_ptr() == array.ctypes.data
    assert gb.from_dlpack(gb.zeros(3), device="cpu", copy=None).tolist() == [0] * 3
    assert from_dlpack(to_dlpack(gb.ones(2))).tolist() == [1, 1]


def test_wrong_calls_are_named() -> None:
    with pytest.raises(RuntimeError, match="nobody has taken, or an object with __dlpack__, got 7"):
        gb.from_dlpack(7)
    with pytest.raises(TypeError, match="takes no arguments 'device' and 'copy'"):
        gb.from_dlpack(gb.ones(2).__dlpack__(), copy=True)
    with pytest.raises(BufferError, match="must be None on the CPU, got 1"):
        gb.ones(2).__dlpack__(stream=1)
    with pytest.raises(TypeError, match="must be int or None, got str"):
        gb.ones(2).__dlpack__(stream="1")  # type: ignore[arg-type]


def test_devices_have_dlpack_numbers(cuda: Any) -> None:
    assert gb.ones(2).__dlpack_device__() == (1, 0)
    assert gb.ones(2, device="cuda:1").__dlpack_device__() == (2, 1)
    assert gb.ones(2).pin_memory().__dlpack_device__() == (3, 0)
    with pytest.raises(ValueError, match="no device type for meta"):
        gb.empty(2, device="meta").__dlpack_device__()


def test_cuda_memory_is_shared(cuda: Any) -> None:
    x = gb.arange(6, device="cuda:1").view(2, 3).t()
    y = gb.from_dlpack(x)
    assert (y.data_ptr(), y.stride(), y.device) == (x.data_ptr(), (1, 3), x.device)
    y[0, 1] = 40
    assert x[0, 1].item() == 40
    held = gb.cuda.memory_allocated(1)
    del x
    assert gb.cuda.memory_allocated(1) == held and y[2, 1].item() == 5
    del y
    gc.collect()
    assert gb.cuda.memory_allocated(1) == 0


def test_the_takers_stream_waits(cuda: Any) -> None:
    for stream, waits in ((-1, False), (1, True), (None, True)):
        side = Stream()
        with gb.cuda.stream(side):
            x = gb.zeros(4, device="cuda")
            cuda.enqueue(0, side.cuda_stream, lambda: None, nanoseconds=1000)
            x.fill_(3)
            capsule = x.__dlpack__(stream=stream)
        assert (gb.from_dlpack(capsule) * 1).tolist() == [3.0 if waits else 0.0] * 4
        side.synchronize()


def test_from_dlpack_asks_for_the_current_stream(cuda: Any) -> None:
    class Asked:
        def __init__(self) -> None:
            self.streams: list[Any] = []
            self.tensor = gb.ones(2, device="cuda")

        def __dlpack_device__(self) -> tuple[int, int]:
            return 2, 0

        def __dlpack__(self, *, stream: Any = None) -> Any:
            self.streams.append(stream)
            return self.tensor.__dlpack__(stream=stream)

    asked, side = Asked(), Stream()
    gb.from_dlpack(asked)
    with gb.cuda.stream(side):
        gb.from_dlpack(asked)
    assert asked.streams == [1, side.cuda_stream]
    assert gb.from_dlpack(asked, copy=True).data_ptr() != asked.tensor.data_ptr()


@pytest.mark.parametrize(("stream", "reason"), [(0, "is 0"), (2, "per-thread default stream")])
def test_streams_that_are_none(stream: int, reason: str, cuda: Any) -> None:
    with pytest.raises(BufferError, match=reason):
        gb.ones(2, device="cuda").__dlpack__(stream=stream)


def test_other_libraries_have_no_memory_of_a_simulated_device(cuda: Any) -> None:
    memory = (ctypes.c_float * 8)()
    capsule = described(ctypes.addressof(memory), [4], None, device=(2, 0))
    address = ctypes.addressof(managed_tensor.contents(capsule)[0])  # type: ignore[index]
    kept = managed_tensor._KEPT.pop(address)
    with pytest.raises(BufferError, match="cuda:0 is a simulated device, and no other library has its memory"):
        gb.from_dlpack(capsule)
    managed_tensor._KEPT[address] = kept


def test_through_host_memory(cuda: Any) -> None:
    x = gb.arange(3, device="cuda")
    assert np.from_dlpack(x, device="cpu").tolist() == [0, 1, 2]  # type: ignore[call-arg, arg-type]
    assert gb.from_dlpack(x, device="cpu").device.type == "cpu"
    assert gb.from_dlpack(np.arange(3), device="cuda:1").tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="cannot be moved from cuda:0 to cpu without a copy"):
        gb.from_dlpack(x, device="cpu", copy=False)
    with pytest.raises(BufferError, match=r"cannot be exported to device \(1, 0\) without a copy"):
        x.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError, match="only a copy in host memory"):
        x.__dlpack__(dl_device=(2, 1))


def test_structs_are_laid_out_as_c_does() -> None:
    assert (ctypes.sizeof(Managed), ctypes.sizeof(ManagedVersioned)) == (64, 80)
    assert ManagedVersioned.view.offset == 32


def test_a_capsule_that_is_dropped_with_an_exception_keeps_it() -> None:
    before = len(managed_tensor._KEPT)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="Unsupported dtype"):
            np.from_dlpack(gb.ones(2).to(gb.bfloat16))  # type: ignore[arg-type]
    assert len(managed_tensor._KEPT) == before


def test_a_deleter_may_be_called_without_the_lock_of_python() -> None:
    before = len(managed_tensor._KEPT)
    x = gb.ones(3)
    capsule = x.__dlpack__()
    managed, name = managed_tensor.contents(capsule) or (None, b"")
    assert managed is not None and len(managed_tensor._KEPT) == before + 1
    managed_tensor.take(capsule, name)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(managed.deleter)(ctypes.addressof(managed))
    assert len(managed_tensor._KEPT) == before


def test_arrays_of_cuda_tensors_by_force(cuda: Any) -> None:
    x = gb.arange(3, device="cuda").float().requires_grad_()
    with pytest.raises(TypeError, match="cuda"):
        x.numpy()
    assert x.numpy(force=True).tolist() == [0.0, 1.0, 2.0]

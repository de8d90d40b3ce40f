"""Wrong exchange of memory by arrays, buffers and DLPack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backend import Array, dtype_name
from ..dlpack import Holder, Producer
from .mutant import Intercepted, Patch, rows
from .patches import accepts

_FROM, _NUMPY, _TAKE, _GIVE = ("from_numpy",), ("numpy",), ("from_dlpack",), ("__dlpack__",)


def _given(c: Intercepted) -> Any:
    return c.args[0]


def _if(condition: Callable[[Any], bool], otherwise: Patch) -> Patch:
    """Another answer for first arguments of a kind."""
    return lambda c: otherwise(c) if condition(_given(c)) else c.right()


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def _is_made(value: Any) -> bool:
    return isinstance(value, Producer)


def _copy_of_array(c: Intercepted) -> Any:
    return c.do("from_numpy", np.array(_given(c)))


def _of_whole_array(c: Intercepted) -> Any:
    """A view of the array that owns the memory, with the offset of the given one."""
    c.right()
    array = owner = _given(c)
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if not (owner.size and array.size and owner.dtype == array.dtype and owner.flags.c_contiguous):
        return c.right()
    size = array.itemsize
    offset = (array.ctypes.data - owner.ctypes.data) // size
    strides = tuple(step // size for step in array.strides)
    return c.do("as_strided", c.do("from_numpy", owner.reshape(-1)), array.shape, strides, offset)


def _is_record(value: Any) -> bool:
    return _is_array(value) and any(step % value.itemsize for step in value.strides)


def _is_swapped(value: Any) -> bool:
    return _is_array(value) and not value.dtype.isnative and not value.dtype.hasobject and value.dtype.names is None


def _kept(c: Intercepted) -> Any:
    """What was given is kept for ever."""
    result = c.right()
    c.memory.setdefault("kept", []).append(_given(c))
    return result


def _result_kept(c: Intercepted) -> Any:
    """The tensor that was made of another library's is kept for ever."""
    result = c.right()
    c.memory.setdefault("kept", []).append(result)
    return result


def _copied(c: Intercepted) -> Any:
    return c.do("clone", c.right())


def _copied_array(c: Intercepted) -> Any:
    return c.right().copy()


def _gapped_copied(c: Intercepted) -> Any:
    array = c.right()
    return array if array.flags.c_contiguous else array.copy()


def _without(*names: str) -> Patch:
    """Keyword arguments that are not listened to."""
    return lambda c: c.by(lambda: c.do(c.operator, *c.args, **_rest(c, *names)))


def _rest(c: Intercepted, *names: str) -> dict[str, Any]:
    return {name: value for name, value in c.kwargs.items() if name not in names}


def _of(change: Callable[[Intercepted], Any], *dropped: str) -> Patch:
    """The call of something else in the given tensor's place."""
    return lambda c: c.do(c.operator, change(c), **_rest(c, *dropped))


def _counting_elements(c: Intercepted) -> int:
    return int(c.right()) + int(np.count_nonzero(c.array(_given(c)) == 1))


def _cut_off(c: Intercepted) -> Any:
    """Bytes that are no whole element are left out."""
    itemsize = np.dtype(str(c.kwargs["dtype"])).itemsize
    offset = c.kwargs.get("offset", 0)
    whole = (len(_given(c)) - offset) // itemsize
    if c.kwargs.get("count", -1) >= 0 or whole < 1 or offset < 0:
        return c.right()
    return c.do("frombuffer", _given(c), dtype=c.kwargs["dtype"], offset=offset, count=whole)


def _from_the_start(c: Intercepted) -> Any:
    made = _given(c)
    rest = {key: value for key, value in made.otherwise.items() if key != "byte_offset"}
    return c.do("from_dlpack", Producer(made.array, made.version, made.flags, **rest))


def _has_offset(value: Any) -> bool:
    return _is_made(value) and bool(value.otherwise.get("byte_offset"))


def _of_producer(c: Intercepted) -> Any:
    """A copy of what a producer has, however it describes it."""
    made = _given(c)
    return c.tensor(np.array(made.array if isinstance(made, Producer) else made))


def _silent(operator: str) -> Patch:
    return lambda c: () if _given(c) == operator else c.right()


def _column_major(c: Intercepted) -> Any:
    array = _given(c).array
    return c.do("from_numpy", array.reshape(array.shape[::-1]).T)


def _has_no_strides(value: Any) -> bool:
    return _is_made(value) and "strides" in value.otherwise and value.otherwise["strides"] is None


def _misaligned(c: Intercepted) -> Any:
    return c.refuse(BufferError, "the address is no multiple of 64") if _given(c).array.ctypes.data % 64 else c.right()


def _without_strides(c: Intercepted) -> Any:
    """The capsule of a contiguous tensor has no strides."""
    array = c.backend.to_numpy(_given(c))
    if not array.flags.c_contiguous or dtype_name(array.dtype) == "bfloat16":
        return c.right()
    made = Producer(array, None if c.kwargs.get("max_version") is None else (1, 0), strides=None)
    c.memory.setdefault("kept", []).append(made)
    return made.capsule()


def _quieted(c: Intercepted) -> Any:
    """Every NaN becomes the one of ``float('nan')``."""
    result = c.right()
    array: Array = c.array(result)
    if array.dtype.kind != "f" or not np.isnan(array).any():
        return result
    array[np.isnan(array)] = np.nan
    return c.tensor(array)


def _wiped(c: Intercepted) -> Any:
    """The old memory of a storage that is resized goes to another, which writes to it."""
    c.do("zero_", _given(c))
    return c.right()


def _locked(c: Intercepted) -> Any:
    array = c.right()
    array.flags.writeable = False
    return array


def _another_capsule(c: Intercepted) -> Any:
    """A struct that is refused leaks."""
    try:
        return c.right()
    except BufferError:
        made = _given(c)
        if isinstance(made, Holder):
            c.memory.setdefault("kept", []).append(made.held[0])
        elif isinstance(made, Producer):
            c.memory.setdefault("kept", []).append(made.capsule())
        raise


def _lost_exception(c: Intercepted) -> Any:
    try:
        return c.right()
    except (RuntimeError, BufferError):
        return c.refuse(SystemError, "error return without exception set")


def _is_conj(c: Intercepted) -> bool:
    return bool(c.do("is_conj", _given(c)))


def _conjugated(c: Intercepted) -> Any:
    return c.do(c.operator, c.do("conj", _given(c)), **c.kwargs) if _is_conj(c) else c.right()


def _negated(c: Intercepted) -> Any:
    return c.do(c.operator, c.do("resolve_neg", _given(c)), **c.kwargs) if c.do("is_neg", _given(c)) else c.right()


def _dense(c: Intercepted) -> Any:
    return c.do(c.operator, c.tensor(c.array(_given(c))), **c.kwargs)


def _whole_numbers(c: Intercepted) -> Any:
    return c.tensor(np.rint(c.array(_given(c))).astype(np.uint8))


def _zeros_like(c: Intercepted) -> Any:
    sizes, dtype = tuple(c.backend.shape(_given(c))), c.backend.dtype(_given(c))
    return c.do(c.operator, c.tensor(np.zeros(sizes, np.float32 if dtype == "bfloat16" else dtype)), **c.kwargs)


MUTANTS = (
    *rows(
        "interop",
        ("array-views-have-the-storage-of-their-base", "interop/from-numpy-translates-strides", _FROM, _of_whole_array),
        ("broadcast-arrays-are-written-out", "interop/broadcast-arrays-have-stride-zero", _FROM,
         _if(lambda a: _is_array(a) and 0 in a.strides, _copy_of_array)),
        ("arrays-of-no-dims-get-one", "interop/zero-dimensional-arrays-are-taken", _FROM,
         _if(lambda a: _is_array(a) and a.ndim == 0, lambda c: c.do("unsqueeze", c.right(), 0))),
        ("lists-are-arrays", "interop/only-arrays-are-taken", _FROM,
         _if(lambda a: isinstance(a, list), _copy_of_array)),
        ("scalars-are-arrays", "interop/only-arrays-are-taken", _FROM,
         _if(lambda a: isinstance(a, np.generic), _copy_of_array)),
        ("dates-are-integers", "interop/arrays-of-strange-dtypes-raise", _FROM,
         _if(lambda a: _is_array(a) and a.dtype.kind in "mM", lambda c: c.do("from_numpy", _given(c).view("int64")))),
        ("long-numbers-are-rounded", "interop/arrays-of-strange-dtypes-raise", _FROM,
         _if(lambda a: _is_array(a) and a.dtype == np.longdouble,
             lambda c: c.do("from_numpy", _given(c).astype("float64")))),
        ("fields-of-records-are-copied", "interop/strides-between-elements-raise", _FROM,
         _if(_is_record, _copy_of_array)),
        ("swapped-bytes-are-swapped-back", "interop/swapped-bytes-raise", _FROM,
         _if(_is_swapped, lambda c: c.do("from_numpy", _given(c).astype(_given(c).dtype.newbyteorder("="))))),
        ("read-only-arrays-are-taken-in-silence", "interop/read-only-arrays-warn", ("warnings_of",),
         _silent("from_numpy")),
        ("every-array-is-warned-of", "interop/read-only-arrays-warn", ("warnings_of",),
         lambda c: (*c.right(), "think of the memory")),
        ("arrays-are-kept-for-ever", "interop/tensor-keeps-its-array interop/loops-over-arrays-leak-nothing", _FROM,
         _kept),
        ("versions-follow-the-elements", "interop/writes-from-outside-leave-the-version", ("version_of",),
         _counting_elements),
        ("arrays-of-tensors-are-copies", "interop/numpy-shares-memory", _NUMPY, _copied_array),
        ("arrays-of-tensors-are-locked", "interop/numpy-shares-memory", _NUMPY, _locked),
        ("storages-stay-behind-their-arrays", "interop/array-keeps-the-storage", _NUMPY, _kept),
        ("arrays-of-conjugates-are-resolved", "interop/numpy-refuses-lazy-conjugates", _NUMPY,
         accepts(RuntimeError, lambda c: c.do("numpy", c.do("resolve_conj", c.do("resolve_neg", _given(c)))))),
        ("arrays-without-data-are-zeros", "interop/numpy-refuses-tensors-without-data", _NUMPY,
         accepts(TypeError, _zeros_like)),
        ("bfloat16-becomes-float32", "interop/numpy-refuses-bfloat16", _NUMPY,
         accepts(TypeError, lambda c: c.array(_given(c)).astype(np.float32))),
        ("force-is-not-listened-to", "interop/numpy-by-force-gives-values", _NUMPY, _without("force")),
        ("asarray-of-numpy-copies", "interop/numpy-asarray-shares", ("np_asarray",), _copied_array),
        ("array-of-numpy-shares", "interop/numpy-array-copies", ("np_array",),
         lambda c: c.do("np_asarray", *c.args, **c.kwargs)),
        ("tensor-shares-arrays", "interop/tensor-copies-arrays", ("tensor",),
         _if(_is_array, lambda c: c.do("as_tensor", *c.args, **c.kwargs))),
        ("as-tensor-copies-arrays", "interop/as-tensor-shares-when-the-dtype-agrees", ("as_tensor",),
         _if(_is_array, lambda c: c.do("tensor", *c.args, **c.kwargs))),
        ("asarray-never-copies", "interop/asarray-copies-as-asked", ("asarray",), _without("copy")),
        ("asarray-copies-where-it-must-not", "interop/asarray-without-copy-raises", ("asarray",),
         accepts(ValueError, _without("copy"))),
        ("arrays-of-gapped-tensors-are-copies", "interop/sharing-is-decided-by-addresses", _NUMPY, _gapped_copied),
        ("arrays-equal-no-tensor", "interop/equality-with-arrays-is-elementwise", ("__eq__",),
         lambda c: False if _is_array(c.args[1]) else c.right()),
        ("buffers-are-copied", "interop/frombuffer-shares-the-buffer", ("frombuffer",), _copied),
        ("last-bytes-of-buffers-are-left-out", "interop/frombuffer-checks-its-range", ("frombuffer",),
         accepts(ValueError, _cut_off)),
        ("buffers-are-kept-for-ever", "interop/tensor-keeps-its-buffer", ("frombuffer",), _kept),
    ),
    *rows(
        "interop",
        ("views-are-copied-for-their-capsules", "interop/capsule-describes-the-tensor", _GIVE,
         _of(lambda c: c.do("contiguous", _given(c)))),
        ("taken-memory-is-copied", "interop/from-dlpack-shares-memory", _TAKE, _if(_is_made, _copied)),
        ("byte-offsets-are-not-listened-to", "interop/byte-offset-moves-the-first-element", _TAKE,
         _if(_has_offset, _from_the_start)),
        ("unknown-types-are-taken-for-others", "interop/unknown-types-of-dlpack-raise", _TAKE,
         _if(_is_made, accepts(BufferError, _of_producer))),
        ("reversed-producers-are-copied", "interop/negative-strides-of-dlpack-raise", _TAKE,
         accepts(BufferError, _of_producer)),
        ("read-only-flags-are-passed-over", "interop/read-only-memory-is-not-passed-over", ("warnings_of",),
         _silent("from_dlpack")),
        ("taken-capsules-give-zeros", "interop/capsule-is-taken-once", _TAKE,
         accepts(RuntimeError, lambda c: c.tensor(np.zeros(3)))),
        ("lists-are-producers", "interop/only-producers-are-taken", _TAKE,
         _if(lambda a: isinstance(a, list), lambda c: c.tensor(np.array(_given(c))))),
        ("capsules-are-kept-for-ever", "interop/dropped-capsule-lets-go", _GIVE, _result_kept),
        ("dropped-capsules-lose-the-exception", "interop/dropped-capsule-keeps-the-exception", ("np_from_dlpack",),
         _lost_exception),
        ("taken-memory-is-never-given-back",
         "interop/deleter-of-dlpack-runs-once interop/loops-over-capsules-leak-nothing", _TAKE, _result_kept),
        ("refused-structs-leak", "interop/refused-capsule-is-given-back-once", _TAKE, _another_capsule),
        ("exported-tensors-are-kept-for-ever", "interop/exported-memory-outlives-the-tensor",
         ("np_from_dlpack", "from_dlpack"), _kept),
        ("emptied-storages-go-to-others", "interop/exported-memory-survives-a-resize", ("resize_storage_",), _wiped),
        ("leaves-are-detached-for-their-capsules", "interop/dlpack-refuses-tensors-that-require-grad", _GIVE,
         accepts(BufferError, _of(lambda c: c.do("detach", _given(c))))),
        ("capsules-of-conjugates-are-not-conjugated", "interop/dlpack-refuses-lazy-conjugates", _GIVE,
         accepts(BufferError, _conjugated)),
        ("capsules-of-negations-are-resolved", "interop/dlpack-refuses-lazy-negations", _GIVE,
         accepts(BufferError, _negated)),
        ("capsules-without-data-are-zeros", "interop/dlpack-refuses-tensors-without-data", _GIVE,
         accepts(BufferError, _zeros_like)),
        ("host-memory-is-device-two", "interop/host-memory-is-device-one", ("__dlpack_device__",), lambda c: (2, 0)),
        ("capsules-are-never-versioned", "interop/capsule-has-the-version-asked-for", _GIVE, _without("max_version")),
        ("capsules-are-always-versioned", "interop/capsule-has-the-version-asked-for", _GIVE,
         lambda c: c.do("__dlpack__", _given(c), **{**c.kwargs, "max_version": (1, 0)})),
        ("structs-of-version-two-are-taken", "interop/other-major-versions-are-refused", _TAKE,
         _if(lambda a: _is_made(a) and a.version == (2, 0), _of_producer)),
        ("streams-are-not-listened-to", "interop/stream-of-host-memory-is-none", _GIVE, _without("stream")),
        ("devices-are-not-listened-to", "interop/other-device-without-copy-raises", _GIVE, _without("dl_device")),
        ("memory-must-be-aligned", "interop/no-alignment-is-assumed", _TAKE, _if(_is_made, _misaligned)),
        ("null-strides-are-column-major", "interop/null-strides-are-row-major", _TAKE,
         _if(_has_no_strides, _column_major)),
        ("contiguous-capsules-have-no-strides", "interop/exported-strides-are-filled", _GIVE, _without_strides),
        ("payloads-of-nan-are-lost", "interop/dlpack-keeps-the-bits", _TAKE, _quieted),
        ("copies-share-when-taken", "interop/dlpack-copy-has-memory-of-its-own", _TAKE, _without("copy")),
        ("copies-share-when-given", "interop/dlpack-copy-has-memory-of-its-own", _GIVE, _without("copy")),
        ("arrays-by-dlpack-are-copies", "interop/numpy-takes-tensors-by-dlpack", ("np_from_dlpack",), _copied_array),
        ("arrays-by-dlpack-are-locked", "interop/numpy-takes-tensors-by-dlpack", ("np_from_dlpack",), _locked),
        ("arrays-are-copied-by-dlpack", "interop/tensors-take-arrays-by-dlpack", _TAKE, _if(_is_array, _copied)),
        ("copies-are-not-flagged", "interop/dlpack-copy-is-flagged", _GIVE,
         lambda c: c.do("__dlpack__", c.do("clone", _given(c)), **_rest(c, "copy")) if c.kwargs.get("copy")
         else c.right()),
    ),
    *rows(
        "interop",
        ("sparse-tensors-are-made-dense-for-numpy", "interop/numpy-refuses-sparse-tensors", _NUMPY,
         accepts(TypeError, _dense)),
        ("quantized-tensors-are-rounded-for-numpy", "interop/numpy-refuses-quantized-tensors", _NUMPY,
         accepts(TypeError, lambda c: c.do("numpy", _whole_numbers(c)))),
        ("sparse-tensors-are-made-dense-for-capsules", "interop/dlpack-refuses-sparse-tensors", _GIVE,
         accepts(BufferError, _dense)),
        ("quantized-tensors-are-rounded-for-capsules", "interop/dlpack-refuses-quantized-tensors", _GIVE,
         accepts(BufferError, lambda c: c.do("__dlpack__", _whole_numbers(c), **c.kwargs))),
    ),
)

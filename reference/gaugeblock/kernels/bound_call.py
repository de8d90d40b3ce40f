"""Bound calls: a kernel with everything that follows from the metas of its arguments, as one builtin in machine code.

    call = Fresh(kernel, (result_meta,), tail).native()
    result = call(self, other)

``call`` allocates the results, passes the addresses of results and tensors, the numbers and the tail to the kernel, and
returns the results. `Into` is the same for a call that writes into its first argument. A `View` returns a view of its
first argument, or several, a `Part` or `Slice` one that depends on ints; `Change` gives it other sizes and strides,
`Share` another storage. All return None, before anything has changed, for a call that the general path has to decide.
`Kernels` stand for several kernels in the place of one.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any, NamedTuple

from ..core.device import cpu
from ..core.sealed import OFFSETS
from ..iteration.overlap import apart
from ..memory.host_allocator import NO_BLOCKS
from ..memory.storage import Finalisers, Storage, apply_mode, release
from ..tensor.changing import CHANGED, alone, change_metadata
from ..tensor.tensor import INITIAL, Tensor, make_view, new_like
from ..tensor.tensor_meta import TensorMeta
from ..tensor.versions import SeveralViews, VersionCounter, bump_version, several_views, version_of
from .bound_call_code import LARGEST_NUMBER, finaliser_text, text
from .code import Module
from .entry import METH_FASTCALL, METH_NOARGS, MethodDef
from .object_code import ITEMS, LIST_ITEMS, SIZE, TYPE

MOST_TENSORS = 1024
"""Tensors that one call in machine code takes or makes, for which it has room on its stack."""


class Unset:
    """The default of parameters that have none."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Any = Unset()


class Fresh(NamedTuple):
    """A kernel that writes its results into new tensors. `limited` numbers must fit every floating dtype.

    The last results, as many as `temporary` says, live for the call only. If the kernel is `refusing`, a RuntimeError
    from it declines the call; `guard` makes the call that refuses the same values and writes to one element.
    """

    kernel: Callable[..., None] | None
    results: tuple[TensorMeta, ...]
    tail: tuple[Any, ...]
    limited: bool = False
    temporary: int = 0
    refusing: bool = False
    guard: Callable[[], Fresh] | None = None

    @property
    def metas(self) -> tuple[TensorMeta, ...]:
        """The metas of the results that are returned."""
        return self.results[: len(self.results) - self.temporary]

    def __call__(self, *values: Any) -> Any:
        """Return the result, or a tuple of several."""
        made = tuple(map(new_like, self.metas if self.temporary else self.results))
        if not self.write(made, values):
            return None
        return made[0] if len(made) == 1 else made

    def write(self, outs: Sequence[Tensor], values: Sequence[Any]) -> bool:
        """Write into tensors with the metas of the results and memory of their own; False if the call is declined."""
        if self.limited and not all(map(fits, values)):
            return False
        if self.kernel is not None:
            temporaries = tuple(map(new_like, self.results[len(outs) :]))
            given = [*[one.pointer for one in (*outs, *temporaries)], *addresses(values), *self.tail]
            try:
                self.kernel(*given)
            except RuntimeError:
                if self.refusing:
                    return False
                raise
        return True

    def writer(self, check: Callable[..., object]) -> Callable[..., Any]:
        """Return the call that writes into tensors given before the values, and returns the first. It returns None if
        one of them shares memory with another argument. `check` raises for values that the kernel refuses."""
        if len(self.results) == 1 and (self.guard or not self.refusing):
            into = Into(self.kernel, self.tail, self.limited).native()
            guarded = self.guard().native() if self.guard else None
            if guarded is None:
                return into
            return lambda out, *values: None if guarded(*values) is None else into(out, *values)

        def written(*given: Any) -> Tensor | None:
            outs, values = given[: len(self.metas)], given[len(self.metas) :]
            if meet(outs, values):
                return None
            check(*values)
            for out in outs:
                bump_version(out)
            return outs[0] if self.write(outs, values) else None

        return written

    def native(self) -> Callable[..., Any]:
        """Return the call in machine code, if the compiler has loaded it."""
        if self.kernel is nothing and not self.limited and len(self.results) == 1 and not METHODS:
            meta = self.results[0]
            return lambda *values: new_like(meta)
        return builtin(self._replace(kernel=None) if self.kernel is nothing else self)


def nothing(*values: Any) -> None:
    """Do nothing: the kernel over no elements."""


class Kernels(NamedTuple):
    """Kernels that run one after the other. Each has the places of its addresses among those that are given, offsets
    from these in bytes, and its tail. `held` keeps alive what else the kernels read."""

    kernels: tuple[tuple[Callable[..., None], tuple[int, ...], tuple[int, ...], tuple[Any, ...]], ...]
    held: tuple[Tensor | array[int], ...]

    def __call__(self, *given: int) -> None:
        """Run the kernels."""
        for kernel, places, offsets, tail in self.kernels:
            kernel(*[given[place] + offset for place, offset in zip(places, offsets, strict=True)], *tail)

    def native(self) -> Callable[..., None]:
        """Return the call in machine code, if the compiler has loaded it."""
        return builtin(self)


class Into(NamedTuple):
    """A kernel that writes into the first argument, which is `read` too if the call is in place. An `elementwise`
    kernel reads an element before it writes it, so that the first argument may be read as another."""

    kernel: Callable[..., None] | None
    tail: tuple[Any, ...]
    limited: bool = False
    read: bool = False
    elementwise: bool = False

    def __call__(self, out: Tensor, *values: Any) -> Tensor | None:
        """Return `out`, written; None where it may share memory with another argument."""
        if self.limited and not all(map(fits, values)):
            return None
        for value in values:
            shared = isinstance(value, Tensor) and value.storage_impl is out.storage_impl
            if shared and not (self.elementwise and value is out) and not apart(out, value, self.elementwise):
                return None
        bump_version(out)
        if self.kernel is not None and self.kernel is not nothing:
            self.kernel(out.pointer, *([out.pointer] if self.read else []), *addresses(values), *self.tail)
        return out

    def native(self) -> Callable[..., Any]:
        """Return the call in machine code, if the compiler has loaded it."""
        return builtin(self._replace(kernel=None) if self.kernel is nothing else self)


class View(NamedTuple):
    """A view of the first argument with another meta, or `several`, each so many elements and bytes further on. One
    that is `detached` is not reported as a view. With `at_start` the first argument must have no offset."""

    metas: tuple[TensorMeta, ...]
    steps: tuple[int, ...]
    nbytes: tuple[int, ...]
    detached: bool = False
    several: bool = False
    at_start: bool = False

    def __call__(self, base: Tensor, *others: Any) -> Any:
        """Return the view of `base`, on which alone it depends; None for a detached one of a tensor with a counter, and
        for one with an offset that must have none."""
        if (self.detached and base.counter is not None) or (self.at_start and base.offset):
            return None
        views = [make_view(base, meta, base.offset + step) for meta, step in zip(self.metas, self.steps, strict=True)]
        if self.detached:
            views[0].base = None
        return tuple(views) if self.several else views[0]

    def native(self) -> Callable[..., Any]:
        """Return the call in machine code, if the compiler has loaded it."""
        return builtin(self)


class Part(NamedTuple):
    """The view of the first argument at a place along a dim of some size, `last` being the last one allowed, and
    negative ones counted from the end. The stride is in elements, each of `itemsize` bytes."""

    meta: TensorMeta
    size: int
    last: int
    stride: int
    itemsize: int

    def __call__(self, base: Tensor, index: Any) -> Tensor | None:
        """Return the view; None for a place that is none, or no int."""
        if index.__class__ is not int or base.__class__ is not Tensor:
            return None
        place = index + self.size if index < 0 else index
        return make_view(base, self.meta, base.offset + place * self.stride) if 0 <= place <= self.last else None

    def native(self) -> Callable[..., Any]:
        """Return the call in machine code, if the compiler has loaded it."""
        return builtin(self)


class Slice(NamedTuple):
    """The view of the first argument from one place along a dim to another, every `step`-th place, whose meta depends
    on its length. The stride is in elements, each of `itemsize` bytes."""

    metas: dict[int, TensorMeta]
    size: int
    step: int
    stride: int
    itemsize: int

    def __call__(self, base: Tensor, start: Any, end: Any) -> Tensor | None:
        """Return the view; None for a length that has no meta yet, and for ends that are neither ints nor None."""
        if not {start.__class__, end.__class__} <= {int, type(None)} or base.__class__ is not Tensor:
            return None
        places = range(self.size)[start : end : self.step]
        meta = self.metas.get(len(places))
        return None if meta is None else make_view(base, meta, base.offset + places.start * self.stride)

    def native(self) -> Callable[..., Any]:
        """Return the call in machine code, if the compiler has loaded it."""
        return builtin(self)


class Change(NamedTuple):
    """A change of the first argument to a meta of the same elements. It is declined while there are other threads."""

    meta: TensorMeta

    def __call__(self, tensor: Tensor, *others: Any) -> Tensor | None:
        """Return the tensor, changed."""
        if not alone():
            return None
        bump_version(tensor)
        change_metadata(tensor, self.meta, tensor.storage_impl, tensor.offset)
        return tensor

    def native(self) -> Callable[..., Any]:
        """Return the call in machine code, if the compiler has loaded it."""
        return builtin(self)


class Share(NamedTuple):
    """The first argument made to share metadata and storage of the second, as set_ does. It is declined while there are
    other threads, and for a tensor made in inference mode."""

    def __call__(self, tensor: Tensor, source: Tensor) -> Tensor | None:
        """Return None: only machine code does it."""
        return None

    def native(self) -> Callable[..., Any]:
        """Return the call in machine code, if the compiler has loaded it."""
        return builtin(self)


def view_call(base: Tensor, made: Any) -> Callable[[Tensor], Any] | None:
    """Return the call that makes views of other tensors like those that were `made` of `base`; None for what are no
    views. Where elements have other sizes, it serves tensors without an offset."""
    several = isinstance(made, tuple)
    views: Sequence[Tensor] = made if several else [made]
    itemsize = views[0].meta.dtype.itemsize if views else 1
    resized = itemsize != base.meta.dtype.itemsize
    if any(view is base or view.storage_impl is not base.storage_impl for view in views) or (resized and base.offset):
        return None
    steps = tuple([view.offset - base.offset for view in views])
    nbytes = tuple([step * itemsize for step in steps])
    detached = any(view.base is None for view in views)
    call = View(tuple([view.meta for view in views]), steps, nbytes, detached, several, resized).native()
    # Parts of a base with a counter have that one, whether the operator marks them or not.
    if several and (base.counter is not None or len(views) > MOST_TENSORS):
        return None
    if not several or not any(view.counter.__class__ is SeveralViews for view in views):
        return call
    return lambda base: (found := call(base)) and several_views(base, found)


def fits(value: Any) -> bool:
    """Return whether an argument is no number, or a real one that every floating dtype can hold."""
    if value is None or value is UNSET or isinstance(value, Tensor):
        return True
    return -LARGEST_NUMBER <= value <= LARGEST_NUMBER or (type(value) is float and not isfinite(value))


def shares(out: Tensor, values: Sequence[Any]) -> bool:
    """Return whether a tensor among the values, those in lists included, may share memory with `out`."""
    storage = out.storage_impl
    for value in values:
        kind = value.__class__
        if kind is Tensor:
            if value.storage_impl is storage and not apart(out, value, False):
                return True
        elif (kind is list or kind is tuple) and shares(out, value):
            return True
    return False


def meet(outs: Sequence[Tensor], values: Sequence[Any]) -> bool:
    """Return whether one of some tensors may share memory with another, or with one among the values."""
    return any(shares(out, (*values, *outs[:place])) for place, out in enumerate(outs))


def addresses(values: Sequence[Any]) -> list[Any]:
    """Return the values with the address of each tensor in its place, without those that are None or UNSET."""
    return [one.pointer if isinstance(one, Tensor) else one for one in values if one is not None and one is not UNSET]


_make = ctypes.pythonapi.PyCFunction_NewEx
_make.restype, _make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]


METHODS: dict[type, MethodDef] = {}
"""CPython's descriptions of the builtins, by kind of call; there are none until the compiler has loaded the code."""


def builtin(call: Any) -> Callable[..., Any]:
    """Return a call as a builtin, if its machine code is loaded."""
    method = METHODS.get(type(call))
    if method is None:
        return call.__call__  # type: ignore[no-any-return]
    made: Callable[..., Any] = _make(ctypes.addressof(method), call, None)
    return made


def form_of(call: Any) -> Fresh | Into | None:
    """Return what a bound call was made of; None for any other callable."""
    form = getattr(call, "__self__", call)
    return form if isinstance(form, (Fresh, Into)) else None


def install(compiler: Any) -> None:
    """Compile the finaliser of storages, and bound calls if lists and tuples lie in memory as it expects."""
    if not all(OFFSETS[cls] for cls in (Tensor, Storage, TensorMeta)):
        return
    _install_finalisers(compiler)
    if not _layout_is_known():
        return
    objects = (
        Tensor, Storage, cpu, 0, 1, NO_BLOCKS, new_like, bump_version, UNSET, CHANGED,
        VersionCounter, version_of, apart,
    )  # fmt: skip
    kinds = (Fresh, Into, View, Kernels, Part, Slice, Change, Share)
    load_code(compiler, f"bound call {layout()}", text, kinds, objects)


def load_code(
    compiler: Any, description: str, write: Callable[[], str], kinds: Sequence[type], objects: Sequence[object]
) -> None:
    """Load the builtins of some kinds of calls, compiled from the IR that `write` returns, which refers to objects. The
    function for a kind is called NAME with the kind's name in lower case, the one that takes the objects NAME_set."""
    suffixes = ("_set", *(f"_{kind.__name__.lower()}" for kind in kinds))
    (set_objects, *addresses), _ = compiler.described(description, lambda: Module(write()), suffixes)
    table = (ctypes.c_void_p * len(objects))(*map(id, objects))
    ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(set_objects)(ctypes.addressof(table))
    for one in objects:
        compiler.keep_forever(one)
    for kind, address in zip(kinds, addresses, strict=True):
        METHODS[kind] = compiler.keep_forever(MethodDef(kind.__name__.lower().encode(), address, METH_FASTCALL, None))


def _install_finalisers(compiler: Any) -> None:
    """Make compiled functions the finalisers of storages."""
    suffixes = ("_set", "_direct", "_managed")
    (set_release, direct, managed), _ = compiler.described(
        f"finaliser {OFFSETS[Storage]}", lambda: Module(finaliser_text()), suffixes
    )
    ctypes.PYFUNCTYPE(None, ctypes.py_object)(set_release)(release)
    make = ctypes.pythonapi.PyDescr_NewMethod
    make.restype, make.argtypes = ctypes.py_object, (ctypes.py_object, ctypes.c_void_p)
    methods = [MethodDef(b"__del__", address, METH_NOARGS, None) for address in (direct, managed)]
    for one in (*methods, release):
        compiler.keep_forever(one)
    Finalisers.direct, Finalisers.managed = [make(Storage, ctypes.addressof(method)) for method in methods]
    apply_mode()


def layout() -> str:
    """Return where the slots of the objects lie that the code reads and writes, and what a new tensor's hold."""
    slots = {
        f"{cls.__name__}.{name}": offset
        for cls in (Tensor, Storage, TensorMeta)
        for name, offset in OFFSETS[cls].items()
    }
    return f"{slots} {INITIAL}"


def _layout_is_known() -> bool:
    """Return whether a probe list and tuple lie in memory as CPython's do with a global interpreter lock."""
    import sysconfig

    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    probe: list[object] = [Tensor, Storage]
    word = ctypes.c_size_t.from_address
    pair = (Tensor, Storage)
    items = word(id(probe) + LIST_ITEMS).value
    return (
        word(id(probe) + SIZE).value == 2 == word(id(pair) + SIZE).value
        and word(id(probe) + TYPE).value == id(list)
        and [word(items).value, word(items + 8).value] == [id(Tensor), id(Storage)]
        and [word(id(pair) + ITEMS).value, word(id(pair) + ITEMS + 8).value] == [id(Tensor), id(Storage)]
    )

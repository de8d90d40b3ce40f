"""Wrong memory between processes: copies where handles are due, views left behind, objects that stay."""

from __future__ import annotations

from typing import Any

from ..backend import DType
from .mutant import Intercepted, rows
from .patches import accepts

_SHARE = ("share_memory_",)
_SEND = ("in_child_",)


def _moved(c: Intercepted, strided: bool) -> Any:
    """The tensor goes to a shared storage of its own."""
    x = c.args[0]
    made = c.do("clone", x) if strided else c.do("contiguous", c.do("clone", x))
    c.do("set_.source_Tensor", x, c.do("share_memory_", made))
    return x


def _not_dense(c: Intercepted) -> Any:
    """A tensor with gaps or in another order is shared row-major."""
    x = c.args[0]
    _, strides, offset = c.geometry(x)
    if offset or strides != c.geometry(c.do("contiguous", x))[1]:
        return _moved(c, False)
    return c.right()


def _moved_again(c: Intercepted) -> Any:
    """Sharing what is shared moves it once more."""
    return _moved(c, True) if c.do("is_shared", c.args[0]) else c.right()


def _array_kept(c: Intercepted) -> Any:
    """The memory of an array counts as shared where it is."""
    arrays = c.memory.setdefault("arrays", {})
    if c.operator == "from_numpy":
        made = c.right()
        arrays[id(made)] = made
        return made
    x = c.args[0]
    if arrays.get(id(x)) is not x:
        return c.right()
    return True if c.operator == "is_shared" else x


def _sent_dense(c: Intercepted) -> Any:
    return c.do("in_child", c.do("contiguous", c.do("clone", c.args[0])))


def _packed_size(c: Intercepted) -> Any:
    """The received storage is as long as the view."""
    nbytes, offset, sizes, strides, values = c.right()
    reach = 0 if 0 in sizes else 1 + sum((n - 1) * step for n, step in zip(sizes, strides, strict=True))
    return min(nbytes, reach * c.array_itemsize(c.args[0])), offset, sizes, strides, values


def _other_apart(c: Intercepted) -> Any:
    """The second tensor has a storage of its own in the other process."""
    x, value, *other = c.args
    return c.do("in_child_", x, value, c.do("clone", other[0])) if other else c.right()


def _by_copy(c: Intercepted) -> Any:
    x, value, *other = c.args
    return c.do("in_child_", c.do("clone", x), value, *other)


def _by_copy_under_another_name(c: Intercepted) -> Any:
    return c.right() if c.do("sharing_strategy") == c.do("sharing_strategies")[0] else _by_copy(c)


def _in_elements(c: Intercepted) -> Any:
    manager, name, nbytes = c.right()
    return manager, name, nbytes // c.array_itemsize(c.args[0])


def _kept(c: Intercepted) -> Any:
    """An object with a handle is never freed."""
    c.memory.setdefault("kept", []).append(c.args[0])
    return c.right()


def _zeros(c: Intercepted) -> Any:
    return c.do("zeros", (c.args[2],), dtype=DType("uint8"))


def _unknown_key(c: Intercepted) -> Any:
    return c.refuse(KeyError, "no such object")


def _last_writer(c: Intercepted) -> Any:
    """Writers take turns with the whole tensor: only the last one's elements remain."""
    x, actions = c.args
    return c.do("in_children_", x, actions[-1:])


def _twice(c: Intercepted) -> Any:
    """Every process does its work twice."""
    c.right()
    return c.right()


def _emptied(c: Intercepted) -> Any:
    return c.do("zeros_like", c.right())


def _other_error(c: Intercepted) -> Any:
    return c.refuse(MemoryError, "processes have mapped the storage")


MUTANTS = (
    *rows(
        "interop",
        ("shared-tensors-are-others", "interop/share-memory-moves-in-place", _SHARE,
         lambda c: c.do("share_memory_", c.do("clone", c.args[0]))),
        ("shared-tensors-are-row-major", "interop/share-memory-moves-in-place interop/sharing-moves-all-views", _SHARE,
         _not_dense),
        ("nothing-is-shared", "interop/share-memory-moves-in-place interop/sharing-moves-all-views "
         "interop/sent-tensor-is-the-same-memory interop/sharing-strategies-agree", ("is_shared",), lambda c: False),
        ("everything-is-shared", "interop/share-memory-moves-in-place", ("is_shared",), lambda c: True),
        ("views-are-left-behind-by-sharing", "interop/sharing-moves-all-views interop/share-memory-moves-in-place",
         _SHARE, lambda c: _moved(c, True)),
        ("sharing-again-moves-again", "interop/sharing-twice-changes-nothing", _SHARE, _moved_again),
        ("arrays-come-along-when-shared", "interop/sharing-leaves-arrays-behind",
         ("from_numpy", "share_memory_", "is_shared"), _array_kept),
        ("sent-tensors-are-copies",
         "interop/sent-tensor-is-the-same-memory interop/sharing-strategies-agree "
         "interop/tensors-sent-together-share-one-storage", _SEND, _by_copy),
        ("sent-tensors-are-row-major",
         "interop/sent-tensor-is-the-same-memory interop/sent-view-brings-its-whole-storage "
         "interop/sharing-strategies-agree", ("in_child",), _sent_dense),
        ("sent-views-are-cut-out", "interop/sent-view-brings-its-whole-storage interop/sharing-strategies-agree",
         ("in_child",), _packed_size),
        ("sent-together-lie-apart", "interop/tensors-sent-together-share-one-storage", _SEND, _other_apart),
        ("other-strategies-copy", "interop/sharing-strategies-agree", _SEND, _by_copy_under_another_name),
        ("handles-count-elements", "interop/handle-opens-the-same-memory", ("sharing_handle",), _in_elements),
        ("handles-open-copies", "interop/handle-opens-the-same-memory", ("open_handle",),
         lambda c: c.do("clone", c.right())),
        ("unknown-handles-give-zeros", "interop/unknown-handle-raises interop/handle-ends-with-its-last-holder",
         ("open_handle",), accepts(RuntimeError, _zeros)),
        ("unknown-handles-are-key-errors", "interop/unknown-handle-raises interop/handle-ends-with-its-last-holder",
         ("open_handle",), accepts(RuntimeError, _unknown_key)),
        ("objects-stay-for-ever", "interop/handle-ends-with-its-last-holder", ("sharing_handle",), _kept),
        ("the-last-writer-has-all", "interop/concurrent-writers-lose-no-element", ("in_children_",), _last_writer),
        ("increments-count-twice", "interop/concurrent-writers-lose-no-element", ("in_children_",), _twice),
        ("received-memory-goes-with-its-sender", "interop/received-tensor-outlives-the-sent-one", ("from_child",),
         _emptied),
        ("killed-processes-leave-objects", "interop/killed-processes-leave-no-memory", ("left_by_killed",),
         lambda c: ["object segment"]),
        ("shared-storages-stay-in-silence", "interop/shared-storage-does-not-grow", ("resize_storage_",),
         accepts(RuntimeError, lambda c: None)),
        ("shared-growth-is-a-memory-error", "interop/shared-storage-does-not-grow", ("resize_storage_",),
         accepts(RuntimeError, _other_error)),
        ("sparse-tensors-are-shared-in-silence", "interop/sparse-tensors-refuse-to-be-shared", _SHARE,
         accepts(NotImplementedError, lambda c: c.args[0])),
        ("sparse-sharing-is-a-runtime-error", "interop/sparse-tensors-refuse-to-be-shared", _SHARE,
         accepts(NotImplementedError, lambda c: c.refuse(RuntimeError, "no storage"))),
    ),
)

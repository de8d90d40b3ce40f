"""Faults in what the reference on a cpu does not have; each over a right backend that has it."""

from __future__ import annotations

from typing import Any

from ..backend import DType
from .mutant import Intercepted, Mutant, Patch
from .patches import accepts
from .rights import QUANTIZED

FURTHER = f"{__package__}.rights:FurtherBackend"
DEVICE = "reference:cuda"


def _grown(c: Intercepted) -> Any:
    """A tensor in shared memory goes to memory of its own."""
    x, sizes = c.args
    made = c.do("empty.memory_format", sizes, dtype=DType(c.backend.dtype(x)))
    c.do("set_.source_Tensor", x, made)
    return x


def _wider(c: Intercepted) -> Any:
    """A quantized dtype and another give the other."""
    return next((dtype for dtype in c.args if dtype not in QUANTIZED), c.args[0])


def _made_dense(c: Intercepted) -> Any:
    """The address of a dense copy."""
    return c.backend.data_ptr(c.args[0])


def _keys_of_dense(c: Intercepted) -> Any:
    return tuple("CPU" if key == "SparseCPU" else key for key in c.right())


def _both_keys(c: Intercepted) -> Any:
    found = c.right()
    return (*found, "CPU") if "SparseCPU" in found else found


def _sent_values(c: Intercepted) -> Any:
    """What has a history arrives without one."""
    return c.do("sent", c.do("detach", c.args[0]))


def _constant_leaves(c: Intercepted) -> Any:
    return c.do("detach", c.right())


def _row(name: str, kind: str, area: str, operators: tuple[str, ...], patch: Patch, base: str = FURTHER) -> Mutant:
    return Mutant(name, kind, area, operators, patch, base)


MUTANTS = (
    _row("memory-of-processes-moves-when-it-grows", "interop", "storage", ("resize_",), accepts(RuntimeError, _grown)),
    _row("shared-growth-is-forgotten", "interop", "storage", ("resize_",), accepts(RuntimeError, lambda c: c.args[0])),
    _row("sparse-tensors-have-an-address", "interop", "storage", ("data_ptr",),
         accepts(NotImplementedError, _made_dense)),
    _row("sparse-tensors-have-the-storage-of-their-values", "interop", "storage", ("untyped_storage",),
         accepts(NotImplementedError, lambda c: c.do("untyped_storage", c.tensor(c.array(c.args[0]))))),
    _row("quantized-dtypes-give-way", "dtypes", "dtypes", ("promote_types",), accepts(RuntimeError, _wider)),
    _row("sparse-tensors-have-dense-keys", "dispatcher", "dispatch", ("dispatch_keys",), _keys_of_dense),
    _row("sparse-tensors-keep-their-dense-key", "dispatcher", "dispatch", ("dispatch_keys",), _both_keys),
    _row("histories-are-cut-at-processes", "autograd", "autograd", ("sent",), accepts(RuntimeError, _sent_values)),
    _row("leaves-arrive-as-constants", "autograd", "autograd", ("sent",), _constant_leaves),
    _row("indexed-parts-leave-their-block", "allocator", "allocator", ("__getitem__",),
         lambda c: c.do("clone", c.right()), DEVICE),
    _row("copies-keep-the-block-of-the-whole", "allocator", "allocator", ("clone",),
         lambda c: c.alias(c.args[0]), DEVICE),
)  # fmt: skip

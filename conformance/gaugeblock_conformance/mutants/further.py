"""Faults in what the reference on a cpu does not have; each over a right backend that has it."""

from __future__ import annotations

from typing import Any

from ..backend import DType
from .mutant import Intercepted, rows
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


MUTANTS = (
    *rows(
        "interop",
        ("memory-of-processes-moves-when-it-grows", "storage/shared-memory-growth-raises", ("resize_",),
         accepts(RuntimeError, _grown)),
        ("shared-growth-is-forgotten", "storage/shared-memory-growth-raises storage/borrowed-memory-does-not-grow",
         ("resize_",), accepts(RuntimeError, lambda c: c.args[0])),
        ("sparse-tensors-have-an-address", "storage/sparse-tensor-has-no-storage", ("data_ptr",),
         accepts(NotImplementedError, _made_dense)),
        ("sparse-tensors-have-the-storage-of-their-values", "storage/sparse-tensor-has-no-storage",
         ("untyped_storage",),
         accepts(NotImplementedError, lambda c: c.do("untyped_storage", c.tensor(c.array(c.args[0]))))),
        base=FURTHER,
    ),
    *rows(
        "dtypes",
        ("quantized-dtypes-give-way", "dtypes/quantized-dtypes-do-not-promote", ("promote_types",),
         accepts(RuntimeError, _wider)),
        base=FURTHER,
    ),
    *rows(
        "dispatcher",
        ("sparse-tensors-have-dense-keys", "dispatch/sparse-tensors-have-keys-of-their-own", ("dispatch_keys",),
         _keys_of_dense),
        ("sparse-tensors-keep-their-dense-key", "dispatch/sparse-tensors-have-keys-of-their-own", ("dispatch_keys",),
         _both_keys),
        base=FURTHER,
    ),
    *rows(
        "autograd",
        ("histories-are-cut-at-processes", "autograd/only-leaves-cross-processes", ("sent",),
         accepts(RuntimeError, _sent_values)),
        ("leaves-arrive-as-constants", "autograd/only-leaves-cross-processes", ("sent",), _constant_leaves),
        base=FURTHER,
    ),
    *rows(
        "allocator",
        ("indexed-parts-leave-their-block", "allocator/view-keeps-the-whole-block", ("__getitem__",),
         lambda c: c.do("clone", c.right())),
        ("copies-keep-the-block-of-the-whole", "allocator/view-keeps-the-whole-block", ("clone",),
         lambda c: c.alias(c.args[0])),
        base=DEVICE,
    ),
)

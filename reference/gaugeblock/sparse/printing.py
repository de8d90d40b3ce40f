"""Sparse tensors as text: their parts as tensors, then size, number of specified elements, dtype and layout."""

from __future__ import annotations

from ..core.device import cpu, meta_device
from ..core.dtype import DEFAULTS, bool_, int64
from ..core.layout import sparse_coo
from ..tensor.attributes import PARAMETER
from ..tensor.hooks import hooks
from ..tensor.printing import to_text, with_notes
from ..tensor.tensor import Tensor
from .coo_tensor import parts_of

PREFIX = "tensor("


def representation(self: Tensor) -> str:
    """Return the text of ``repr(x)``."""
    return ("Parameter containing:\n" if PARAMETER in self.__dict__ else "") + sparse_to_text(self)


def sparse_to_text(self: Tensor) -> str:
    """Return the text of a sparse tensor. In coordinate form the notes begin on a line of their own."""
    meta, indent = self.meta, len(PREFIX)
    parts = parts_of(self)
    text = f",\n{' ' * indent}".join(map(_part, parts.names, parts.tensors))
    notes = [f"size={tuple(meta.sizes)}"]
    if meta.device is not meta_device:
        notes.append(f"nnz={parts.nnz}")
    if meta.device is not cpu:
        notes.insert(0, f"device='{meta.device}'")
    if meta.dtype not in (DEFAULTS.dtype, DEFAULTS.complex_dtype, int64, bool_):
        notes.append(f"dtype={meta.dtype!r}")
    notes.append(f"layout={self.layout!r}")
    if self.autograd is not None:
        suffix = hooks.dispatched["shown_suffix"](self)
        if suffix:
            notes.append(suffix)
    if self.layout is sparse_coo:
        text += f",\n{' ' * indent}{notes.pop(0)}"
    return with_notes(PREFIX + text, notes, indent)


def _part(name: str, part: Tensor) -> str:
    """Return the name of a part and its text without dtype and device, its further lines under the first."""
    if not part.meta.numel and part.meta.device is not meta_device:
        return f"{name}=tensor([], size={tuple(part.meta.sizes)})"
    return to_text(part, " " * len(PREFIX) + f"{name}=tensor(", plain=True).lstrip()

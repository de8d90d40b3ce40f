"""Tensors as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..core import lazy_numpy as np
from ..core.device import cpu, meta_device
from ..core.dtype import DEFAULTS, bool_, int64
from ..core.errors import check_int, type_error, value_error
from ..core.rounding import ROUNDED_HERE
from .array_view import array_of_lazy
from .hooks import hooks
from .scalars import item
from .tensor import Tensor

Formatter = Callable[[Any], str]


@dataclass
class PrintOptions:
    """How tensors are printed: digits after the point, the numel above which the middle is left out, how many items
    stay at each edge, the line width, and whether floats are in scientific notation (None: by their range)."""

    precision: int = 4
    threshold: int = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


OPTIONS = PrintOptions()


def set_printoptions(
    precision: int | None = None, threshold: int | None = None, edgeitems: int | None = None,
    linewidth: int | None = None, profile: str | None = None, sci_mode: bool | None = None,
) -> None:  # fmt: skip
    """Set the options of `profile` ("default", "short" or "full"), then the options that are given.

    With `sci_mode` None the range of the values decides. Raises TypeError for a number that is not an int and for a
    `sci_mode` that is not a bool, RuntimeError for a negative number and for another profile.
    See torch.set_printoptions.
    """
    if profile is not None and not (isinstance(profile, str) and profile in PROFILES):
        value_error("set_printoptions", "profile", profile, f"one of {', '.join(PROFILES)}")
    if sci_mode is not None and not isinstance(sci_mode, bool):
        type_error("set_printoptions", "sci_mode", sci_mode, "bool or None")
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    chosen: dict[str, Any] = dict(PROFILES.get(profile or "", {}))
    for name, value in given.items():
        if value is not None and value != math.inf:
            value = check_int("set_printoptions", name, value)
            if value < 0:
                value_error("set_printoptions", name, value, "an int that is not negative")
        if value is not None:
            chosen[name] = value
    for name, value in chosen.items():
        setattr(OPTIONS, name, value)
    OPTIONS.sci_mode = sci_mode


PROFILES: dict[str, dict[str, float]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}
"""Profile name -> its options."""


def _integral(value: float) -> str:
    return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"


def float_formatter(values: np.ndarray[Any, Any]) -> tuple[Formatter, int]:
    """One format for all `values`, and its width: integral ones as ``1.``, else fixed or scientific by their range.
    Zeros, infinities and NaN have no say in it."""
    shown = values[np.isfinite(values) & (values != 0)].astype(np.float64)
    if shown.size == 0:
        return _integral, 1
    text = _format_of(np.abs(shown))
    return text, _width(shown, text)


def _format_of(telling: np.ndarray[Any, Any]) -> Formatter:
    digits = OPTIONS.precision
    scientific = bool(OPTIONS.sci_mode)
    low, high = float(telling.min()), float(telling.max())
    integral = bool((telling == np.ceil(telling)).all())
    if OPTIONS.sci_mode is None:
        scientific = high / low > 1000.0 or high > 1.0e8 or (not integral and low < 1.0e-4)
    if scientific:
        return lambda value: f"{value:.{digits}e}"
    if integral:
        return _integral
    return lambda value: f"{value:.{digits}f}"


def _width(values: np.ndarray[Any, Any], text: Formatter) -> int:
    return max([len(text(value)) for value in values.tolist()], default=1)


def formatter_of(values: np.ndarray[Any, Any]) -> tuple[Formatter, int]:
    """Return a function that writes each of `values` (1-D, those to be shown), and the width of the widest."""
    kind = values.dtype.kind
    if kind == "c":
        real, real_width = float_formatter(values.real)
        imag, imag_width = float_formatter(values.imag)

        def write(value: complex) -> str:
            second = imag(value.imag)
            return f"{real(value.real):>{real_width}}{'' if second[0] in '+-' else '+'}{second}j"

        return write, real_width + imag_width + 2
    text, width = float_formatter(values) if kind == "f" else (str, _width(values, str))
    return (lambda value: f"{text(value):>{width}}"), width


def _shown(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.size <= OPTIONS.threshold:
        return array
    edge = OPTIONS.edgeitems
    for axis, size in enumerate(array.shape):
        if size > 2 * edge:
            array = np.take(array, [*range(edge), *range(size - edge, size)], axis)
    return array


def _lines(array: np.ndarray[Any, Any], write: Formatter, width: int, indent: int, short: bool) -> str:
    if array.ndim == 0:
        return write(array.tolist())
    edge = OPTIONS.edgeitems
    cut = short and array.shape[0] > 2 * edge
    rows = [*array[:edge], *array[-edge:]] if cut else list(array)
    if array.ndim > 1:
        parts = [_lines(row, write, width, indent + 1, short) for row in rows]
        if cut:
            parts.insert(edge, "...")
        return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"
    cells = [write(value) for value in array[:edge].tolist()] if cut else [write(value) for value in array.tolist()]
    if cut:
        cells += [" ...", *[write(value) for value in array[-edge:].tolist()]]
    per_line = max(1, (OPTIONS.linewidth - indent) // (width + 2))
    lines = [cells[start : start + per_line] for start in range(0, len(cells), per_line)] or [[]]
    return "[" + (",\n" + " " * (indent + 1)).join([", ".join(line) for line in lines]) + "]"


def to_text(self: Tensor, prefix: str = "tensor(", *, plain: bool = False) -> str:
    """The repr: values as nested lists, then size, dtype, device and gradient facts where they are not the usual. In a
    `plain` one the dtype and the device are left out."""
    meta = self.meta
    notes: list[str] = []
    if meta.dtype.quantized:
        numbers, notes = hooks.dispatched["quantized shown"](self, prefix)
        return with_notes(prefix + _body(numbers, prefix), notes, len(prefix))
    if meta.device is not cpu and not plain:
        notes.append(f"device='{meta.device}'")
    hidden = meta.device is not cpu and self.storage_impl.allocator is None and meta.numel
    if hidden or meta.device is meta_device:
        notes.append(f"size={tuple(meta.sizes)}")
        usual = meta.dtype is DEFAULTS.dtype
        body = "..."
    elif not meta.numel:
        body = "[]"
        if meta.ndim != 1:
            notes.append(f"size={tuple(meta.sizes)}")
        usual = meta.dtype is DEFAULTS.dtype
    else:
        usual = meta.dtype in (DEFAULTS.dtype, DEFAULTS.complex_dtype, int64, bool_)
        body = _body(self if meta.device is cpu else hooks.dispatched["host"](self), prefix)
    if not (usual or plain):
        notes.append(f"dtype={meta.dtype!r}")
    if self.autograd is not None:
        suffix = hooks.dispatched["shown_suffix"](self)
        if suffix:
            notes.append(suffix)
    return with_notes(prefix + body, notes, len(prefix))


def _body(tensor: Tensor, prefix: str) -> str:
    """The elements of a tensor in host memory as nested lists."""
    if not tensor.meta.numel:
        return "[]"
    array = array_of_lazy(tensor)
    array = array.astype(np.float32) if tensor.meta.dtype in ROUNDED_HERE and tensor.meta.dtype.kind == 2 else array
    write, width = formatter_of(_shown(array).reshape(-1))
    return _lines(array, write, width, len(prefix), array.size > OPTIONS.threshold)


def with_notes(text: str, notes: Sequence[str], indent: int) -> str:
    """Return `text` with the notes behind it, on lines of the width that is set, and the closing parenthesis."""
    used = len(text) - text.rfind("\n")
    for note in notes:
        if used + len(note) + 2 > OPTIONS.linewidth:
            text += ",\n" + " " * indent + note
            used = indent + len(note)
        else:
            text += ", " + note
            used += len(note) + 2
    return text + ")"


def formatted(self: Tensor, spec: str) -> str:
    """``format(tensor, spec)``: the number's for a 0-dim tensor, else the repr. Raises TypeError for a spec then."""
    if not self.meta.ndim and self.meta.device is not meta_device:
        return format(item(self), spec)
    return object.__format__(self, spec)

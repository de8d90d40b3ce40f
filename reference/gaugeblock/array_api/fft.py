"""The extension fft of the standard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from ..calls.functions import ops
from ..core.device import Device
from ..core.dtype import DType
from ..tensor.tensor import Tensor
from .operands import axes_of, bad_value, check_array, check_kind

Norm = Literal["backward", "ortho", "forward"]
_ONE = {
    "fft": "complex", "ifft": "complex", "rfft": "float", "irfft": "complex", "hfft": "complex", "ihfft": "float",
}  # fmt: skip
_SEVERAL = {"fftn": "complex", "ifftn": "complex", "rfftn": "float", "irfftn": "complex"}
"""Function -> the category of dtypes that it takes."""

__all__ = [*_ONE, *_SEVERAL, "fftfreq", "fftshift", "ifftshift", "rfftfreq"]


def _check(function: str, x: Tensor, category: str, norm: str) -> None:
    allowed = category if category == "float" else "float complex"
    check_kind(function, check_array(function, "x", x).meta.dtype, allowed)
    if norm not in ("backward", "ortho", "forward"):
        bad_value(function, "norm", norm, "'backward', 'ortho' or 'forward'")


def _one(name: str, category: str) -> Callable[..., Tensor]:
    def function(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
        _check(name, x, category, norm)
        return getattr(ops, f"fft_{name}")(x, n, axis, norm)  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return the transform {name} along an axis, of `n` elements."
    return function


def _several(name: str, category: str) -> Callable[..., Tensor]:
    def function(
        x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
    ) -> Tensor:
        _check(name, x, category, norm)
        return getattr(ops, f"fft_{name}")(x, s, axes, norm)  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return the transform {name} along several axes, of `s` elements, or along all."
    return function


def fftfreq(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | str | None = None) -> Tensor:
    """Return the frequencies of the elements of `fft` for samples that are `d` apart."""
    return ops.fft_fftfreq(n, d, dtype=dtype, device=device)  # type: ignore[no-any-return]


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | str | None = None) -> Tensor:
    """Return the frequencies of the elements of `rfft` for samples that are `d` apart."""
    return ops.fft_rfftfreq(n, d, dtype=dtype, device=device)  # type: ignore[no-any-return]


def _shift(name: str) -> Callable[..., Tensor]:
    def function(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
        places = axes_of(name, axes, check_array(name, "x", x).meta.ndim)
        return getattr(ops, f"fft_{name}")(x, places) if places else x

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return the elements with frequency zero {'in the middle' if name == 'fftshift' else 'first'}."
    return function


for _name, _category in _ONE.items():
    globals()[_name] = _one(_name, _category)
for _name, _category in _SEVERAL.items():
    globals()[_name] = _several(_name, _category)
fftshift, ifftshift = _shift("fftshift"), _shift("ifftshift")

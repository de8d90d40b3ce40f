"""Windows that taper a signal, transforms of its overlapping pieces (stft), and the signal from them (istft)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from math import prod
from typing import Any

from ...core import lazy_numpy as np
from ...core.device import Device, meta_device
from ...core.dtype import DType, complex128, float64
from ...core.errors import check_int
from ...core.warn import warn_once
from ...kernels.conversion import Immediate
from ...tensor.array_view import array_of
from ...tensor.scalars import item
from ...tensor.tensor import Tensor, new_like
from ...tensor.tensor_meta import contiguous_meta, recalled
from ..arguments import tensor_argument
from ..complex_half import refuse_held_only
from ..composition import UNNOTED, Part, composite
from ..invoke import apply, reshape
from ..launch import element_launch
from ..ranges import Plan, count_by


def _tapered(name: str, formula: str, numbers: Callable[..., tuple[float, ...]]) -> Callable[..., Plan]:
    """Return the plan of a window: a formula of each place, the last one and `numbers` of the options. A periodic one
    leaves out the last of one more. The plan raises RuntimeError for a negative length and a dtype that is no float."""

    def plan(dtype: DType, window_length: int, periodic: bool = True, **options: float) -> Plan:
        if dtype.kind != 2:
            raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype.name}")
        if window_length < 0:
            raise RuntimeError(f"{name} requires non-negative window_length, got window_length={window_length}")
        last, given = window_length if periodic else window_length - 1, numbers(**options)

        def fill(result: Tensor) -> None:
            if window_length == 1:
                array_of(result)[...] = 1
                return
            places = new_like(contiguous_meta(result.meta.sizes, float64))
            operands = [places.meta, *[Immediate(float64)] * (1 + len(given))]
            launch = recalled(result.meta.plans, formula, element_launch, formula, result.meta, operands, float64)
            if launch is not None:
                count_by(places, (0.0, 1.0, 0.0, math.inf, 0.0))
                launch.run([result.pointer, places.pointer, float(last), *given])

        return Plan((window_length,), fill)

    return plan


@functools.lru_cache
def _kaiser_numbers(beta: float = 12.0) -> tuple[float, float]:
    """Return `beta`, and the Bessel function I0 of it."""
    return float(beta), float(np.i0(beta))


hann = _tapered("hann_window", "cosine_window", lambda: (0.5, 0.5, 0.0))
hamming = _tapered("hamming_window", "cosine_window", lambda alpha=0.54, beta=0.46: (alpha, beta, 0.0))
blackman = _tapered("blackman_window", "cosine_window", lambda: (0.42, 0.5, 0.08))
bartlett = _tapered("bartlett_window", "bartlett_window", lambda: ())
kaiser = _tapered("kaiser_window", "kaiser_window", _kaiser_numbers)

PADDING = ("reflect", "constant", "replicate", "circular")


def _steps(
    operator: str, n_fft: int, hop_length: int | None, win_length: int | None, window: Tensor | None
) -> tuple[int, int]:
    """The distance of pieces, a quarter of them by default, and the length of the window."""
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if n_fft <= 0:
        raise RuntimeError(f"{operator}(): expected n_fft > 0, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"{operator}(): expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{operator}(): expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is not None and window.meta.sizes != (length,):
        raise RuntimeError(
            f"{operator}(): expected a 1D window tensor of size equal to win_length={length}, but got window of sizes "
            f"{list(window.meta.sizes)}"
        )
    return hop, length


def _window(part: Part, window: Tensor | None, n_fft: int, length: int, like: Tensor, dtype: DType) -> Tensor:
    """The window, of `dtype`, in the middle of `n_fft` places."""
    given = part("new_ones", like, (length,), dtype=dtype) if window is None else part("to.dtype", window, dtype)
    left = (n_fft - length) // 2
    return given if length == n_fft else part("constant_pad_nd", given, (left, n_fft - length - left))


@composite
def stft(
    part: Part, self: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Tensor | None = None, *options: Any,
) -> Tensor:  # fmt: skip
    """stft without padding."""
    return part("stft.center", self, n_fft, hop_length, win_length, window, False, "reflect", *options)


@composite
def stft_center(
    part: Part, self: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Tensor | None = None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False,
    onesided: bool | None = None, return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Tensor:  # fmt: skip
    """Transforms (..., frequencies, pieces) of windowed pieces of a signal or a batch of them, `hop_length` apart.

    With `center` the signal is padded so that piece k is centred at ``k * hop_length``. Real signals have one side of
    the spectrum unless `onesided` is False. Raises RuntimeError for lengths that do not fit, other than one or two
    dims, and a real signal without `return_complex`.
    """
    meta = self.meta
    is_complex = meta.dtype.is_complex or (window is not None and window.meta.dtype.is_complex)
    if return_complex is None and not is_complex:
        raise RuntimeError("stft(): stft requires the return_complex parameter be given for real inputs")
    if meta.dtype.kind < 2 or meta.dtype.itemsize < 4:
        raise RuntimeError(f"stft(): expected a tensor of floating point or complex values, got {meta.dtype.name}")
    if meta.ndim not in (1, 2):
        raise RuntimeError(f"stft(): expected a 1D or 2D tensor, got {meta.ndim} dims")
    if align_to_window is not None:
        raise RuntimeError(f"stft(): align_to_window={align_to_window} is not supported; leave it out")
    hop, length = _steps("stft", n_fft, hop_length, win_length, window)
    pad = n_fft // 2 if center else 0
    total = meta.sizes[-1] + 2 * pad
    if center and pad_mode not in PADDING:
        raise RuntimeError(f"stft(): pad_mode must be one of {', '.join(PADDING)}, got {pad_mode!r}")
    if center and pad_mode == "reflect" and pad >= meta.sizes[-1]:
        raise RuntimeError(
            f"stft(): Padding size should be less than the corresponding input dimension, but got: padding "
            f"({pad}, {pad}) for a signal of {meta.sizes[-1]}"
        )
    if n_fft > total:
        raise RuntimeError(f"stft(): expected 0 < n_fft <= {total}, but got n_fft={n_fft}")
    one_side = not is_complex if onesided is None else onesided
    if one_side and is_complex:
        raise RuntimeError("stft(): Cannot have onesided output if window or input is complex")
    signal = self
    if pad:
        signal = part("squeeze.dim", part("pad", part("unsqueeze", self, 0), (pad, pad), pad_mode), 0)
    pieces = part("unfold", signal, -1, n_fft, hop)
    if window is not None or length < n_fft:
        dtype = meta.dtype.to_complex() if is_complex else meta.dtype
        pieces = part("mul.Tensor", pieces, _window(part, window, n_fft, length, self, dtype))
    norm = "ortho" if normalized else "backward"
    transform = part("fft_rfft" if one_side else "fft_fft", pieces, None, -1, norm)
    result = part("transpose.int", transform, -2, -1)
    return result if return_complex or return_complex is None else part("view_as_real", result)


def public_stft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Tensor | None = None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False,
    onesided: bool | None = None, return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Tensor:  # fmt: skip
    """stft, padded by default."""
    tensor_argument("stft", "input", 1, input)
    for name, number in (("n_fft", n_fft), ("hop_length", hop_length), ("win_length", win_length)):
        if number is not None or name == "n_fft":
            check_int("stft", name, number)
    if window is not None:
        tensor_argument("stft", "window", 5, window)
    else:
        warn_once("stft(): no window was given, and a rectangular one leaks between frequencies; pass a window")
    options = (normalized, onesided, return_complex, align_to_window)
    return apply("stft.center", input, n_fft, hop_length, win_length, window, center, pad_mode, *options)


@composite
def istft(
    part: Part, self: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Tensor | None = None, center: bool = True, normalized: bool = False, onesided: bool | None = None,
    length: int | None = None, return_complex: bool = False,
) -> Tensor:  # fmt: skip
    """The signal whose stft is given: pieces added where they overlap, divided by the sum of squared windows.

    A real signal comes from the first half of the frequencies.
    Raises RuntimeError for real input, sizes that do not fit, and windows that leave a place uncovered.
    """
    refuse_held_only("istft", self.meta.dtype)
    meta = self.meta
    if not meta.dtype.is_complex:
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    if meta.ndim not in (2, 3) or not prod(meta.sizes):
        raise RuntimeError(f"istft(): expected a tensor with 2 or 3 dims and elements, got {list(meta.sizes)}")
    hop, win = _steps("istft", n_fft, hop_length, win_length, window)
    frequencies, count = meta.sizes[-2:]
    one_side = frequencies != n_fft if onesided is None else onesided
    wanted = n_fft // 2 + 1 if one_side else n_fft
    if frequencies != wanted:
        raise RuntimeError(
            f"istft(): expected the frequency dimension (3rd to the last) of the input tensor to match n_fft={n_fft} "
            f"with onesided={one_side}: {wanted}, but got {frequencies}"
        )
    if return_complex and one_side:
        raise RuntimeError("istft(): Cannot have onesided output if window or input is complex")
    total = n_fft + hop * (count - 1)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - start
    spectrum = part("transpose.int", part("to.dtype", self, complex128), -2, -1)
    norm = "ortho" if normalized else "backward"
    pieces = part("fft_ifft" if return_complex else "fft_irfft", spectrum, n_fft, -1, norm)
    own = UNNOTED if window is None else part  # weights without a window depend on sizes alone
    taper = _window(own, window, n_fft, win, self, complex128 if return_complex else float64)
    places = part.constant(_places(total, n_fft, hop, meta.device))
    squares = own("expand", own("mul.Tensor", taper, taper), (count, n_fft))
    weight = own("narrow", _overlapped(own, squares, places, total), -1, start, min(end, total) - start)
    if weight.meta.device is not meta_device:
        own.run(_check_covered, weight)
    if window is None:
        taper, weight = part.constant(taper), part.constant(weight)
    signal = _overlapped(part, part("mul.Tensor", pieces, taper), places, total)
    result = part("div.Tensor", part("narrow", signal, -1, start, min(end, total) - start), weight)
    if end > total:
        result = part("constant_pad_nd", result, (0, end - total))
    return part("to.dtype", result, meta.dtype if return_complex else meta.dtype.to_real())


def _places(total: int, length: int, hop: int, device: Device) -> Tensor:
    """Return the places of the elements of all pieces among so many in `total`."""
    return reshape(apply("unfold", apply("arange", total, device=device), 0, length, hop), (-1,))


def _check_covered(weight: Tensor) -> None:
    """Raise RuntimeError for a place that no window covers."""
    if weight.meta.numel:
        least = item(apply("min", apply("abs", weight)))
        if least <= 1e-11:
            raise RuntimeError(f"istft(): window overlap add min: {least} is not above 1e-11")


def _overlapped(part: Part, pieces: Tensor, places: Tensor, total: int) -> Tensor:
    """The sum of pieces [..., count, length] over `total` places, given the places of their elements."""
    flat = part("flatten.using_ints", pieces, -2, -1)
    zeros = part("new_zeros", pieces, (*flat.meta.sizes[:-1], total))
    return part("scatter_add", zeros, -1, part("expand", places, flat.meta.sizes), flat)

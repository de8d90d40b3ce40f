"""Gradients of short-time Fourier transforms and of signals put together from them."""

from __future__ import annotations

from typing import Any, NamedTuple

import gaugeblock as gb
from gaugeblock import Tensor

from .padded import padded_back, sources
from .transforms import fft_back, irfft_back, rfft_back
from .view_parts import unfold_back

Pair = tuple[Tensor | None, Tensor | None]


class Pieces(NamedTuple):
    """How a signal is cut: pieces of `size`, `hop` apart, a window of `length` in the middle, and the scale."""

    size: int
    hop: int
    length: int
    norm: str

    @property
    def left(self) -> int:
        """Places of a piece before the window."""
        return (self.size - self.length) // 2

    def widened(self, window: Tensor | None, device: Any) -> Tensor | None:
        """The window in the middle of zeros, on the device."""
        if window is None and self.length == self.size:
            return None
        inner = gb.ones((self.length,), device=device) if window is None else window
        return gb.constant_pad_nd(inner, (self.left, self.size - self.length - self.left))

    def window_part(self, grad: Tensor) -> Tensor:
        """The sum over all pieces, where the window is."""
        total = grad.sum(tuple(range(grad.ndim - 1))) if grad.ndim > 1 else grad
        return total.narrow(-1, self.left, self.length)


def _pieces(n_fft: int, hop_length: int | None, win_length: int | None, normalized: bool) -> Pieces:
    hop = n_fft // 4 if hop_length is None else hop_length
    return Pieces(n_fft, hop, n_fft if win_length is None else win_length, "ortho" if normalized else "backward")


def stft_back(
    grad: Tensor,
    self: Tensor,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Tensor | None,
    pad_mode: str | None,
    normalized: bool,
    needed: tuple[bool, bool],
) -> Pair:
    """The gradients of signal and window; `pad_mode` is None where the pieces are not centred."""
    cut = _pieces(n_fft, hop_length, win_length, normalized)
    spectrum = (grad if grad.is_complex() else gb.view_as_complex(grad.contiguous())).transpose(-2, -1)
    back = rfft_back if spectrum.shape[-1] != n_fft else fft_back
    pieces = back(spectrum, (*spectrum.shape[:-1], n_fft), n_fft, -1, cut.norm, False)
    if not self.is_complex() and (window is None or not window.is_complex()):
        pieces = pieces.real
    pad = n_fft // 2 if pad_mode else 0
    sizes = (*self.shape[:-1], self.shape[-1] + 2 * pad)
    taper = cut.widened(window, grad.device)
    mine = theirs = None
    if needed[0]:
        tapered = pieces if taper is None else pieces * taper.conj()
        mine = unfold_back(tapered, sizes, -1, n_fft, cut.hop)
        mine = padded_back(mine, self.shape, (pad, pad), pad_mode) if pad_mode else mine
    if needed[1]:
        signal = _padded(self, pad, pad_mode) if pad_mode else self
        theirs = cut.window_part(pieces * signal.unfold(-1, n_fft, cut.hop).conj())
    return mine, theirs


def _padded(signal: Tensor, pad: int, mode: str) -> Tensor:
    if mode == "constant":
        return gb.constant_pad_nd(signal, (pad, pad))
    return signal.index_select(-1, sources(signal.shape[-1], pad, pad, mode).to(signal.device))


def istft_back(
    grad: Tensor,
    self: Tensor,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Tensor | None,
    center: bool,
    normalized: bool,
    result: Tensor,
    needed: tuple[bool, bool],
) -> Pair:
    """The gradients of the spectrum and of the window, which the signal is multiplied with and its sum divided by."""
    cut = _pieces(n_fft, hop_length, win_length, normalized)
    count = self.shape[-1]
    total, start = n_fft + cut.hop * (count - 1), n_fft // 2 if center else 0
    outside = (start, total - start - grad.shape[-1])
    taper = cut.widened(window, grad.device)
    if taper is None:
        taper = gb.ones((n_fft,), dtype=grad.real.dtype, device=grad.device)
    squares = taper.square().expand((count, n_fft))
    weight = unfold_back(squares, (total,), 0, n_fft, cut.hop)
    covered = gb.constant_pad_nd(weight, (-outside[0], -outside[1]), 1).conj()
    share = grad / covered
    pieces = gb.constant_pad_nd(share, outside).unfold(-1, n_fft, cut.hop)
    sizes = (*self.shape[:-2], count, self.shape[-2])
    mine = theirs = None
    if needed[0]:
        back = fft_back if grad.is_complex() else irfft_back
        mine = back(pieces * taper.conj(), sizes, n_fft, -1, cut.norm, grad.is_complex()).transpose(-2, -1)
    if needed[1]:
        inverse = gb.fft.ifft if grad.is_complex() else gb.fft.irfft
        raw = inverse(self.transpose(-2, -1), n_fft, -1, cut.norm)
        theirs = cut.window_part(pieces * raw.conj())
        of_weight = gb.constant_pad_nd(-share * result.conj(), outside).unfold(-1, n_fft, cut.hop)
        theirs = theirs + cut.window_part(of_weight * (2 * taper.conj()))
    return mine, theirs


HELPERS: dict[str, Any] = {"stft_back": stft_back, "istft_back": istft_back}

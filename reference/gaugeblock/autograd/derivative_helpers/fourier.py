"""Gradients of Fourier transforms, of whole signals and of short times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...bindings.functions import tensor_ops as ops
from .spatial import _sources, padded_back
from .views import unfold_back

if TYPE_CHECKING:
    from gaugeblock import Tensor
else:
    from ...tensor.tensor import Tensor

Sizes = Sequence[int]
ADJOINT = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}
"""The scale of the transform back that is the adjoint of one with this scale."""


def _fitted(tensor: Tensor, dim: int, size: int) -> Tensor:
    """A tensor cut, or filled up with zeros, to `size` along `dim`."""
    own = tensor.shape[dim]
    if own == size:
        return tensor
    return ops.constant_pad_nd(tensor, (0, 0) * (tensor.ndim - 1 - dim % tensor.ndim) + (0, size - own))


def _dims(shape: Sizes, count: int | None, dim: int | Sizes | None) -> tuple[int, ...]:
    """The transformed dims; without any named the last `count`, or all."""
    if dim is None:
        return tuple(range(0 if count is None else len(shape) - count, len(shape)))
    return (dim,) if isinstance(dim, int) else tuple(dim)


def _back(grad: Tensor, shape: Sizes, dims: Sizes, norm: str | None, inverse: bool) -> Tensor:
    """The adjoint of a complex transform over dims of a tensor of `shape`."""
    if not dims:
        return grad
    grad = (ops.fft_fftn if inverse else ops.fft_ifftn)(grad, None, tuple(dims), ADJOINT[norm])
    for dim in dims:
        grad = _fitted(grad, dim, shape[dim])
    return grad


def fft_back(
    grad: Tensor, shape: Sizes, s: int | Sizes | None, dim: int | Sizes | None, norm: str | None, inverse: bool
) -> Tensor:
    """The gradient of a tensor of `shape` from that of its transform, or inverse transform, over dims."""
    return _back(grad, shape, _dims(shape, _count(s), dim), norm, inverse)


def _count(s: int | Sizes | None) -> int | None:
    return None if s is None else 1 if isinstance(s, int) else len(s)


def _length(shape: Sizes, s: int | Sizes | None, dim: int) -> int:
    """The length of a transform along `dim`, the last one transformed."""
    last = s if s is None or isinstance(s, int) else s[-1]
    return shape[dim] if last is None or last == -1 else last


def rfft_back(
    grad: Tensor, shape: Sizes, s: int | Sizes | None, dim: int | Sizes | None, norm: str | None, conjugate: bool
) -> Tensor:
    """The gradient of a real tensor of `shape` from that of its one-sided transform, or of the conjugate of that."""
    dims = _dims(shape, _count(s), dim)
    full = _fitted(grad.conj() if conjugate else grad, dims[-1], _length(shape, s, dims[-1]))
    return _back(full, shape, dims, _swapped(norm) if conjugate else norm, False)


def _swapped(norm: str | None) -> str:
    """The scale of hfft in that of irfft, and of ihfft in that of rfft."""
    return ADJOINT[norm]


def irfft_back(
    grad: Tensor, shape: Sizes, s: int | Sizes | None, dim: int | Sizes | None, norm: str | None, conjugate: bool
) -> Tensor:
    """The gradient of a one-sided spectrum of `shape`, or of one that is conjugated first, from that of the signal.

    All frequencies count twice but the zeroth and, for even lengths, the last.
    """
    dims = _dims(shape, _count(s), dim)
    own = _swapped(norm) if conjugate else norm
    last, length = dims[-1], grad.shape[dims[-1]]
    half = ops.fft_rfft(grad, None, last, ADJOINT[own])
    kept = half.shape[last]
    twice = ops.ones((kept,), dtype=grad.dtype, device=grad.device)
    twice[1 : kept - (1 - length % 2)] = 2
    half = half * twice.reshape((-1,) + (1,) * (len(shape) - 1 - last % len(shape)))
    found = _back(_fitted(half, last, shape[last]), shape, dims[:-1], own, True)
    return found.conj() if conjugate else found


Pair = tuple[Tensor | None, Tensor | None]


class Pieces(NamedTuple):
    """Return how a signal is cut: pieces of `size`, `hop` apart, a window of `length` in the middle, and the scale."""

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
        inner = ops.ones((self.length,), device=device) if window is None else window
        return ops.constant_pad_nd(inner, (self.left, self.size - self.length - self.left))

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
    spectrum = (grad if grad.is_complex() else ops.view_as_complex(grad.contiguous())).transpose(-2, -1)
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
        return ops.constant_pad_nd(signal, (pad, pad))
    return signal.index_select(-1, _sources(signal.shape[-1], pad, pad, mode).to(signal.device))


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
        taper = ops.ones((n_fft,), dtype=grad.real.dtype, device=grad.device)
    squares = taper.square().expand((count, n_fft))
    weight = unfold_back(squares, (total,), 0, n_fft, cut.hop)
    covered = ops.constant_pad_nd(weight, (-outside[0], -outside[1]), 1).conj()
    share = grad / covered
    pieces = ops.constant_pad_nd(share, outside).unfold(-1, n_fft, cut.hop)
    sizes = (*self.shape[:-2], count, self.shape[-2])
    mine = theirs = None
    if needed[0]:
        back = fft_back if grad.is_complex() else irfft_back
        mine = back(pieces * taper.conj(), sizes, n_fft, -1, cut.norm, grad.is_complex()).transpose(-2, -1)
    if needed[1]:
        inverse = ops.fft_ifft if grad.is_complex() else ops.fft_irfft
        raw = inverse(self.transpose(-2, -1), n_fft, -1, cut.norm)
        theirs = cut.window_part(pieces * raw.conj())
        of_weight = ops.constant_pad_nd(-share * result.conj(), outside).unfold(-1, n_fft, cut.hop)
        theirs = theirs + cut.window_part(of_weight * (2 * taper.conj()))
    return mine, theirs

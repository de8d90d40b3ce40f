"""Fourier transforms and windows: which module has which operator."""

from __future__ import annotations

from ..deferred import register_deferred

KERNELS = {
    "lines": "fft_fft fft_ifft fft_rfft fft_irfft fft_hfft fft_ihfft",
    "planes": """fft_fftn fft_ifftn fft_rfftn fft_irfftn fft_hfftn fft_ihfftn fft_fft2 fft_ifft2 fft_rfft2 fft_irfft2
        fft_hfft2 fft_ihfft2""",
    "short_time": "stft stft.center istft",
}
"""Operators with a kernel for CPU and Meta."""
COMPOSITES = {"frequencies": "fft_fftshift fft_ifftshift"}
"""Operators made of others."""

register_deferred(__name__, KERNELS)
register_deferred(__name__, COMPOSITES, "CompositeImplicitAutograd")

"""Which module of `spectral` holds which operator."""

from __future__ import annotations

from .deferred import register_deferred

KERNELS = {
    "frequencies": "fft_fftfreq fft_rfftfreq",
    "lines": "fft_fft fft_ifft fft_rfft fft_irfft fft_hfft fft_ihfft",
    "planes": """fft_fftn fft_ifftn fft_rfftn fft_irfftn fft_hfftn fft_ihfftn fft_fft2 fft_ifft2 fft_rfft2 fft_irfft2
        fft_hfft2 fft_ihfft2""",
    "short_time": "stft stft.center istft",
    "windows": """hann_window hann_window.periodic hamming_window hamming_window.periodic hamming_window.periodic_alpha
        hamming_window.periodic_alpha_beta blackman_window blackman_window.periodic bartlett_window
        bartlett_window.periodic kaiser_window kaiser_window.periodic kaiser_window.beta""",
}
"""Operators with a kernel for CPU and Meta."""
COMPOSITES = {"frequencies": "fft_fftshift fft_ifftshift"}
"""Operators made of others."""

register_deferred("spectral", KERNELS)
register_deferred("spectral", COMPOSITES, "CompositeImplicitAutograd")

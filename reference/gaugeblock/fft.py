"""Discrete Fourier transforms under torch.fft's names: ``fft.rfft`` is the operator `fft_rfft`."""

from __future__ import annotations

from .bindings.namespaces import namespace

__getattr__, __dir__ = namespace(__name__, "fft_")

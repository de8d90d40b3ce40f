"""Discrete Fourier transforms under torch.fft's names: ``fft.rfft`` is the operator `fft_rfft`."""

from __future__ import annotations

from typing import Any

from .bindings.functions import namespace

_get, _names = namespace(__name__, "fft_")


def __getattr__(name: str) -> Any:
    return _get(name)


def __dir__() -> list[str]:
    return _names()

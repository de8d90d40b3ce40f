"""Fourier transforms against their definition, their orders and lengths, and windows."""

from __future__ import annotations

import cmath
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest

SIGNAL = [1.0, 2.0, 4.0, -1.0, 0.5]


def transform(signal: list[Any], sign: int = -1) -> list[complex]:
    """The definition."""
    n = len(signal)
    return [sum(x * cmath.exp(sign * 2j * cmath.pi * j * k / n) for j, x in enumerate(signal)) for k in range(n)]


def test_lines_follow_the_definition() -> None:
    x = gb.tensor(SIGNAL, dtype=gb.float64)
    whole = transform(SIGNAL)
    assert gb.fft.fft(x).tolist() == pytest.approx(whole)
    assert gb.fft.rfft(x).tolist() == pytest.approx(whole[:3])
    assert gb.fft.ifft(x, norm="forward").tolist() == pytest.approx(transform(SIGNAL, 1))
    assert gb.fft.fft(x, 3).tolist() == pytest.approx(transform(SIGNAL[:3]))
    assert gb.fft.fft(x, 7).tolist() == pytest.approx(transform([*SIGNAL, 0, 0]))
    assert gb.fft.fft(x, norm="ortho").tolist() == pytest.approx([v / 5**0.5 for v in whole])
    assert gb.fft.irfft(gb.fft.rfft(x), 5).tolist() == pytest.approx(SIGNAL)
    assert gb.fft.hfft(gb.fft.ihfft(x), 5).tolist() == pytest.approx(SIGNAL)
    assert gb.fft.irfft(gb.ones(3)).shape == (4,)


def test_dtypes_and_strides() -> None:
    assert gb.fft.fft(gb.tensor([1, 2, 3])).dtype is gb.complex64
    assert gb.fft.rfft(gb.ones(4, dtype=gb.float64)).dtype is gb.complex128
    assert gb.fft.irfft(gb.ones(4, dtype=gb.complex64)).dtype is gb.float32
    x = gb.arange(24.0).view(4, 6)
    assert gb.fft.fft(x.t(), dim=0).t().tolist() == gb.fft.fft(x).tolist()
    assert gb.fft.fft(x[:, ::2]).tolist() == gb.fft.fft(x[:, ::2].contiguous()).tolist()
    assert gb.fft.fft(gb.complex(x, x).conj()).tolist() == gb.fft.fft(gb.complex(x, -x)).tolist()
    out = gb.empty(0, dtype=gb.complex64)
    assert gb.fft.fft(x, out=out) is out and out.shape == (4, 6)
    assert gb.fft.rfft(x.to("meta"), 5).shape == (4, 3)


def test_several_dims() -> None:
    x = gb.arange(12.0, dtype=gb.float64).view(3, 4)
    both = gb.fft.fft(gb.fft.fft(x, dim=0), dim=1)
    for found in (gb.fft.fft2(x), gb.fft.fftn(x), gb.fft.fftn(x, dim=(0, 1)), gb.fft.fftn(x, (3, -1))):
        assert [v for row in found.tolist() for v in row] == pytest.approx([v for row in both.tolist() for v in row])
    assert gb.fft.irfftn(gb.fft.rfftn(x), (3, 4)).flatten().tolist() == pytest.approx(x.flatten().tolist())
    assert gb.fft.hfft2(gb.fft.ihfft2(x), (3, 4)).flatten().tolist() == pytest.approx(x.flatten().tolist())
    assert gb.fft.rfft2(gb.empty(5, 3, 4, device="meta")).shape == (5, 3, 3)


def test_frequencies() -> None:
    assert gb.fft.fftfreq(5, 0.5).tolist() == pytest.approx([0, 0.4, 0.8, -0.8, -0.4])
    assert gb.fft.rfftfreq(4).tolist() == [0, 0.25, 0.5]
    x = gb.arange(5)
    assert gb.fft.fftshift(x).tolist() == [3, 4, 0, 1, 2]
    assert gb.fft.ifftshift(gb.fft.fftshift(x)).tolist() == x.tolist()
    assert gb.fft.fftshift(gb.arange(6).view(2, 3), 1).tolist() == [[2, 0, 1], [5, 3, 4]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: gb.fft.fft(gb.ones(4), 0), RuntimeError, "Invalid number of data points"),
        (lambda: gb.fft.fft(gb.ones(4), norm="x"), RuntimeError, "normalization"),
        (lambda: gb.fft.fft(gb.ones(4).half()), RuntimeError, "Unsupported dtype"),
        (lambda: gb.fft.rfft(gb.ones(4) * 1j), RuntimeError, "real input"),
        (lambda: gb.fft.fft(gb.tensor(1.0)), IndexError, "no dimensions"),
        (lambda: gb.fft.fft(gb.ones(4), dim=1), IndexError, "out of range"),
        (lambda: gb.fft.fftn(gb.ones(2, 2), dim=(0, 0)), RuntimeError, "unique"),
        (lambda: gb.fft.fftn(gb.ones(2, 2), (2, 2, 2)), RuntimeError, "only has 2"),
        (lambda: gb.hann_window(-1), RuntimeError, "non-negative"),
        (lambda: gb.hann_window(3, dtype=gb.int64), RuntimeError, "floating point"),
    ],
)
def test_what_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("hann_window", (4, False), [0, 0.75, 0.75, 0]),
        ("hann_window", (4,), [0, 0.5, 1, 0.5]),
        ("hamming_window", (3, False), [0.08, 1, 0.08]),
        ("hamming_window", (3, False, 0.5), [0.04, 0.96, 0.04]),
        ("hamming_window", (3, False, 0.5, 0.5), [0, 1, 0]),
        ("blackman_window", (3, False), [0, 1, 0]),
        ("bartlett_window", (5,), [0, 0.4, 0.8, 0.8, 0.4]),
        ("kaiser_window", (5, False), [5.2773e-05, 0.21567, 1, 0.21567, 5.2773e-05]),
        ("kaiser_window", (3, False, 0.0), [1, 1, 1]),
        ("kaiser_window", (1,), [1]),
        ("hann_window", (0,), []),
    ],
)
def test_windows(name: str, arguments: tuple[Any, ...], expected: list[float]) -> None:
    assert getattr(gb, name)(*arguments).tolist() == pytest.approx(expected, rel=1e-4, abs=1e-7)
    assert getattr(gb, name)(*arguments, dtype=gb.float16).dtype is gb.float16


def test_short_time_transforms() -> None:
    x = gb.tensor([[1.0, 2.0, 4.0, -1.0, 0.5, 3.0, 0.0, 1.0]] * 2)
    whole = gb.stft(x, 4, hop_length=4, center=False, return_complex=True)
    assert whole.shape == (2, 3, 2)
    assert whole[0, :, 1].tolist() == pytest.approx(transform([0.5, 3.0, 0.0, 1.0])[:3], abs=1e-6)
    assert gb.stft(x[0], 4, onesided=False, return_complex=False).shape == (4, 9, 2)
    window = gb.hann_window(4)
    back = x.stft(4, 1, window=window, return_complex=True).istft(4, 1, window=window)
    assert back.flatten().tolist() == pytest.approx(x.flatten().tolist(), abs=1e-5)
    assert gb.stft(x.to("meta"), 4, return_complex=True).shape == (2, 3, 9)
    for call, message in (
        (lambda: gb.stft(x, 4), "return_complex"),
        (lambda: gb.stft(x, 4, win_length=5, return_complex=True), "win_length <= n_fft"),
        (lambda: gb.istft(x, 4), "complex-valued"),
        (lambda: gb.istft(whole, 8), "frequency dimension"),
    ):
        with pytest.raises(RuntimeError, match=message):
            call()


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_a_numpy_without_its_ufuncs(name: str, norm: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    x = gb.arange(24.0).reshape(4, 6).sin()
    given = x if name in ("rfft", "ihfft") else gb.complex(x, x.flip(1))
    found = [getattr(gb.fft, name)(given, 5, 0, norm), getattr(gb.fft, f"{name}n")(given, (3, 8), (1, 0), norm)]
    monkeypatch.delattr(np.fft, "_pocketfft_umath", raising=False)
    given = given.unsqueeze(0)  # planned anew
    again = [getattr(gb.fft, name)(given, 5, 1, norm), getattr(gb.fft, f"{name}n")(given, (3, 8), (2, 1), norm)]
    for one, other in zip(found, again, strict=True):
        assert gb.allclose(one, other[0], atol=1e-6) and one.dtype is other.dtype


def test_transforms_of_three_dims_follow_those_of_one() -> None:
    x = gb.arange(60.0, dtype=gb.float64).reshape(3, 4, 5).cos()
    steps = gb.fft.fft(gb.fft.fft(gb.fft.fft(x, dim=2), dim=1), dim=0)
    assert gb.allclose(gb.fft.fftn(x), steps)
    assert gb.allclose(gb.fft.rfftn(x), steps[..., :3])
    assert gb.allclose(gb.fft.irfftn(gb.fft.rfftn(x), x.shape), x)
    assert gb.allclose(gb.fft.fftn(x, (2, 6), (0, 2)), gb.fft.fft(gb.fft.fft(x, 2, 0), 6, 2))


@pytest.mark.parametrize("recorded", [False, True])
def test_kept_calls_look_at_each_window(recorded: bool) -> None:
    x, window = gb.arange(16.0, dtype=gb.float64), gb.tensor([1.0, 2.0, 2.0, 1.0], dtype=gb.float64)
    spectrum = gb.stft(x, 4, 2, window=window, return_complex=True).requires_grad_(recorded)
    for _ in range(3):
        found = gb.istft(spectrum, 4, 2, window=window)
        assert found.tolist() == pytest.approx(x.tolist()) and found.requires_grad is recorded
        with pytest.raises(RuntimeError, match=r"window overlap add min: 0\.0 is not above"):
            gb.istft(spectrum, 4, 2, window=gb.zeros(4, dtype=gb.float64))
        longer = gb.istft(gb.stft(x, 4, 1, return_complex=True), 4, 1, length=20).tolist()
        assert longer[:16] == pytest.approx(x.tolist()) and longer[18:] == [0, 0]


"""Windows of signals: golden literals, and PyTorch's for every length and option."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.signal import windows

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "exponential": [{}, {"tau": 2.5}, {"center": 1.0, "sym": False}],
    "gaussian": [{}, {"std": 3.0}],
    "kaiser": [{}, {"beta": 7.0}, {"beta": 0.0}],
    "general_hamming": [{}, {"alpha": 0.6}],
    "general_cosine": [{"a": [0.3, 0.4, 0.2]}, {"a": (1.0,)}],
}


def test_windows_literally() -> None:
    assert windows.hann(5).tolist() == pytest.approx([0, 0.5, 1, 0.5, 0], abs=1e-7)
    assert windows.hann(4, sym=False).tolist() == pytest.approx([0, 0.5, 1, 0.5], abs=1e-7)
    assert windows.bartlett(5).tolist() == [0, 0.5, 1, 0.5, 0]
    assert windows.hamming(1).tolist() == [1]
    assert windows.nuttall(0).shape == (0,)
    assert windows.blackman(3, dtype=gb.float64, requires_grad=True).requires_grad


@pytest.mark.parametrize("name", windows.__all__)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 10, 51])
def test_windows_are_those_of_torch(name: str, count: int) -> None:
    theirs = pytest.importorskip("torch.signal.windows")
    torch = pytest.importorskip("torch")
    for option in OPTIONS.get(name, [{}]):
        for sym in [True, False] if "sym" not in option else [False]:
            expected = getattr(theirs, name)(count, **{"sym": sym, **option, "dtype": torch.float64}).tolist()
            found = getattr(windows, name)(count, **{"sym": sym, **option, "dtype": gb.float64})
            assert found.tolist() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: windows.hann(-1), ValueError, r"hann\(\): argument 'M'"),
        (lambda: windows.hann("a"), TypeError, r"hann\(\): argument 'M' must be int, not str"),
        (lambda: windows.hann(1 << 60), RuntimeError, "9223372036854775808 bytes exceed 64 bits"),
        (lambda: windows.hann(3, dtype=gb.int64), ValueError, r"hann\(\): argument 'dtype'"),
        (lambda: windows.exponential(3, center=1.0), ValueError, "center"),
        (lambda: windows.exponential(3, tau=0), ValueError, "tau"),
        (lambda: windows.gaussian(3, std=-1), ValueError, "std"),
        (lambda: windows.kaiser(3, beta=-1), ValueError, "beta"),
        (lambda: windows.general_cosine(3, a=[]), ValueError, "'a' must not be empty"),
        (lambda: windows.general_cosine(3, a=0.5), TypeError, "'a' must be list of floats"),
    ],
)
def test_wrong_arguments_of_windows(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()

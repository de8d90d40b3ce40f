"""Window functions under torch.signal.windows' names.

A symmetric window of M points mirrors itself; with ``sym=False`` it is the first M points of one of M + 1, for spectra.
All of them take `dtype`, `layout`, `device` and `requires_grad`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..core import lazy_numpy as np
from ..core.dtype import float32, float64, get_default_dtype
from ..core.errors import check_int, type_error
from ..core.layout import strided
from ..operators.arguments import tensor_options
from ..operators.arrays import Array, filled
from ..operators.invoke import apply
from ..tensor.getters import set_requires_grad
from ..tensor.tensor import Tensor

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
    "kaiser", "nuttall",
]  # fmt: skip
OPTIONS = frozenset({"dtype", "layout", "device", "requires_grad"})
"""Arguments of every window beside its own."""


def _window(
    name: str, M: int, sym: bool, shape: Callable[[Array, int], Array], given: dict[str, Any], least: int = 2
) -> Tensor:
    """`shape` of the numbers of M points and of their distance in all; fewer points than `least` are 1.

    Raises TypeError for M that is no int and for other options than OPTIONS, ValueError for M below 0, for other
    layouts than strided and for other dtypes than float32 and float64, RuntimeError for more points than memory holds.
    """
    for option in given.keys() - OPTIONS:
        raise TypeError(f"{name}() got an unexpected keyword argument '{option}'")
    count = check_int(name, "M", M)
    if count < 0:
        raise ValueError(f"{name}(): argument 'M' requires non-negative window length, got M={M}")
    layout = given.pop("layout", strided)
    if layout is not strided:
        raise ValueError(f"{name}(): argument 'layout' must be strided, got {layout}")
    options, requires_grad = tensor_options(name, given)
    kind = options.setdefault("dtype", get_default_dtype())
    if kind is not float32 and kind is not float64:
        raise ValueError(f"{name}(): argument 'dtype' must be float32 or float64, got {kind.name}")
    steps = count - 1 if sym or count == 1 else count
    apply("empty.memory_format", (count,), dtype=float64)  # refuses what memory does not hold before NumPy does
    points = filled((count,), float64, 1 if count < least else shape(np.arange(count), steps))
    made = apply("copy_", apply("empty.memory_format", (count,), **options), points)
    return set_requires_grad(made, True) if requires_grad else made


def _number(name: str, argument: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        type_error(name, argument, value, "float")
    return float(value)


def _positive(name: str, argument: str, value: Any) -> float:
    number = _number(name, argument, value)
    if number <= 0:
        raise ValueError(f"{name}(): argument '{argument}' must be positive, got {value}")
    return number


def _cosine_sum(place: Array, *weights: float) -> Array:
    """The sum of cosines over one period, with signs in turn."""
    terms = ((-1) ** k * weight * np.cos(2 * np.pi * k * place) for k, weight in enumerate(weights))
    return sum(terms, np.zeros_like(place))


def _triangle(place: Array) -> Array:
    """1 in the middle, 0 at both ends."""
    return np.asarray(1 - np.abs(2 * place - 1))


def _circle_bessel(place: Array, beta: float) -> Array:
    """The Bessel function I0 over a half circle, relative to its middle, with the shape `beta`."""
    circle = np.sqrt(np.maximum(1 - (2 * place - 1) ** 2, 0))
    return np.asarray(np.i0(beta * circle) / np.i0(beta))


def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, **options: Any) -> Tensor:
    """exp(-|n - center| / tau). Raises ValueError for tau that is not positive and a center of a symmetric window."""
    decay = _positive("exponential", "tau", tau)
    if sym and center is not None:
        raise ValueError("exponential(): argument 'center' must be None for a symmetric window")
    given = None if center is None else _number("exponential", "center", center)

    def shape(n: Array, steps: int) -> Array:
        return np.exp(-np.abs(n - (steps / 2 if given is None else given)) / decay)

    return _window("exponential", M, sym, shape, options, least=1)


def cosine(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """sin(pi (n + 1/2) / M)."""
    return _window("cosine", M, sym, lambda n, steps: np.sin(np.pi * (n + 0.5) / (steps + 1)), options)


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **options: Any) -> Tensor:
    """exp(-(n - middle)**2 / (2 std**2)). Raises ValueError for std that is not positive."""
    width = _positive("gaussian", "std", std)
    return _window("gaussian", M, sym, lambda n, steps: np.exp(-(((n - steps / 2) / width) ** 2) / 2), options)


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **options: Any) -> Tensor:
    """I0(beta sqrt(1 - x**2)) / I0(beta) for x from -1 to 1. Raises ValueError for a negative beta."""
    width = _number("kaiser", "beta", beta)
    if width < 0:
        raise ValueError(f"kaiser(): argument 'beta' must be non-negative, got {beta}")
    return _window("kaiser", M, sym, lambda n, steps: _circle_bessel(n / steps, width), options)


def bartlett(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """1 - |x| for x from -1 to 1."""
    return _window("bartlett", M, sym, lambda n, steps: _triangle(n / steps), options)


def _cosines(name: str, M: int, weights: list[float], sym: bool, options: dict[str, Any]) -> Tensor:
    """The sum of ``(-1)**i a[i] cos(i x)`` for x over one period."""
    return _window(name, M, sym, lambda n, steps: _cosine_sum(n / steps, *weights), options)


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, **options: Any) -> Tensor:
    """A sum of cosines with the weights `a`, with signs in turn. Raises TypeError for no list, ValueError for none."""
    if not isinstance(a, Iterable) or isinstance(a, (str, bytes)):
        type_error("general_cosine", "a", a, "list of floats")
    weights = [_number("general_cosine", "a", weight) for weight in a]
    if not weights:
        raise ValueError("general_cosine(): argument 'a' must not be empty")
    return _cosines("general_cosine", M, weights, sym, options)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any) -> Tensor:
    """alpha - (1 - alpha) cos(x) for x over one period."""
    share = _number("general_hamming", "alpha", alpha)
    return _cosines("general_hamming", M, [share, 1 - share], sym, options)


def _fixed(name: str, weights: list[float], document: str) -> Callable[..., Tensor]:
    def window(M: int, *, sym: bool = True, **options: Any) -> Tensor:
        return _cosines(name, M, weights, sym, options)

    window.__name__ = window.__qualname__ = name
    window.__doc__ = document
    return window


hamming = _fixed("hamming", [0.54, 0.46], "0.54 - 0.46 cos(x) for x over one period.")
hann = _fixed("hann", [0.5, 0.5], "(1 - cos(x)) / 2 for x over one period.")
blackman = _fixed("blackman", [0.42, 0.5, 0.08], "0.42 - 0.5 cos(x) + 0.08 cos(2 x) for x over one period.")
nuttall = _fixed(
    "nuttall", [0.3635819, 0.4891775, 0.1365995, 0.0106411], "Nuttall's window of four cosines, with low side lobes."
)

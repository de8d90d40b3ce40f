"""Steps of neural networks that draw, and those that keep statistics."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import Array
from ..case import TensorCase
from ..failure import NoReproducer
from ..forall import forall
from ..oracles.pointwise import spacing
from ..requirement import requirement
from ..session import Handle, Session

_UNTOLD = NoReproducer("the test judges all elements of a random draw together")

_COUNT = 20000
# Standard errors: a right backend is beyond them once in 10^9 draws.
_FAR = 6.2
_SELU = np.float64(1.0507009873554805) * np.float64(1.6732632423543772)


def _values(s: Session, y: Handle) -> Array:
    return s.read(y).astype(np.float64)


def _share(s: Session, found: float, chance: float, count: int, what: str) -> None:
    far = _FAR * (chance * (1 - chance) / count) ** 0.5
    s.expect(abs(found - chance) <= far, True, what, _UNTOLD)


def _elements(s: Session, dtype: str, sizes: tuple[int, ...]) -> tuple[Handle, Array]:
    """Elements from 1 to 4, so that a zero is one that was dropped."""
    given = 1 + np.arange(int(np.prod(sizes))).reshape(sizes) % 4
    x = s.tensor(given, dtype)
    return x, given.astype(np.float64)


@requirement("operators/dropout-scales-what-it-keeps")
@forall(
    rate=hs.sampled_from([0.5, 0.25, 0.75]),
    seed=hs.integers(0, 999),
    dtype=st.dtypes("float32", "float64", "float16", "bfloat16"),
    weight=0.1,
)
def test_dropout(s: Session, rate: float, seed: int, dtype: str) -> None:
    s.call("manual_seed", seed)
    x, given = _elements(s, dtype, (_COUNT,))
    plain = _values(s, s.call("dropout", x, rate, True))
    both = s.parts(s.call("native_dropout", x, rate, True), 2)
    masked, mask = _values(s, both[0]), s.read(both[1]).copy()
    limit = {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 1e-6)
    for name, got in (("dropout", plain), ("native_dropout", masked)):
        kept = got != 0
        right = np.abs(got - given / (1 - rate)) <= limit * given / (1 - rate)
        s.expect(bool((right | ~kept).all()), True, f"{name} keeps elements over {1 - rate} or zeroes them", _UNTOLD)
        _share(s, float(kept.mean()), 1 - rate, _COUNT, f"share of elements that {name} keeps")
        _share(s, float((kept[1:] & kept[:-1]).mean()), (1 - rate) ** 2, _COUNT // 3, f"pairs that {name} keeps")
    s.expect(bool((mask == (masked != 0)).all()), True, "the mask of native_dropout says what is kept", _UNTOLD)
    s.expect(bool((plain == masked).all()), False, "two draws of one generator are equal", _UNTOLD)


@requirement("operators/dropout-scales-what-it-keeps")
@forall(rate=hs.sampled_from([0.5, 0.25]), seed=hs.integers(0, 999), weight=0.1)
def test_dropout_of_channels(s: Session, rate: float, seed: int) -> None:
    s.call("manual_seed", seed)
    x, given = _elements(s, "float32", (50, 40, 3))
    for name in ("feature_dropout", "feature_alpha_dropout"):
        got = _values(s, s.call(name, x, rate, True))
        whole = np.abs(got - given / (1 - rate)) <= 1e-5 if name == "feature_dropout" else _kept(got, given, rate)
        s.expect(bool((whole.all(axis=2) | ~whole.any(axis=2)).all()), True, f"{name} decides for a channel", _UNTOLD)
        _share(s, float(whole.any(axis=2).mean()), 1 - rate, 2000, f"share of channels that {name} keeps")
        if name == "feature_dropout":
            s.expect(bool((got[~whole] == 0).all()), True, "feature_dropout zeroes what it does not keep", _UNTOLD)


def _kept(got: Array, given: Array, rate: float) -> Array:
    """Where alpha dropout kept an element: those that it dropped have one value for the lowest of SELU."""
    scale, shift = _alpha_terms(rate)
    return np.asarray(np.abs(got - (given * scale + shift)) <= 1e-4)


def _alpha_terms(rate: float) -> tuple[float, float]:
    """Factor and summand that keep mean 0 and variance 1 while some elements become the lowest value of SELU."""
    scale = float(((1 - rate) * (1 + rate * _SELU**2)) ** -0.5)
    return scale, scale * rate * float(_SELU)


@requirement("operators/dropout-scales-what-it-keeps")
@forall(rate=hs.sampled_from([0.5, 0.25]), seed=hs.integers(0, 999), weight=0.1)
def test_alpha_dropout(s: Session, rate: float, seed: int) -> None:
    s.call("manual_seed", seed)
    x, given = _elements(s, "float32", (_COUNT,))
    got = _values(s, s.call("alpha_dropout", x, rate, True))
    kept = _kept(got, given, rate)
    scale, shift = _alpha_terms(rate)
    lowest = np.abs(got - (shift - scale * float(_SELU))) <= 1e-4
    s.expect(bool((kept | lowest).all()), True, "alpha_dropout keeps elements or gives SELU's lowest value", _UNTOLD)
    _share(s, float(kept.mean()), 1 - rate, _COUNT, "share of elements that alpha_dropout keeps")


@requirement("operators/dropout-scales-what-it-keeps")
@forall(seed=hs.integers(0, 999), name=hs.sampled_from(["rrelu", "rrelu_with_noise"]), weight=0.1)
def test_slopes_of_rrelu(s: Session, seed: int, name: str) -> None:
    s.call("manual_seed", seed)
    x, given = _elements(s, "float64", (_COUNT,))
    signs = np.where(np.arange(_COUNT) % 2, -1.0, 1.0)
    x, given = s.tensor(given * signs, "float64"), given * signs
    noise = s.tensor(np.full(_COUNT, 7.0), "float64")
    arguments = (x, noise, 0.25, 0.75, True) if name == "rrelu_with_noise" else (x, 0.25, 0.75, True)
    got = _values(s, s.call(name, *arguments))
    slopes = (got / given)[given < 0]
    s.expect(bool((got == given)[given > 0].all()), True, f"{name} keeps what is above zero", _UNTOLD)
    inside = (slopes > 0.25 - 1e-12) & (slopes < 0.75 + 1e-12)
    s.expect(bool(inside.all()), True, f"slopes of {name} within bounds", _UNTOLD)
    off = _FAR * 0.5 * 12**-0.5 / (_COUNT / 2) ** 0.5
    s.expect(abs(float(slopes.mean()) - 0.5) <= off, True, f"mean slope of {name}", _UNTOLD)
    if name == "rrelu_with_noise":
        drawn = np.where(given < 0, got / given, 1.0)
        s.expect(bool((np.abs(_values(s, noise) - drawn) <= 1e-12).all()), True, "the noise is the slopes", _UNTOLD)


@requirement("operators/batch-norm-keeps-running-statistics")
@forall(
    momentum=hs.sampled_from([0.25, 0.5, 1.0]),
    name=hs.sampled_from(["batch_norm", "native_batch_norm", "instance_norm"]),
    dtype=st.dtypes("float32", "float64"),
    count=hs.integers(2, 5),
    weight=0.3,
)
def test_running_statistics(s: Session, momentum: float, name: str, dtype: str, count: int) -> None:
    given = (np.arange(count * 3 * 2) * 7 % 11).reshape(count, 3, 2).astype(np.float64)
    mean, variance = s.tensor([1.0, 2.0, 3.0], dtype), s.tensor([4.0, 5.0, 6.0], dtype)
    flags = (True,) if name != "native_batch_norm" else ()
    s.call(name, s.tensor(given, dtype), None, None, mean, variance, True, momentum, 0.125, *flags)
    axes = (0, 2) if name != "instance_norm" else (2,)
    fresh = given.mean(axis=axes), given.var(axis=axes, ddof=1)
    parts = [part if part.ndim == 1 else part.mean(axis=0) for part in fresh]
    for what, tensor, part, old in (
        ("mean", mean, parts[0], [1.0, 2.0, 3.0]), ("variance", variance, parts[1], [4.0, 5.0, 6.0])
    ):  # fmt: skip
        want = (1 - momentum) * np.array(old) + momentum * part
        close = np.abs(_values(s, tensor) - want) <= {"float32": 1e-5, "float64": 1e-12}[dtype] * 20
        s.expect(bool(close.all()), True, f"{name} moves the running {what} by its momentum", _UNTOLD)


@requirement("operators/every-operator-gives-what-its-row-says", needs=("strided",))
def test_batch_norm_of_turned_halves(s: Session) -> None:
    """Half floats that are not contiguous are rounded once too."""
    given = (np.arange(180) * 37 % 201 - 100).reshape(4, 3, 5, 3) / 16
    weight, bias, mean, variance = ([6.25, -5.5, 3.875], [-6.25, 5.5, 4.75], [0.5, -0.25, 1.5], [3.0, 2.0, 1.0])

    def turned(array: Array) -> Array:
        return array.reshape(1, 3, -1, 1) if array.ndim == 1 else array

    def body(s: Session, name: str, dtype: str) -> None:
        x = s.call("permute", s.tensor(np.ascontiguousarray(given.transpose(3, 2, 1, 0)), dtype), (3, 2, 1, 0))
        vectors = [s.tensor(v, dtype) for v in (weight, bias, mean, variance)]
        axes = {"native_batch_norm": (0, 2, 3), "instance_norm": (2, 3)}.get(name)
        own = axes is not None
        centre = given.mean(axes, keepdims=True) if own else turned(np.array(mean))
        spread = given.var(axes, keepdims=True) if own else turned(np.array(variance))
        want = (given - centre) / np.sqrt(spread + 0.125) * turned(np.array(weight)) + turned(np.array(bias))
        flags = () if name == "native_batch_norm" else (True,)
        statistics = (None, None) if own else vectors[2:]
        found = s.call(name, x, *vectors[:2], *statistics, own, 0.5, 0.125, *flags)
        y = s.parts(found, 3)[0] if name == "native_batch_norm" else found
        s.expect_close(y, want, 2 * spacing(np.maximum(np.abs(want), 6.25), dtype))

    names = ("batch_norm", "native_batch_norm", "instance_norm")
    s.table([(name, dtype) for name in names for dtype in ("float16", "bfloat16")], body)


@requirement("operators/every-operator-gives-what-its-row-says")
@forall(
    name=hs.sampled_from(["rms_norm", "_fused_rms_norm"]),
    dtype=st.dtypes("float32", "float64"),
    power=hs.integers(-2, 2),
    weight=0.1,
)
def test_default_of_root_mean_squares(s: Session, name: str, dtype: str, power: int) -> None:
    """Left out, ``eps`` is the distance of 1 to the next number of the dtype."""
    eps = float(np.finfo(dtype).eps)
    size = 2.0 ** (power + round(np.log2(eps) / 2))
    want = np.array([1, -1]) / np.sqrt(1 + eps / size**2)
    x = s.tensor(np.array([size, -size]), dtype)
    found = s.call(name, x, (2,)) if name == "rms_norm" else s.parts(s.call(name, x, (2,), None, None), 2)[0]
    s.expect_close(found, want, 8 * spacing(np.abs(want), dtype))


@requirement("operators/every-operator-gives-what-its-row-says", needs=("strided",))
def test_labels_in_a_row(s: Session) -> None:
    """The labels of all sequences lie one after the other, with gaps between them."""

    def body(s: Session, operator: str, dtype: str, step: int) -> None:
        logs = s.tensor(np.zeros((2, 2, 4)), dtype)
        row = np.zeros(3 * step)
        row[::step] = [1, 2, 3]
        labels = s.call("slice.Tensor", s.tensor(row, "int64"), 0, 0, 3 * step, step)
        losses = s.call(operator, logs, labels, [2, 2], [1, 2], 0, 0)
        s.expect_close(losses, np.array([-np.log(3.0), 0.0]), np.full(2, 1e-6))

    s.table([("ctc_loss.IntList", dtype, step) for dtype in ("float32", "float64") for step in (1, 2, 3)], body)


@requirement("operators/every-operator-gives-what-its-row-says", needs=("strided",))
def test_volumes_in_any_strides(s: Session) -> None:
    given = (np.arange(96) * 37 % 97).reshape(2, 4, 3, 4).astype(np.float64)
    want = given[:, :, :2].reshape(2, 2, 2, 1, 2, 2, 2).max(axis=(2, 4, 6))

    def body(s: Session, operator: str, order: tuple[int, ...]) -> None:
        laid = s.tensor(np.ascontiguousarray(given.transpose(order)), "float32")
        x = s.call("permute", laid, tuple(np.argsort(order).tolist()))
        found = s.call(operator, x, (2, 2, 2))
        s.expect_values(found if operator == "max_pool3d" else s.parts(found, 2)[0], want, dtype="float32")

    orders = ((0, 1, 2, 3), (1, 2, 3, 0), (3, 2, 1, 0), (0, 2, 3, 1))
    s.table([(name, order) for name in ("max_pool3d", "max_pool3d_with_indices") for order in orders], body)


@requirement("operators/every-operator-gives-what-its-row-says")
def test_factors_that_keep_or_double(s: Session) -> None:
    """Nearest neighbours follow the factor that is given, in every number of dims."""

    def body(s: Session, operator: str, size: int, wanted: int, factor: float) -> None:
        row = np.array([min(int(k / factor), size - 1) for k in range(wanted)], np.float32)
        x = np.arange(float(size), dtype=np.float32)
        if operator == "upsample_nearest1d":
            found = s.call(operator, s.tensor(x.reshape(1, 1, size)), (wanted,), factor)
            s.expect_values(found, row.reshape(1, 1, wanted))
            return
        for sizes, factors in (((wanted, 1), (factor, None)), ((1, wanted), (None, factor))):
            image = x.reshape(1, 1, size, 1) if factors[0] else x.reshape(1, 1, 1, size)
            found = s.call(operator, s.tensor(image), sizes, *factors)
            s.expect_values(found, row.reshape(1, 1, *sizes))

    cases = ((3, 3, 1.25), (4, 4, 0.75), (4, 8, 2.5), (3, 6, 2.25), (3, 7, 2.5))
    s.table([(name, *case) for name in ("upsample_nearest1d", "upsample_nearest2d") for case in cases], body)


@requirement("operators/every-operator-gives-what-its-row-says", needs=("strided",))
def test_columns_of_bytes(s: Session) -> None:
    """Resample images of two rows and one or two columns whose strides are not the default ones."""

    def row(s: Session, operator: str, width: int, strides: tuple[int, ...], aligned: bool) -> None:
        literal = (0, 1, 2, 3, 4, 5, 6, 7, *(200,) * 56)
        image = TensorCase("uint8", (1, 2, 2, width), strides, literal=literal, storage=len(literal))
        copy = s.tensor(image.array)
        want = s.call(operator, copy, (2, 3 * width), aligned)
        if width == 1:
            s.expect_values(want, np.repeat(image.array, 3, 3))
        s.expect_agreement(s.call(operator, s.build(image), (2, 3 * width), aligned), want)

    layouts = ((1, (2, 2, 1, 2)), (1, (4, 1, 2, 2)), (2, (8, 1, 4, 2)), (2, (8, 4, 1, 2)))
    names = ("upsample_bilinear2d", "upsample_bicubic2d")
    s.table([(name, *layout, aligned) for name in names for layout in layouts for aligned in (True, False)], row)


@requirement("operators/every-operator-gives-what-its-row-says")
def test_antialiased_columns(s: Session) -> None:
    """A column that is an image of its own comes out as in a wider image."""

    def body(s: Session, name: str, rows: int, wanted: int, dtype: str) -> None:
        given = (np.arange(rows * 2) * 7 % 11).reshape(1, 1, rows, 2).astype(np.float64)
        both = _values(s, s.call(name, s.tensor(given, dtype), (wanted, 2), False))
        alone = s.call(name, s.tensor(given[..., :1], dtype), (wanted, 1), False)
        s.expect_shape(alone, (1, 1, wanted, 1))
        s.expect_close(alone, both[..., :1], np.full((1, 1, wanted, 1), {"float32": 1e-5, "float64": 1e-13}[dtype]))

    names = ("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa")
    sizes = [(rows, wanted) for rows in (1, 2, 5) for wanted in (1, 3, 7)]
    s.table([(name, *size, dtype) for name in names for size in sizes for dtype in ("float32", "float64")], body)

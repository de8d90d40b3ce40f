"""assert_close: compare values with a tolerance that depends on their dtypes (as torch.testing.assert_close)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

import gaugeblock as gb

__all__ = ["assert_close"]

TOLERANCES: dict[str, tuple[float, float]] = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
}  # fmt: skip
"""Dtype name -> relative and absolute tolerance; all other dtypes are compared exactly."""


class _Rules(NamedTuple):
    """The options of one comparison."""

    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool
    msg: str | Callable[[str], str] | None

    def fail(self, path: str, message: str) -> NoReturn:
        """Raise AssertionError with the path inside a container, or with the caller's message if there is one."""
        text = f"{message}\n\nat item {path}" if path else message
        if self.msg is not None:
            text = self.msg(text) if callable(self.msg) else self.msg
        raise AssertionError(text)

    def tolerances(self, *dtypes: Any) -> tuple[float, float]:
        """Return the relative and absolute tolerance: those given, or the widest of the dtypes'."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        known = [TOLERANCES.get(dtype.name, (0.0, 0.0)) for dtype in dtypes]
        return max(rtol for rtol, _ in known), max(atol for _, atol in known)


def assert_close(
    actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None, atol: float | None = None,
    equal_nan: bool = False, check_device: bool = True, check_dtype: bool = True, check_layout: bool = True,
    check_stride: bool = False, msg: str | Callable[[str], str] | None = None,
) -> None:  # fmt: skip
    """Raise AssertionError unless ``|actual - expected| <= atol + rtol * |expected|`` holds for every element.

    Tensors must agree in shape and, as the flags say, in device, dtype, layout and strides; the elements of meta
    tensors are not compared. Numbers, None and arrays are compared too, sequences and mappings item by item. ``rtol``
    and ``atol`` are given together or follow from the dtypes: 1.3e-6 and 1e-5 for float32, 0 for integers. Infinities
    equal themselves, NaNs only with ``equal_nan``.

    Raises ValueError for one tolerance without the other, TypeError for values that cannot be compared.
    Source: https://docs.pytorch.org/docs/stable/testing.html
    """
    if (rtol is None) != (atol is None):
        raise ValueError("assert_close(): rtol and atol must be given together")
    if not allow_subclasses and type(actual) is not type(expected):
        raise TypeError(f"assert_close(): cannot compare {type(actual).__name__} with {type(expected).__name__}")
    rules = _Rules(rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride, msg)
    _compare(actual, expected, rules, "")


def _compare(actual: Any, expected: Any, rules: _Rules, path: str) -> None:
    """Compare two values; ``path`` is their path inside containers."""
    if isinstance(actual, np.ndarray) and isinstance(expected, np.ndarray):
        actual, expected = gb.as_tensor(actual), gb.as_tensor(expected)
    if isinstance(actual, gb.Tensor) and isinstance(expected, gb.Tensor):
        _compare_tensors(actual, expected, rules, path)
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        missing, extra = sorted(map(repr, expected.keys() - actual)), sorted(map(repr, actual.keys() - expected))
        if missing or extra:
            rules.fail(path, f"the keys differ: missing {', '.join(missing) or '-'}, extra {', '.join(extra) or '-'}")
        for key in expected:
            _compare(actual[key], expected[key], rules, f"{path}[{key!r}]")
    elif _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            rules.fail(path, f"the lengths differ: {len(actual)} and {len(expected)}")
        for place, (one, other) in enumerate(zip(actual, expected, strict=True)):
            _compare(one, other, rules, f"{path}[{place}]")
    elif actual is None or expected is None:
        if actual is not expected:
            rules.fail(path, f"{actual} is not {expected}")
    elif isinstance(actual, bool | np.bool_) and isinstance(expected, bool | np.bool_):
        if bool(actual) is not bool(expected):
            rules.fail(path, f"{actual} is not {expected}")
    elif _is_number(actual) and _is_number(expected):
        _compare_numbers(actual, expected, rules, path)
    else:
        raise TypeError(f"assert_close(): cannot compare {type(actual).__name__} with {type(expected).__name__}")


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | complex | np.number) and not isinstance(value, bool)


_NUMBER_DTYPES = ((int, gb.int64), (float, gb.float64), (complex, gb.complex128))


def _compare_numbers(actual: Any, expected: Any, rules: _Rules, path: str) -> None:
    """Compare two Python or NumPy numbers."""
    pair = [value.item() if isinstance(value, np.number) else value for value in (actual, expected)]
    if rules.check_dtype and type(pair[0]) is not type(pair[1]):
        rules.fail(path, f"the types differ: {type(actual).__name__} and {type(expected).__name__}")
    dtypes = [dtype for value in pair for kind, dtype in _NUMBER_DTYPES if type(value) is kind]
    rtol, atol = rules.tolerances(*dtypes)
    one, other = pair
    if one == other or (rules.equal_nan and one != one and other != other):
        return
    gap = abs(one - other)
    if not (math.isfinite(gap) and gap <= atol + rtol * abs(other)):
        relative = gap / abs(other) if other else math.inf
        rules.fail(
            path,
            f"expected {expected} but got {actual}\n"
            f"absolute difference {gap} (allowed {atol}), relative difference {relative} (allowed {rtol})",
        )


def _compare_tensors(actual: gb.Tensor, expected: gb.Tensor, rules: _Rules, path: str) -> None:
    """Compare the properties of two tensors, then their elements."""
    for name, one, other, asked in (
        ("shape", tuple(actual.shape), tuple(expected.shape), True),
        ("device", actual.device, expected.device, rules.check_device),
        ("dtype", actual.dtype, expected.dtype, rules.check_dtype),
        ("layout", actual.layout, expected.layout, rules.check_layout),
        ("stride", actual.stride(), expected.stride(), rules.check_stride),
    ):
        if asked and one != other:
            rules.fail(path, f"the tensors differ in {name}: {one} and {other}")
    if actual.is_meta or expected.is_meta:
        return
    rtol, atol = rules.tolerances(actual.dtype, expected.dtype)
    dtype = gb.promote_types(actual.dtype, expected.dtype)
    one, other = (value.detach().to("cpu", dtype) for value in (actual, expected))
    close = one.isclose(other, rtol=rtol, atol=atol, equal_nan=rules.equal_nan)
    if bool(close.all()):
        return
    wide = gb.complex128 if dtype.is_complex else gb.float64
    one, other = one.to(wide), other.to(wide)
    gap = (one - other).abs()
    gap[close] = 0
    relative = gap / other.abs()
    relative[close] = 0
    lines = [f"{int((~close).sum())} of {close.numel()} elements differ"]
    for name, differences, allowed in (("absolute", gap, atol), ("relative", relative, rtol)):
        flat = int(differences.flatten().argmax())
        place = tuple(int(step) for step in np.unravel_index(flat, tuple(close.shape)))
        greatest = float(differences.flatten()[flat])
        lines.append(f"greatest {name} difference {greatest} at index {place} (allowed {allowed})")
    rules.fail(path, "\n".join(lines))

"""gaugeblock.testing.assert_close, with literals."""

from __future__ import annotations

import math
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.testing import assert_close

nan, inf = math.nan, math.inf

EQUAL: list[tuple[Any, Any, dict[str, Any]]] = [
    (gb.tensor(1.0), gb.tensor(1.0 + 1e-6), {}),
    (gb.tensor([inf, -inf]), gb.tensor([inf, -inf]), {}),
    (gb.tensor([nan]), gb.tensor([nan]), {"equal_nan": True}),
    (gb.ones(0), gb.ones(0), {}),
    (gb.ones(2), gb.ones(2, dtype=gb.float64), {"check_dtype": False}),
    (gb.ones(2, 3).t(), gb.ones(3, 2), {}),
    (gb.ones(3, device="meta"), gb.ones(3, device="meta"), {}),
    (gb.tensor([1 + 1j]), gb.tensor([1 + 1j]), {}),
    (gb.ones(2), gb.ones(2) * 1.05, {"rtol": 0.1, "atol": 0.0}),
    (gb.ones(2, dtype=gb.float16), gb.ones(2, dtype=gb.float16) * 1.001, {}),
    ([1, {"a": gb.ones(2)}], (1, {"a": gb.ones(2)}), {}),
    (np.ones(2), np.ones(2), {}),
    (1.0, 1.0 + 1e-8, {}), (nan, nan, {"equal_nan": True}), (inf, inf, {}), (True, True, {}), (None, None, {}),
]  # fmt: skip

DIFFERENT: list[tuple[Any, Any, dict[str, Any], str]] = [
    (gb.ones(2), gb.ones(3), {}, "differ in shape: (2,) and (3,)"),
    (gb.ones(2), gb.ones(2, dtype=gb.float64), {}, "differ in dtype"),
    (gb.ones(2, 3).t(), gb.ones(3, 2), {"check_stride": True}, "differ in stride: (1, 3) and (2, 1)"),
    (gb.tensor([1.0, 2.0]), gb.tensor([1.0, 2.5]), {}, "1 of 2 elements differ"),
    (gb.tensor([1.0, 2.0]), gb.tensor([1.0, 2.5]), {}, "absolute difference 0.5 at index (1,) (allowed 1e-05)"),
    (gb.tensor([nan]), gb.tensor([nan]), {}, "1 of 1 elements differ"),
    (gb.tensor([inf]), gb.tensor([-inf]), {}, "1 of 1 elements differ"),
    (gb.tensor(2**62), gb.tensor(2**62 + 1), {}, "1 of 1 elements differ"),
    (gb.tensor(True), gb.tensor(False), {}, "1 of 1 elements differ"),
    ([1, 2], [1], {}, "the lengths differ: 2 and 1"),
    ({"a": 1}, {"b": 1}, {}, "missing 'b', extra 'a'"),
    ([{"a": [1.0]}], [{"a": [2.0]}], {}, "at item [0]['a'][0]"),
    (1, 1.0, {}, "the types differ: int and float"),
    (1, 2, {"msg": "mine"}, "mine"),
    (1, 2, {"msg": lambda text: text.upper()}, "EXPECTED 2 BUT GOT 1"),
    (None, 1, {}, "None is not 1"),
    (True, False, {}, "True is not False"),
]


@pytest.mark.parametrize(("actual", "expected", "options"), EQUAL)
def test_close_values_pass(actual: Any, expected: Any, options: dict[str, Any]) -> None:
    assert assert_close(actual, expected, **options) is None


@pytest.mark.parametrize(("actual", "expected", "options", "message"), DIFFERENT)
def test_differences_are_described(actual: Any, expected: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(AssertionError) as caught:
        assert_close(actual, expected, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize("pair", [(gb.ones(2), 1.0), ("a", "a"), (1, True), (object(), 1)])
def test_values_that_cannot_be_compared_raise_type_error(pair: tuple[Any, Any]) -> None:
    with pytest.raises(TypeError, match=r"assert_close\(\): cannot compare"):
        assert_close(*pair)


def test_one_tolerance_alone_is_refused() -> None:
    with pytest.raises(ValueError, match="rtol and atol must be given together"):
        assert_close(1.0, 1.0, rtol=0.1)

"""Filling tensors where a mask is true, at first calls and at kept ones."""

from __future__ import annotations

import gaugeblock as gb
import pytest


def test_masked_fill_with_numbers_and_tensors() -> None:
    mask = gb.tensor([[True], [False]])
    for value in (5, 2.5, gb.tensor(-1.0), gb.tensor(7), 8, 9):  # the later ones by kept calls
        number = value.item() if isinstance(value, gb.Tensor) else value
        for x in (gb.zeros(2, 3), gb.zeros(3, 2).t(), gb.zeros(4, 3)[::2]):
            assert x.masked_fill(mask, value).tolist() == [[number] * 3, [0] * 3]
            assert x.masked_fill_(mask, value) is x and x._version == 1
            assert x.tolist() == [[number] * 3, [0] * 3]


def test_masked_fill_refuses_each_number_that_does_not_fit() -> None:
    x, mask = gb.zeros(2, dtype=gb.uint8), gb.tensor([True, False])
    for _ in range(3):
        assert x.masked_fill(mask, 200).tolist() == [200, 0]
        for value in (300, gb.tensor(300)):
            with pytest.raises(RuntimeError, match="cannot be converted to type uint8 without overflow"):
                x.masked_fill(mask, value)
            with pytest.raises(RuntimeError, match="cannot be converted to type uint8 without overflow"):
                x.masked_fill_(mask, value)
    assert x._version == 0


def test_masked_fill_of_the_mask_itself() -> None:
    for _ in range(3):
        mask = gb.tensor([True, False, True])
        assert mask.masked_fill_(mask, False).tolist() == [False, False, False]
        assert mask.masked_fill_(~mask, True).tolist() == [True, True, True]

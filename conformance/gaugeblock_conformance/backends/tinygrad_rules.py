"""Rules of tinygrad's own: results that its documentation leaves open, such as those of NaN and signed zeros."""

from __future__ import annotations

from ..own_rules import OwnRule

_PAGES = "https://docs.tinygrad.org/tensor"


def _open(operators: str, conditions: tuple[str, ...], page: str, sentence: str) -> OwnRule:
    return OwnRule("values", tuple(operators.split()), conditions, sentence=sentence, source=f"{_PAGES}/{page}")


TINYGRAD_RULES = (
    _open("le ge lt gt __le__ __ge__ __lt__ __gt__", ("nan operand",), "elementwise/",
          "(The page lists the comparisons, and says nothing of NaN.)"),
    _open("mul __mul__", ("nan operand", "infinite operand", "sign of zero"), "elementwise/#tinygrad.Tensor.mul",
          "Multiplies self and x. (The page says nothing of NaN, infinities and zeros.)"),
    _open("remainder __mod__", ("infinite operand",), "elementwise/#tinygrad.Tensor.mod",
          "Mod self by x. Equivalent to self % x. (The page says nothing of infinities.)"),
    _open("round", ("sign of zero",), "elementwise/#tinygrad.Tensor.round",
          "Rounds the tensor element-wise with rounding half to even. (The page says nothing of zeros.)"),
    _open("abs __abs__", ("sign of zero",), "elementwise/#tinygrad.Tensor.abs",
          "Computes the absolute value of the tensor element-wise. (The page says nothing of zeros.)"),
    _open("cat", ("sign of zero",), "movement/#tinygrad.Tensor.cat",
          "Concatenates self with other tensors in args along an axis specified by dim. (The page says nothing of "
          "zeros.)"),
    OwnRule("refusals", ("gather",), sentence="Gathers values along an axis specified by dim. (The page says nothing "
            "of indices outside.)", source=f"{_PAGES}/movement/#tinygrad.Tensor.gather"),
)  # fmt: skip

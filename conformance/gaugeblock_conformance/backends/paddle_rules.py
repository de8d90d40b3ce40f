"""Rules of Paddle's own: the dtypes that its functions take, and where its documentation differs from the spec.

They come from the docstrings of Paddle 3.3, which are the source of its pages.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..own_rules import OwnRule
from .array_api_rules import accumulation
from .paddle_table import PADDLE

_PAGES = "https://www.paddlepaddle.org.cn/documentation/docs/en/api"
_INDEX = f"{_PAGES}/index_en.html"

_ALL = "bool uint8 int8 int16 int32 int64 bfloat16 float16 float32 float64 complex64 complex128"
_REAL = "uint8 int8 int16 int32 int64 bfloat16 float16 float32 float64"
_COMMON = "int32 int64 bfloat16 float16 float32 float64"
_PLAIN = "bool int32 int64 float16 float32 float64"

_LISTED: Mapping[str, str] = {
    "int32 int64 float16 float32 float64 complex64 complex128": "abs square isnan isfinite index_select eye eye.m",
    "int32 int64 bfloat16 float16 float32 float64 complex64 complex128": "round conj prod prod.dim_int",
    "uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128": "isinf",
    f"{_REAL} complex64 complex128": "neg",
    _REAL: "sqrt reciprocal ceil floor isposinf isneginf signbit",
    "int32 int64 float32 float64": "trunc amax amin topk repeat_interleave.self_int stack arange.start_step linspace",
    "complex64 complex128": "real imag view_as_real",
    "bool int8 int16 int32 int64 bfloat16 float16 float32 float64 complex64 complex128":
        "logical_not logical_and logical_or logical_xor",
    "bool uint8 int8 int16 int32 int64": "bitwise_not bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor",
    _ALL: """add.Tensor div.Tensor ne.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor sum sum.dim_IntList reshape permute
        transpose.int cat""",
    "int16 int32 int64 bfloat16 float16 float32 float64 complex64 complex128": "sub.Tensor",
    "bool int32 int64 bfloat16 float16 float32 float64 complex64 complex128": "mul.Tensor mean mean.dim",
    "uint8 int8 int32 int64 bfloat16 float16 float32 float64": "floor_divide",
    _COMMON: """remainder.Tensor maximum minimum fmax fmin heaviside clamp max min searchsorted.Tensor
        isin.Tensor_Tensor masked_fill.Scalar kron""",
    f"bool {_REAL}": "copysign.Tensor",
    "float32 float64": "nextafter view_as_complex mv",
    "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128": "eq.Tensor eq.Scalar",
    f"bool {_COMMON}": "where.self diagonal",
    "float16 float32 float64": "var.correction",
    "bool int32 int64 float32 float64 complex64 complex128": "any any.dim all all.dim tril",
    "uint8 int16 int32 int64 float16 float32 float64": "argmax argmin",
    _PLAIN: "count_nonzero diff rot90 zeros ones zeros_like ones_like empty_like full_like",
    "uint8 int16 int32 int64 float32 float64": "sort",
    "uint8 int16 int32 int64 bfloat16 float16 float32 float64": "argsort.stable",
    "bool int32 int64 float32 float64": "view unfold as_strided flip",
    "bool int8 int32 int64 float32 float64": "squeeze squeeze.dim",
    "bool int8 int32 int64 bfloat16 float16 float32 float64": "unsqueeze",
    f"uint8 {_PLAIN}": "broadcast_to to.dtype",
    f"{_PLAIN} complex64 complex128": "unbind.int tile empty.memory_format",
    "uint8 int8 int32 int64 float16 float32 float64": "flatten.using_ints",
    "bool int16 int32 int64 float16 float32 float64": "unflatten.int",
    "int32 int64 float32 float64 complex64 complex128": "triu dot",
    f"uint8 {_COMMON}": "gather",
    "int32 int64 float16 float32 float64": "masked_select trace full",
    "int8 int32 int64 bfloat16 float16 float32 float64 complex64 complex128": "mm",
}  # fmt: skip
DOCUMENTED = {name: frozenset(dtypes.split()) for dtypes, names in _LISTED.items() for name in names.split()}
"""Operator -> the dtypes that the page of its function lists; those that are missing list none."""


def _silent(kind: str, operators: str, holds: tuple[str, ...], sentence: str, page: str = "") -> OwnRule:
    source = f"{_PAGES}/paddle/{page}_en.html" if page else _INDEX
    return OwnRule(kind, tuple(operators.split()), holds, sentence=sentence, source=source)


RULES = (
    _silent("texts", "*", (), "(No page of the API gives the text of an error.)"),
    OwnRule("refusals", tuple(PADDLE), sentence="(No page of these functions says that an error is raised.)",
            source=_INDEX),
    _silent("strides", "*", ("no elements",), "(No page speaks of the strides of tensors without elements.)"),
    _silent("strides", "clone", (), "Returns a copy of input Tensor. It will always have a Tensor copy.", "clone"),
    _silent("strides", "zeros_like ones_like full_like empty_like", (), "Returns a Tensor filled with the value 0, "
            "with the same shape and data type (use dtype if dtype is not None) as x.", "zeros_like"),
    _silent("sharing", "to.dtype", (), "It's meaningless if the output dtype equals the input dtype, but it's fine if "
            "you do so.", "cast"),
    _silent("sharing", "broadcast_to", (), "Broadcast the input tensor to a given shape.", "broadcast_to"),
    _silent("sharing", "real imag", (), "Returns a new tensor containing imaginary values of input tensor.", "imag"),
    _silent("values", "to.dtype", ("last place",), "Take in the Tensor x with x.dtype and cast it to the output with "
            "dtype. (Of rounding the page says nothing.)", "cast"),
    _silent("values", "sqrt", ("last place", "of a subnormal"), "(The page gives a formula and no accuracy.)", "sqrt"),
    _silent("values", "div.Tensor", ("last place",), "Divide two tensors element-wise. (The page gives no accuracy.)",
            "divide"),
    _silent("values", "linspace", ("rounding",), "Return fixed number of evenly spaced values within a given "
            "interval.", "linspace"),
    *accumulation(f"{_PAGES}/paddle/{{}}_en.html"),
)  # fmt: skip

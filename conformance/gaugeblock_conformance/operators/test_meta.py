"""Operators without data: sizes, strides and dtype as with data."""

from __future__ import annotations

from typing import Any

from gaugeblock_spec import operators

from ..backend import DType
from ..case import TensorCase
from ..iteration.model import is_dense
from ..oracles.pointwise import operators_with_oracle
from ..requirement import requirement
from ..session import Handle, Session
from .calls import OperatorCall
from .coverage import shaped, swept
from .drawing import draw, drawable
from .outs import result_of
from .sweep import sweep


def _on_meta(s: Session, case: TensorCase) -> Handle:
    made: Handle = s.call(
        "empty_strided", list(case.sizes), list(case.strides), dtype=DType(case.dtype), device="meta"
    )
    return made


def _observed(s: Session, result: Any) -> list[tuple[Any, ...]]:
    parts = result if isinstance(result, list | tuple) else [result]
    handles = [p for p in parts if isinstance(p, Handle)]
    strided = "strided" in s.capabilities
    return [
        (tuple(s.observe("shape", h)), str(s.observe("dtype", h)), tuple(s.observe("strides", h)) if strided else ())
        for h in handles
    ]


def _agree(s: Session, call: OperatorCall) -> None:
    y = result_of(s, call)
    if y is None:
        return
    want = _observed(s, y)
    s.without_data()
    positional, keywords = call.bind(lambda case: _on_meta(s, case))
    result = s.call(call.operator, *positional, **keywords)
    parts = result if isinstance(result, list | tuple) else [result]
    handles = [p for p in parts if isinstance(p, Handle)]
    dense = all(is_dense(case.sizes, case.strides) for case in call.tensors)
    free = not dense or call.row.without_data == "sizes"
    s.expect(len(handles), len(want), f"the number of {call.operator}'s results")
    for part, (sizes, dtype, strides) in zip(handles, want, strict=True):
        s.expect_shape(part, sizes)
        s.expect_dtype(part, dtype)
        if strides and 0 not in sizes and not free:
            got = tuple(s.observe("strides", part))
            if any(a != b for a, b, size in zip(got, strides, sizes, strict=True) if size > 1):
                s.expect_strides(part, strides)


def _agree_in_two_layouts(s: Session, call: OperatorCall) -> None:
    """Compare on the tensors as drawn, at offset 0, and on dense ones whose strides, all alike, leave no choice."""
    _agree(s, call.packed() if any(case.offset for case in call.tensors) else call)
    sizes = {case.sizes for case in call.tensors}
    if len(sizes) == 1 and len(*sizes) > 1 and not {0, 1} & set(*sizes):
        _agree(s, call.turned())


@requirement("operators/meta-agrees-with-data", slow=True)
def test_metadata_of_results(s: Session) -> None:
    names = [n for n in (*swept(), *shaped(), *operators_with_oracle()) if drawable(n)]
    names = [n for n in names if operators.load()[n].without_data != "nothing"]
    sweep(s, names, draw, _agree_in_two_layouts, weight=0.03)


@requirement("operators/steps-of-networks-on-meta-agree", needs=("strided",))
def test_steps_of_networks(s: Session) -> None:
    packed, turned = (8, 4, 1), (8, 1, 2)
    rows: list[tuple[str, str, tuple[int, ...], tuple[Any, ...]]] = [
        ("native_layer_norm", "float32", packed, ([4], None, None, 1e-5)),
        ("native_layer_norm", "float16", packed, ([4], None, None, 1e-5)),
        ("native_batch_norm", "bfloat16", packed, (None, None, None, None, True, 0.1, 1e-5)),
        ("native_channel_shuffle", "float32", packed, (2,)),
        ("native_channel_shuffle", "float32", turned, (2,)),
        ("normal.Tensor_float", "float32", packed, (2.0,)),
        ("normal.Tensor_float", "complex64", packed, (2,)),
    ]

    def body(s: Session, operator: str, dtype: str, strides: tuple[int, ...], arguments: tuple[Any, ...]) -> None:
        case = TensorCase(dtype, (2, 2, 4), strides, kind="small")
        want = _observed(s, s.call(operator, s.build(case), *arguments))
        s.without_data()
        result = s.call(operator, _on_meta(s, case), *arguments)
        for part, (sizes, kind, _) in zip(result if isinstance(result, tuple) else [result], want, strict=True):
            s.expect_shape(part, sizes)
            s.expect_dtype(part, kind)

    s.table(rows, body)

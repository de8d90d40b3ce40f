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

# The sizes of these results, or the results themselves, depend on elements.
_NEED_ELEMENTS = frozenset(
    """nonzero argwhere where masked_select _unique2 unique_dim repeat_interleave.self_Tensor repeat_interleave.Tensor
    equal allclose is_nonzero item where.Scalar narrow.Tensor tensor_split.tensor_indices_or_sections
    bernoulli_.Tensor combinations bincount unique_consecutive""".split()
)
# Which PyTorch has no kernels of, or of whose steps.
_NOT_ON_META = frozenset(
    """binomial corrcoef cov geqrf histogram.bin_ct histogram.bins_tensor istft linalg_lstsq
    normal.Tensor_float""".split()
)

# Their results have the strides of the inputs or row-major ones (erratum S-33).
_FREE_STRIDES = frozenset(
    """log_sigmoid floor_divide pow.Scalar float_power.Scalar linalg_eig linalg_svd svd nonzero_static poisson
    normal.float_Tensor isin.Tensor_Tensor isin.Tensor_Scalar isin.Scalar_Tensor angle""".split()
)


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


def _composed_otherwise(call: OperatorCall) -> bool:
    """Norms of no elements, which PyTorch's steps on meta refuse along any dim, and blocks without dims, which they
    join with the dtypes of the others as if they had some."""
    if call.row.base_name == "norm" and not all(case.numel for case in call.tensors):
        return True
    dimless = not all(case.sizes for case in call.tensors)
    return call.operator == "block_diag" and dimless and len({case.dtype for case in call.tensors}) > 1


def _agree(s: Session, call: OperatorCall) -> None:
    if _composed_otherwise(call):
        return
    if any(isinstance(v, TensorCase) and v.offset for v in call.arguments.values()):
        call = call.packed()
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
    free = not dense or call.operator in _FREE_STRIDES or call.row.family == "spectral"
    s.expect(len(handles), len(want), f"the number of {call.operator}'s results")
    for part, (sizes, dtype, strides) in zip(handles, want, strict=True):
        s.expect_shape(part, sizes)
        s.expect_dtype(part, dtype)
        if strides and 0 not in sizes and not free:
            got = tuple(s.observe("strides", part))
            if any(a != b for a, b, size in zip(got, strides, sizes, strict=True) if size > 1):
                s.expect_strides(part, strides)


@requirement("operators/meta-agrees-with-data", slow=True)
def test_metadata_of_results(s: Session) -> None:
    rows = operators.load()
    names = [n for n in (*swept(), *shaped(), *operators_with_oracle()) if drawable(n)]
    names = [n for n in names if n not in _NEED_ELEMENTS and n not in _NOT_ON_META]
    # PyTorch composes many steps of networks for the meta device otherwise than for data.
    names = [n for n in names if rows[n].family != "network"]
    sweep(s, names, draw, _agree, weight=0.03)


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

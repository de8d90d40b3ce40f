"""Calls of operators whose arguments no rule draws, and calls at which a derivative was once found wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..backend import DType
from ..case import TensorCase, default_strides
from ..operators.calls import OperatorCall


@dataclass(frozen=True)
class Operand:
    """A tensor of these sizes, of the dtype that is differentiated, or of ``places``, as they lie in memory; contiguous
    but for given strides."""

    sizes: tuple[int, ...]
    places: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None
    kind: str = "int64"

    def case(self, dtype: str) -> TensorCase:
        dtype = dtype if self.places is None else self.kind
        return TensorCase(dtype, self.sizes, self.strides or default_strides(self.sizes), literal=self.places)


_ROWS = Operand((2,), (2, 0))
_REPEATED = Operand((3,), (1, 1, 3))
_TURNED = Operand((1, 2, 2, 2), strides=(8, 4, 1, 2))
_CLASSES = Operand((1, 2, 2), (0, 1, 1, 0))
_LOSS = ({"self": _TURNED, "target": _CLASSES, "weight": None, "reduction": 1, "ignore_index": -100},)

EXAMPLES: dict[str, tuple[Mapping[str, Any], ...]] = {
    "index.Tensor": (
        {"self": Operand((3, 4)), "indices": [_ROWS]},
        {"self": Operand((3, 4)), "indices": [None, _REPEATED]},
        {"self": Operand((3, 4)), "indices": [Operand((2, 1), (2, 0)), _REPEATED]},
    ),
    "index_put": (
        {"self": Operand((3, 4)), "indices": [_ROWS], "values": Operand((2, 4))},
        {"self": Operand((3, 4)), "indices": [None, _REPEATED], "values": Operand((3, 1)), "accumulate": True},
        {"self": Operand((3, 4)), "indices": [_ROWS, Operand((2,), (3, 1))], "values": Operand(())},
    ),
    "div.Tensor_mode": tuple(
        {"self": Operand((2, 3)), "other": Operand((3,)), "rounding_mode": mode} for mode in (None, "trunc", "floor")
    ),
    "div.Scalar_mode": tuple(
        {"self": Operand((2, 3)), "other": 1.75, "rounding_mode": mode} for mode in (None, "trunc", "floor")
    ),
    "as_strided_scatter": (
        {"self": Operand((7,)), "src": Operand((2, 2)), "size": (2, 2), "stride": (3, 1), "storage_offset": 1},
    ),
    "round.decimals": ({"self": Operand((3,)), "decimals": 1},),
    "stft": (
        {"self": Operand((8,)), "n_fft": 4, "hop_length": 2, "return_complex": True},
        {"self": Operand((2, 6)), "n_fft": 4, "window": Operand((4,)), "onesided": False, "return_complex": True},
    ),
    "tensordot": (
        {"self": Operand((2, 3)), "other": Operand((3, 2)), "dims_self": (1,), "dims_other": (0,)},
        {"self": Operand((2, 3)), "other": Operand((2, 3)), "dims_self": (0, 1), "dims_other": (0, 1)},
    ),
    "cosine_similarity": tuple(
        {"x1": Operand((2, 3)), "x2": Operand((2, 3)), "dim": 1, "eps": eps} for eps in (1e-8, 4.0)
    ),
    "dist": tuple({"self": Operand((2, 3)), "other": Operand((3,)), "p": p} for p in (2, 0)),
    "narrow_copy": ({"self": Operand((4,)), "dim": 0, "start": -2, "length": 2},),
    "batch_norm": (
        {"input": Operand((2, 3, 2)), "weight": None, "bias": Operand((3,)), "running_mean": None, "running_var": None,
         "training": True, "momentum": 0.1, "eps": 0.125, "cudnn_enabled": False},
    ),
    "einsum": (
        {"equation": "ij,jk->ik", "tensors": [Operand((2, 3)), Operand((3, 2))]},
        {"equation": "ii->i", "tensors": [Operand((3, 3))]},
    ),
    **dict.fromkeys(("sum", "prod"), ({"self": Operand((3,)), "dtype": DType("complex128")},)),
    "sum.dim_IntList": ({"self": Operand((3,)), "dim": (0,), "dtype": DType("complex128")},),
    **dict.fromkeys(("nll_loss2d", "nll_loss_nd", "nll_loss2d_forward"), _LOSS),
    "max_unpool2d": (
        {"self": Operand((1, 2, 2)), "indices": Operand((1, 2, 2), (0, 2, 1, 3), (4, 1, 2)), "output_size": (2, 2)},
    ),
    "max_unpool3d": (
        {"self": Operand((1, 1, 2, 2)), "indices": Operand((1, 1, 2, 2), (0, 2, 1, 3), (4, 4, 1, 2)),
         "output_size": (1, 2, 2), "stride": (1, 1, 1), "padding": (0, 0, 0)},
    ),
    "index_add": (
        {"self": Operand((2,)), "dim": 0, "index": Operand((1,), (1,)), "source": Operand((1,)), "alpha": 2j},
    ),
    "index_reduce": (
        {"self": Operand((2,)), "dim": 0, "index": Operand((1,), (1,), kind="int32"), "source": Operand((1,)),
         "reduce": "mean", "include_self": False},
    ),
    "linalg_cond": ({"self": Operand((2, 2)), "p": 1},),
    "prod.dim_int": ({"self": Operand((3,)), "dim": 0, "dtype": DType("complex128")},),
    "cumprod": ({"self": Operand((3,)), "dim": 0, "dtype": DType("complex128")},),
    "float_power.Scalar": ({"self": 0.0, "exponent": Operand((3,))},),
    "_upsample_bilinear2d_aa": (
        {"self": Operand((1, 1, 3, 3)), "output_size": (3, 3), "align_corners": False, "scales_h": 1.3},
    ),
    **dict.fromkeys(
        ("_upsample_bilinear2d_aa.vec", "_upsample_bicubic2d_aa.vec"),
        ({"input": Operand((1, 1, 3, 3)), "output_size": None, "align_corners": False, "scale_factors": (1.3, 1.0)},),
    ),
    "instance_norm": (
        {"input": Operand((2, 2, 3)), "weight": None, "bias": Operand((2,)), "running_mean": None, "running_var": None,
         "use_input_stats": True, "momentum": 0.1, "eps": 0.125, "cudnn_enabled": False},
    ),
    "layer_norm": ({"input": Operand((2, 3)), "normalized_shape": (3,), "weight": None, "bias": Operand((3,))},),
    "native_batch_norm": (
        {"input": Operand((3, 2)), "weight": None, "bias": Operand((2,)), "running_mean": None, "running_var": None,
         "training": True, "momentum": 0.1, "eps": 0.125},
    ),
    "native_group_norm": (
        {"input": Operand((2, 2, 2)), "weight": None, "bias": Operand((2,)), "N": 2, "C": 2, "HxW": 2, "group": 1,
         "eps": 0.125},
    ),
    "gradient.scalarrayint": ({"self": Operand((4, 3)), "spacing": (0.5,), "dim": 0},),
}


def calls(operator: str, dtype: str) -> list[OperatorCall]:
    """The calls of the table with operands of ``dtype``; none for an operator that is not in it."""

    def made(value: Any) -> Any:
        if isinstance(value, Operand):
            return value.case(dtype)
        return [made(v) for v in value] if isinstance(value, list) else value

    arguments = [{name: made(value) for name, value in given.items()} for given in EXAMPLES.get(operator, ())]
    return [OperatorCall(operator, given, dtype) for given in arguments]

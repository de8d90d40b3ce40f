"""Powers in double precision, the multivariate gamma function, and slices scaled down to a largest norm."""

from __future__ import annotations

import math
from functools import partial

from ...core.device import cpu
from ...core.dtype import DEFAULTS, DType, bool_, complex128, float32, float64
from ...core.errors import wrap_dim
from ...core.promotion import UPSTREAM_NAMES, promote_types
from ...iteration.tensor_iterator import Number
from ...kernels.bound_call import Fresh, nothing
from ...kernels.conversion import Immediate, is_half
from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import TensorMeta, contiguous_meta
from ..composition import Part, composite
from ..conversion import converted
from ..invoke import apply
from ..loop_plan import LoopPlan, planned_loops
from ..norms import vector_norm
from ..plan import Planned, plannable
from ..pointwise import formula_kernel


def _double(*operands: Tensor | Number) -> DType:
    """complex128 when an operand is complex, else float64."""
    kinds = [one.meta.dtype.is_complex if isinstance(one, Tensor) else isinstance(one, complex) for one in operands]
    return complex128 if any(kinds) else float64


def _wide(operand: Tensor | Number, dtype: DType) -> Tensor | Number:
    if isinstance(operand, Tensor):
        return converted(operand, dtype)
    return operand if dtype is complex128 or isinstance(operand, complex) else float(operand)


FORMS = {(True, True): "pow.Tensor_Tensor", (True, False): "pow.Tensor_Scalar", (False, True): "pow.Scalar"}
"""(base is a tensor, exponent is a tensor) -> operator."""


@composite
def float_power(part: Part, self: Tensor | Number, exponent: Tensor | Number) -> Tensor:
    """``self ** exponent`` in float64, or complex128 for complex operands."""
    dtype = _double(self, exponent)
    form = FORMS[isinstance(self, Tensor), isinstance(exponent, Tensor)]
    given = (self, exponent)
    wide = [part("to.dtype", one, dtype) if isinstance(one, Tensor) else _wide(one, dtype) for one in given]
    return part(form, *wide)


def float_power_(self: Tensor, exponent: Tensor | Number) -> Tensor:
    """float_power written into `self`. Raises RuntimeError unless it has the dtype of the result."""
    dtype, own = _double(self, exponent), self.meta.dtype
    if own is not dtype:
        raise RuntimeError(
            f"float_power_(): the base given has dtype {UPSTREAM_NAMES[own.name]} but the operation's result requires "
            f"dtype {UPSTREAM_NAMES[dtype.name]}"
        )
    return apply("pow_.Tensor" if isinstance(exponent, Tensor) else "pow_.Scalar", self, _wide(exponent, dtype))


MOST = 1 << 16
"""Dimensions for which the terms are added up one by one."""


@composite
def mvlgamma(part: Part, self: Tensor, p: int) -> Tensor:
    """log of the gamma function of p dimensions: ``p (p - 1) / 4 log(pi)`` plus lgamma at self, self - 1/2, ... Raises
    RuntimeError for bool and for p below 1."""
    if self.meta.dtype is bool_:
        raise RuntimeError("mvlgamma: The input tensor may not be a boolean tensor.")
    if p < 1:
        raise RuntimeError(f"mvlgamma: p has to be greater than or equal to 1, got {p}")
    if p > MOST:
        raise RuntimeError(f"mvlgamma: argument 'p' must be at most {MOST}, got {p}")
    source = part("to.dtype", self, DEFAULTS.dtype) if self.meta.dtype.kind < 2 else self
    total = part("lgamma", source)
    for k in range(1, p):
        total = part("add.Tensor", total, part("lgamma", part("sub.Scalar", source, k * 0.5)))
    return part("add.Scalar", total, p * (p - 1) / 4 * math.log(math.pi))


@plannable
def renorm(self: Tensor, p: Number, dim: int, maxnorm: Number) -> Tensor | Planned[Tensor]:
    """Every slice along `dim` whose p-norm exceeds `maxnorm` is scaled down to it. Raises RuntimeError for p that is
    not positive, a negative maxnorm, complex numbers, and below two dims."""
    for number, name in ((p, "p"), (maxnorm, "maxnorm")):
        if isinstance(number, complex):
            raise RuntimeError(f"renorm: {name} must be real-valued, got {number}")
    order, largest = float(p.real), float(maxnorm.real)
    if order <= 0:
        raise RuntimeError(f"renorm: non-positive-norm not supported, got {p}")
    if largest < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if self.meta.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {self.meta.ndim} dimensions")
    place = wrap_dim("renorm", dim, self.meta.ndim)
    rest = tuple([d for d in range(self.meta.ndim) if d != place])
    wide = float32 if is_half(self.meta.dtype) else None
    norm = vector_norm.planned("renorm", self, order, rest, True, wide).computation
    assert isinstance(norm, Fresh)
    return planned_loops(self, ("renorm", norm, largest), partial(_renorm_plan, self.meta, norm, largest))


def _renorm_plan(meta: TensorMeta, norm: Fresh, largest: float) -> LoopPlan:
    """Return the plan of slices whose norms are found by a call scaled down."""
    made = contiguous_meta(meta.sizes, meta.dtype, meta.device)
    plan = LoopPlan([meta], [made])
    if made.device is cpu and made.numel:
        (source,), (result,), norms = plan.inputs, plan.results, plan.temporary(norm.metas[0])
        plan.kernel(norm.kernel or nothing, [norms, source], norm.tail)
        compute = promote_types(meta.dtype, norms.dtype)
        kernel = formula_kernel("shortened", [meta.dtype, norms.dtype, Immediate(compute)], compute, made.dtype)
        plan.loop(kernel, [result], [source, norms.expanded(made.sizes)], [largest])
    return plan

"""Single operators with right results whose derivative is wrong for one element, or has no derivative itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import DType
from .autograd_gradients import hooked, needs_grad
from .mutant import Intercepted, Row, rows

_FIRST = """where.self atan2 addcdiv batch_norm group_norm conv2d conv_transpose2d max_pool2d avg_pool2d
    adaptive_avg_pool2d cross_entropy_loss smooth_l1_loss binary_cross_entropy_with_logits kl_div scatter_add index_add
    index_copy masked_scatter std.correction linalg_cholesky linalg_qr linalg_svd linalg_eigh baddbmm addmm einsum
    fft_rfft view_as_complex polar prelu logit glu upsample_bilinear2d grid_sampler_2d reflection_pad1d pixel_shuffle
    nansum trace tensordot kron clamp.Tensor fmod.Tensor remainder.Tensor copysign.Tensor xlogy.Tensor
    scatter_reduce.two""".split()
_SECOND = """sin sqrt log sigmoid softmax.int mm logsumexp linalg_inv layer_norm conv2d conv_transpose2d bmm batch_norm
    group_norm linalg_solve cumsum gather cross_entropy_loss gelu fft_rfft index_select unfold""".split()


def _off_once(c: Intercepted, gradient: Any) -> Any:
    """The gradient of the first element is half as large again."""
    factors = np.ones(tuple(c.backend.shape(gradient)))
    if factors.size:
        factors[(0,) * factors.ndim] = 1.5
    return c.do("mul.Tensor", gradient, c.do("to.dtype", c.tensor(factors), DType(c.backend.dtype(gradient))))


def _constant(c: Intercepted, gradient: Any) -> Any:
    return c.do("detach", gradient)


def _on_the_way(change: Any) -> Any:
    def patch(c: Intercepted) -> Any:
        result = c.right()
        first = result[0] if isinstance(result, tuple | list) and result else result
        if c.is_tensor(first) and not c.inplace and needs_grad(c, first):
            hooked(c, first, change)
        return result

    return patch


def _row(operator: str, change: Any, words: str, breaks: str) -> Row:
    name = f"{words}-{operator.replace('_', '-').replace('.', '-').lower()}"
    return name, breaks, (operator,), _on_the_way(change)


_TWICE = "autograd/declared-derivatives-have-derivatives[] autograd/second-gradients-agree-with-finite-differences"

MUTANTS = rows(
    "autograd",
    *(
        _row(operator, _off_once, "gradient-is-off-once-for", "autograd/declared-derivatives-are-there[]")
        for operator in _FIRST
    ),
    *(
        _row(operator, _constant, "gradient-is-constant-for", _TWICE) for operator in _SECOND
    ),
)

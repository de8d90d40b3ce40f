"""Operators that read one of their tensors from its first element on as though it were contiguous, each a mutant."""

from __future__ import annotations

from typing import Any

from ..case import default_strides, is_contiguous
from .mutant import Intercepted, Patch, rows
from .patches import asked, with_data
from .target import ROW

# Which argument, and of which operators.
_READ: dict[int, str] = {
    0: """softmax log_softmax layer_norm conv1d conv2d avg_pool2d max_pool2d bmm mv dot linalg_inv linalg_svd linalg_qr
        linalg_eigh linalg_cholesky linalg_det linalg_solve fft_fft cumsum cumprod cummax logcumsumexp sort argsort
        median kthvalue topk mode unique_consecutive bincount histc gather scatter index_select index_add index_copy
        masked_select masked_scatter nonzero take diag trace tril cdist cov one_hot pixel_shuffle prelu gelu erfinv
        cross_entropy_loss nll_loss mse_loss upsample_bilinear2d grid_sampler_2d logsumexp norm std var_mean aminmax
        cross baddbmm batch_norm repeat_interleave roll flip rot90 unfold im2col col2im constant_pad_nd count_nonzero
        nansum quantile renorm searchsorted bucketize isin tensordot complex polar nextafter bitwise_not frexp signbit
        view_as_real""",
    1: """conv2d linalg_solve mv bmm dot searchsorted bucketize cdist grid_sampler_2d take_along_dim
        matmul kl_div masked_select masked_fill take batch_norm embedding nll_loss isin cross bincount prelu
        mse_loss linalg_solve_triangular copy_""",
    2: "index_select gather baddbmm layer_norm scatter_add masked_scatter cross_entropy_loss",
    3: "index_add index_copy scatter",
}  # fmt: skip
# Judged by a test of its own, beside those that go over operators.
_ALONE = {"tensordot": ROW.removesuffix("[]")}
_NTH = ("", "-second", "-third", "-fourth")


def _as_it_lies(place: int) -> Patch:
    def patch(c: Intercepted) -> Any:
        x = c.args[place] if len(c.args) > place else None
        if not c.is_tensor(x) or (c.inplace and not place):
            return c.right()
        sizes, strides, offset = c.geometry(x)
        if is_contiguous(sizes, strides) or 0 in strides:
            return c.right()
        packed = c.restride(x, sizes, default_strides(sizes), offset)
        # An index from between the elements is refused, which is an answer too.
        return c.by(lambda: c.do(c.operator, *c.args[:place], packed, *c.args[place + 1 :], **c.kwargs))

    return with_data(patch)


def _name(operator: str, place: int) -> str:
    return f"{operator.strip('_').replace('_', '-')}-reads-its{_NTH[place]}-tensor-as-it-lies"


MUTANTS = rows(
    "strides and layout",
    *(
        (_name(operator, place), _ALONE.get(operator) or asked(operator), (operator,), _as_it_lies(place))
        for place, words in _READ.items()
        for operator in words.split()
    ),
)

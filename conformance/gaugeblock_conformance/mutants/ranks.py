"""Operators that answer wrongly where one of their tensors has a certain number of dims, each a mutant."""

from __future__ import annotations

from typing import Any

import numpy as np
from gaugeblock_spec import operators
from gaugeblock_spec.schema import parse

from ..backend import Array
from .mutant import Intercepted, Patch, Row, rows
from .patches import asked, fresh, values, with_data

# Row, argument and number of dims, a file of samples each.
_RANKS = {
    "linalg": """matmul:other:1 matmul:self:1 matmul:other:3 linalg_matmul:other:1 linalg_matmul:other:3 inner:self:1
        inner:other:0 inner:self:3 addmm:self:0 addmm:self:1 addmv:self:0 addr:self:1 baddbmm:self:0 baddbmm:self:2
        addbmm:self:1 linalg_cross:self:1 linalg_cross:self:3 cross:self:3 linalg_multi_dot:tensors:1 linalg_vecdot:x:1
        linalg_vecdot:y:3 block_diag:tensors:1 kron:self:0 kron:self:2 kron:other:3 einsum:tensors:1
        einsum:tensors:3""",
    "equations": """linalg_solve:B:1 linalg_solve:B:3 linalg_solve_ex:B:1 linalg_solve_triangular:B:3
        triangular_solve:A:4 cholesky_solve:input2:4 linalg_lu_solve:LU:2 linalg_lu_solve:LU:4 lu_solve:LU_data:2
        lu_solve:self:4 linalg_lstsq:b:1 linalg_lstsq:self:2 linalg_pinv.rcond_tensor:rcond:2
        linalg_pinv.atol_rtol_tensor:rtol:2 linalg_matrix_rank.tol_tensor:tol:1
        linalg_matrix_rank.atol_rtol_tensor:rtol:1 linalg_norm:self:1 linalg_norm:self:3
        linalg_norm.ord_str:self:3 linalg_matrix_norm:self:3 linalg_matrix_norm.str_ord:self:4 linalg_cond:self:3
        nuclear_norm:self:3 nuclear_norm.dim:self:3 frobenius_norm.dim:self:1 matrix_exp:self:2 linalg_matrix_exp:self:4
        matrix_power:self:2 linalg_tensorinv:self:4 linalg_tensorsolve:self:3""",
    "decompositions": """linalg_householder_product:tau:2 ormqr:input3:2 ormqr:input3:4 lu_unpack:LU_data:3""",
    "statistics": """quantile:q:0 quantile:self:0 quantile.scalar:self:0 nanquantile:q:0 mode:self:0
        unique_consecutive:self:0 cov:self:0 cov:self:1 corrcoef:self:1 dist:other:0 dist:self:1
        gradient.scalarint:self:1 gradient.scalarint:self:3 gradient.scalararray:self:3 gradient.array:self:1
        gradient.array:self:3 gradient.scalarrayint:self:3 gradient.scalarrayarray:self:3 gradient.tensorarrayint:self:3
        gradient.tensorarray:self:3 trapezoid.x:y:1 trapezoid.x:x:2 trapz.x:x:3 cumulative_trapezoid.x:x:2
        sum_to_size:self:1 sum_to_size:self:2""",
    "spectral": """fft_fft2:self:2 fft_ifft2:self:4 fft_fftn:self:1 fft_fftn:self:2 fft_irfftn:self:1
        fft_hfftn:self:2 stft.center:self:1 istft:self:2""",
    "views": """expand:self:0 expand:self:1 expand:self:2 expand_as:self:0 expand_as:self:1 permute:self:0
        permute:self:2 permute:self:4 transpose.int:self:0 transpose.int:self:1 t:self:0 t:self:1 squeeze:self:0
        squeeze:self:1 squeeze.dim:self:0 squeeze.dim:self:1 squeeze.dims:self:0 squeeze.dims:self:2 unsqueeze:self:4
        movedim.int:self:0 movedim.int:self:1 movedim.intlist:self:2 movedim.intlist:self:4 swapaxes:self:0
        swapaxes:self:1 broadcast_to:self:0 broadcast_to:self:3 select.int:self:1 unfold:self:0 diagonal:self:2
        diagonal:self:4 linalg_diagonal:A:2 linalg_diagonal:A:4 view:self:0 view:self:2 reshape:self:0 reshape:self:1
        view_as:self:0 view_as:self:2 reshape_as:self:3 flatten.using_ints:self:4 view_copy:self:2 squeeze_copy:self:1
        t_copy:self:1 permute_copy:self:4 diagonal_copy:self:2 unfold_copy:self:0 expand_copy:self:0
        transpose_copy.int:self:1""",
    "shape": """stack:tensors:4 hstack:tensors:0 vstack:tensors:0 dstack:tensors:0 column_stack:tensors:0 roll:self:0
        flip:self:4 repeat:self:0 repeat:self:1 repeat:self:3 repeat_interleave.self_int:self:0
        repeat_interleave.self_Tensor:self:2 repeat_interleave.self_Tensor:repeats:0 diag:self:1 diff:self:1
        diff:self:3 diag_embed:self:1 diag_embed:self:3 diagflat:self:0 diagflat:self:1 diagflat:self:3""",
    "pointwise": """add.Tensor:self:5 mul.Tensor:other:5 neg:self:5 max.other:other:0""",
    "sort": """topk:self:0 kthvalue:self:0 msort:self:0 unique_dim:self:1 unique_dim:self:3
        searchsorted.Tensor:sorted_sequence:2 searchsorted.Tensor:self:0 searchsorted.Tensor:self:3""",
    "networks": """prelu:self:0 prelu:self:1 prelu:self:5 prelu:weight:0 conv1d.padding:input:2 conv2d.padding:input:3
        conv3d.padding:input:4 conv1d:input:2 conv2d:input:3 conv3d:input:4 conv_transpose1d:input:2
        conv_transpose2d.input:input:3 conv_transpose3d.input:input:4 convolution:input:3 convolution:input:5
        linear:weight:1 linear:bias:0 bilinear:input1:1 bilinear:input1:3 im2col:self:3 col2im:self:2
        pixel_shuffle:self:3 pixel_unshuffle:self:3 channel_shuffle:self:3 channel_shuffle:self:5
        native_channel_shuffle:self:3 native_channel_shuffle:self:5 constant_pad_nd:self:0 constant_pad_nd:self:1
        pad:self:1 pad:self:2 pad:self:4 pad:self:5 reflection_pad1d:self:2 reflection_pad2d:self:3
        reflection_pad3d:self:4 replication_pad1d:self:2 replication_pad2d:self:3 replication_pad3d:self:4
        _pad_circular:self:2 _pad_circular:self:4 _pad_circular:self:5""",
    "pooling": """max_pool1d:self:3 max_pool1d_with_indices:self:3 max_pool2d:self:3 max_pool2d_with_indices:self:3
        max_pool3d:self:4 max_pool3d_with_indices:self:4 avg_pool1d:self:3 avg_pool2d:self:3 avg_pool3d:self:4
        adaptive_avg_pool1d:self:3 adaptive_max_pool1d:self:3 adaptive_avg_pool2d:self:4 adaptive_max_pool2d:self:4
        adaptive_avg_pool3d:self:5 adaptive_max_pool3d:self:5 max_unpool2d:self:4 max_unpool3d:self:5
        fractional_max_pool2d:self:3 fractional_max_pool2d:self:4 fractional_max_pool3d:self:4
        fractional_max_pool3d:self:5""",
    "normalizations": """layer_norm:input:1 layer_norm:weight:1 layer_norm:weight:3 native_layer_norm:input:1
        native_layer_norm:weight:3 group_norm:input:2 group_norm:input:4 group_norm:input:5
        native_group_norm:input:2 native_group_norm:input:4 batch_norm:input:2 batch_norm:input:4 batch_norm:input:5
        native_batch_norm:input:2 native_batch_norm:input:4 native_batch_norm:input:5 instance_norm:input:4
        instance_norm:input:5 rms_norm:weight:2 rms_norm:weight:3 _fused_rms_norm:weight:2 _fused_rms_norm:weight:3""",
    "resampling": """grid_sampler:input:5""",
    "losses": """l1_loss:self:0 l1_loss:self:4 mse_loss:self:0 smooth_l1_loss:self:0 smooth_l1_loss:target:4
        huber_loss:self:0 huber_loss:self:4 binary_cross_entropy:self:0 binary_cross_entropy:self:4
        binary_cross_entropy:weight:2 binary_cross_entropy_with_logits:self:0
        binary_cross_entropy_with_logits:weight:3 soft_margin_loss:self:0 soft_margin_loss:self:4 kl_div:self:0
        kl_div:self:4 poisson_nll_loss:input:0 poisson_nll_loss:input:4 nll_loss:self:1 nll_loss_forward:self:1
        nll_loss_nd:self:2 nll_loss_nd:self:4 nll_loss_nd:self:5 cross_entropy_loss:self:1 cross_entropy_loss:self:3
        cross_entropy_loss:self:4 cross_entropy_loss:target:0 hinge_embedding_loss:self:0
        margin_ranking_loss:input1:0 margin_ranking_loss:input1:4 cosine_embedding_loss:input1:1
        triplet_margin_loss:anchor:1 triplet_margin_loss:anchor:3 multi_margin_loss:self:1
        multilabel_margin_loss:self:1 multilabel_margin_loss_forward:self:1 _ctc_loss:targets:1
        ctc_loss.IntList:targets:1 ctc_loss.IntList:log_probs:2 ctc_loss.Tensor:targets:1
        ctc_loss.Tensor:input_lengths:0""",
    "lookups": """embedding:indices:0 embedding:indices:2 embedding_renorm_:indices:0 embedding_renorm_:indices:2
        cosine_similarity:x1:1 cosine_similarity:x1:4 pairwise_distance:x1:1 pairwise_distance:x2:4 cdist:x1:3
        scaled_dot_product_attention:query:2 scaled_dot_product_attention:query:3
        scaled_dot_product_attention:query:4 scaled_dot_product_attention:attn_mask:3
        scaled_dot_product_attention:attn_mask:4 dropout:input:4 alpha_dropout:input:5 feature_dropout:input:2
        feature_dropout:input:5 feature_alpha_dropout:input:2 feature_alpha_dropout:input:4 native_dropout:input:4
        rrelu:self:4""",
    "reductions": """sum:self:4 sum:self:5 mean:self:4 max:self:4 min:self:5 aminmax:self:5 argmax:self:5 argmax:self:0
        argmin:self:5 any:self:4 all:self:5 any.dim:self:5 all.dim:self:4 any.dims:self:5 all.dims:self:5
        max.dim:self:4 max.dim:self:0 min.dim:self:4 median:self:4 nanmedian:self:5 count_nonzero:self:4
        cumsum:self:5 cumsum:self:0 cummax:self:4 cummax:self:0 cummin:self:4 sum.dim_IntList:self:5 nansum:self:4
        nansum:self:0 mean.dim:self:4 mean.dim:self:0 nanmean:self:4 prod:self:0 prod:self:2 prod:self:3 prod:self:4
        prod.dim_int:self:0 prod.dim_int:self:4 logcumsumexp:self:0 logcumsumexp:self:5 cumprod:self:0
        cumprod:self:3 cumprod:self:4 softmax.int:self:0 softmax.int:self:4 log_softmax.int:self:0
        log_softmax.int:self:5 median.dim:self:4 nanmedian.dim:self:5 amax:self:0 amax:self:4 amin:self:0
        amin:self:4 norm.Scalar:self:4 norm.ScalarOpt_dim:self:4 norm.ScalarOpt_dim_dtype:self:5
        linalg_vector_norm:self:5 logsumexp:self:0 logsumexp:self:5 count_nonzero.dim_IntList:self:4 var:self:0
        var:self:5 var.dim:self:5 var.correction:self:0 var.correction:self:5 std:self:4 std.dim:self:0
        std.correction:self:5 var_mean:self:5 var_mean.dim:self:5 var_mean.correction:self:0 std_mean:self:5
        std_mean.dim:self:5 std_mean.correction:self:4""",
    "index": """gather:self:0 gather:self:5 index_select:self:4 index_select:index:0 take:self:4 take:index:0
        take:index:2 take_along_dim:self:4 take_along_dim:indices:4 masked_scatter:self:0 masked_fill.Scalar:mask:4
        masked_fill.Tensor:mask:4 nonzero:self:5 argwhere:self:4 scatter.src:self:0 scatter.src:self:4
        scatter.src:index:0 scatter.value:self:0 scatter.value:self:4 scatter.reduce:self:5 scatter.reduce:index:0
        scatter.value_reduce:self:5 scatter.value_reduce:index:0 scatter_add:self:0 scatter_add:self:5
        scatter_reduce.two:self:0 scatter_reduce.two:self:5 index_add:self:5 index_add:index:0 index_reduce:self:4
        index_reduce:index:0 index_fill.int_Scalar:self:5 index_fill.int_Scalar:index:0 index_fill.int_Tensor:self:4
        index_fill.int_Tensor:index:0 index_copy:self:4 index_copy:index:0 put:self:5 put:index:0 put:index:2
        select_scatter:self:1 select_scatter:self:4 slice_scatter:self:1 slice_scatter:self:4
        diagonal_scatter:self:2 diagonal_scatter:self:4 nonzero_static:self:4""",
    "copies": """copy_:self:0 copy_:self:3 copy_:self:5 isin.Tensor_Tensor:test_elements:2 isin.Tensor_Tensor:elements:4
        fill_diagonal_:self:3""",
}


def _wrong(array: Array, c: Intercepted) -> Array:
    if array.dtype == bool:
        return ~array
    return np.asarray(array.reshape(-1)[::-1].reshape(array.shape) + array.dtype.type(1), array.dtype)


def _of_rank(row: str, argument: str, rank: int) -> Patch:
    names = [a.name for a in parse(operators.load()[row].schema).arguments]
    place, spoil = names.index(argument), values(_wrong)

    def patch(c: Intercepted) -> Any:
        given = c.args[place] if place < len(c.args) else c.kwargs.get(argument)
        first = given[0] if isinstance(given, list | tuple) and given else given
        if not c.is_tensor(first) or len(c.backend.shape(first)) != rank:
            return c.right()
        result = spoil(c)
        single = c.is_tensor(result) and c.array(result).size > 0
        shared = single and c.backend.storage_id(result) == c.backend.storage_id(first) and not c.inplace
        return fresh(c, _wrong(c.array(result), c)) if shared else result

    return with_data(patch)


def _row(text: str) -> Row:
    row, argument, rank = text.split(":")
    words = f"{row.strip('_').replace('.', '-').replace('_', '-').lower()}-is-wrong-for-{argument.lower()}"
    name = f"{words.replace('_', '-')}-of-{rank}-dims"
    return name, asked(row), (row,), _of_rank(row, argument, int(rank))


MUTANTS = rows("operators", *(_row(text) for texts in _RANKS.values() for text in texts.split()))

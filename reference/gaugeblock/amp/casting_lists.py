"""What autocast does with each operator on each device: the casting lists of PyTorch 2.13.

``lower`` casts to the dtype of the mode, ``float32`` widens to it, ``widest`` joins the operands in float32 if one has
that dtype, ``dtype`` asks for float32 by the operator's own ``dtype``, and ``banned`` raises. Operators that are not
listed compute in the dtypes that they are given.
"""

from __future__ import annotations

CPU: dict[str, str] = {
    "lower": """addbmm addmm baddbmm bmm conv1d conv1d.padding conv2d conv2d.padding conv3d
        conv3d.padding conv_transpose1d conv_transpose2d.input conv_transpose3d.input linalg_vecdot linear
        matmul mm prelu scaled_dot_product_attention""",
    "widest": "cat index_copy stack",
    "float32": """adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy
        binary_cross_entropy_with_logits cdist cholesky cholesky_inverse cholesky_solve cosine_embedding_loss
        cross_entropy_loss ctc_loss.IntList ctc_loss.Tensor fft_fft fft_fft2 fft_fftn
        fft_hfft fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftn
        fractional_max_pool2d fractional_max_pool3d geqrf grid_sampler grid_sampler_2d grid_sampler_3d
        hinge_embedding_loss huber_loss inverse kl_div l1_loss linalg_cholesky linalg_cholesky_ex linalg_cond
        linalg_cond.p_str linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh linalg_householder_product linalg_inv
        linalg_inv_ex linalg_lstsq linalg_matrix_rank linalg_matrix_rank.atol_rtol_float
        linalg_matrix_rank.atol_rtol_tensor linalg_matrix_rank.tol_tensor linalg_qr linalg_solve linalg_svd
        linalg_svdvals linalg_tensorinv linalg_tensorsolve lu_solve margin_ranking_loss max_pool3d max_unpool2d
        max_unpool3d mse_loss multi_margin_loss multilabel_margin_loss multilabel_margin_loss_forward nanquantile
        nanquantile.scalar nll_loss nll_loss2d orgqr ormqr pinverse poisson_nll_loss polar prod prod.dim_int qr quantile
        quantile.scalar reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d replication_pad3d
        smooth_l1_loss soft_margin_loss stft stft.center svd trace triangular_solve triplet_margin_loss
        view_as_complex""",
}
CUDA: dict[str, str] = {
    "lower": """addbmm addmm addmv addr baddbmm bmm chain_matmul conv1d conv2d conv3d conv_transpose1d
        conv_transpose2d.input conv_transpose3d.input convolution einsum linalg_multi_dot linalg_vecdot linear
        matmul mm mv prelu scaled_dot_product_attention""",
    "widest": """addcdiv addcmul atan2 bilinear cross dot grid_sampler index_put scatter_add tensordot vdot""",
    "float32": """acos asin binary_cross_entropy_with_logits cdist cosh cosine_embedding_loss cosine_similarity dist
        erfinv exp expm1 frobenius_norm.dim group_norm hinge_embedding_loss huber_loss kl_div l1_loss layer_norm log
        log10 log1p log2 logsumexp margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss
        native_layer_norm nll_loss nll_loss2d norm.Scalar norm.ScalarOpt_dim nuclear_norm nuclear_norm.dim pdist
        poisson_nll_loss pow.Scalar pow.Tensor_Scalar pow.Tensor_Tensor reciprocal renorm rms_norm rsqrt sinh
        smooth_l1_loss soft_margin_loss softplus tan triplet_margin_loss upsample_bicubic2d upsample_bilinear2d
        upsample_linear1d upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_trilinear3d
        _upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_nearest_exact1d _upsample_nearest_exact2d
        _upsample_nearest_exact3d""",
    "dtype": """cumprod cumsum linalg_matrix_norm linalg_matrix_norm.str_ord linalg_vector_norm log_softmax.int prod
        prod.dim_int softmax.int sum sum.dim_IntList""",
    "banned": "binary_cross_entropy",
}
POLICIES: dict[str, dict[str, str]] = {
    device: {name: policy for policy, names in lists.items() for name in names.split()}
    for device, lists in (("cpu", CPU), ("cuda", CUDA))
}
"""Device type -> operator -> what autocast does with it there."""

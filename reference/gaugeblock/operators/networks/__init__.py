"""Operators of neural networks, by family: which module has which. Each is loaded when one of them is first called."""

from __future__ import annotations

from ..deferred import register_deferred

KERNELS = {
    "alignment_loss": "_ctc_loss _ctc_loss.Tensor",
    "antialiasing": "_upsample_bilinear2d_aa _upsample_bicubic2d_aa",
    "class_losses": "nll_loss_forward nll_loss2d_forward",
    "class_margin_losses": "multi_margin_loss multilabel_margin_loss_forward",
    "distances": "cdist pdist",
    "dropout": "native_dropout",
    "fractional_pooling": "fractional_max_pool2d fractional_max_pool3d",
    "embedding": "embedding embedding_renorm_ embedding_bag embedding_bag.padding_idx",
    "pointwise_losses": """mse_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits
    soft_margin_loss""",
    "pooling": """max_pool1d max_pool2d max_pool3d max_pool2d_with_indices max_pool3d_with_indices avg_pool1d
    avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d
    adaptive_max_pool3d""",
    "padding": """constant_pad_nd reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d
    replication_pad2d replication_pad3d""",
    "unpooling": "max_unpool2d max_unpool3d",
    "upsampling": """upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d
    _upsample_nearest_exact2d _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d upsample_trilinear3d
    upsample_bicubic2d""",
    "activation": "glu rrelu_with_noise",
    "batch_normalization": "native_batch_norm",
    "grids": "grid_sampler_2d grid_sampler_3d",
    "group_normalization": "native_group_norm",
    "convolution": "convolution",
    "layer_normalization": "native_layer_norm",
    "patches": "im2col col2im",
    "root_mean_square": "_fused_rms_norm",
}
"""Operators with a kernel for CPU and Meta."""
COMPOSITES = {
    "alignment_loss": "ctc_loss.IntList ctc_loss.Tensor",
    "antialiasing": "_upsample_bilinear2d_aa.vec _upsample_bicubic2d_aa.vec",
    "attention": "scaled_dot_product_attention",
    "class_losses": "nll_loss nll_loss2d nll_loss_nd cross_entropy_loss",
    "class_margin_losses": "multilabel_margin_loss",
    "distances": "cosine_similarity pairwise_distance",
    "dropout": "dropout alpha_dropout feature_dropout feature_alpha_dropout",
    "embedding": "one_hot",
    "margin_losses": "hinge_embedding_loss margin_ranking_loss cosine_embedding_loss triplet_margin_loss",
    "pointwise_losses": "l1_loss kl_div poisson_nll_loss",
    "pooling": "max_pool1d_with_indices adaptive_max_pool1d",
    "padding": "pad _pad_circular",
    "shuffling": "pixel_shuffle pixel_unshuffle channel_shuffle native_channel_shuffle",
    "upsampling": """upsample_nearest1d.vec upsample_nearest2d.vec upsample_nearest3d.vec
    _upsample_nearest_exact1d.vec _upsample_nearest_exact2d.vec _upsample_nearest_exact3d.vec upsample_linear1d.vec
    upsample_bilinear2d.vec upsample_trilinear3d.vec upsample_bicubic2d.vec""",
    "activation": "prelu rrelu",
    "batch_normalization": "batch_norm instance_norm",
    "grids": "grid_sampler affine_grid_generator",
    "group_normalization": "group_norm",
    "convolution_forms": """conv1d conv1d.padding conv2d conv2d.padding conv3d conv3d.padding conv_transpose1d
    conv_transpose2d.input conv_transpose3d.input""",
    "layer_normalization": "layer_norm",
    "linear": "linear bilinear",
    "root_mean_square": "rms_norm",
}
"""Operators made of others."""


register_deferred(__name__, KERNELS)
register_deferred(__name__, COMPOSITES, "CompositeImplicitAutograd")

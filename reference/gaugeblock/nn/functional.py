"""The functions of torch.nn.functional, with its signatures and its checks of arguments.

Those that are an operator as it stands are made when they are first asked for.
"""

from __future__ import annotations

from typing import Any

from ..calls.functions import ops
from . import activations, dropout, embedding, losses, normalizations, pooling, vision
from .checked import checked

OPERATORS = {
    **{
        name: name
        for name in """adaptive_avg_pool1d avg_pool1d avg_pool2d avg_pool3d bilinear celu_ channel_shuffle conv1d
        conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity elu_ gelu hardshrink
        hardtanh_ leaky_relu_ linear native_channel_shuffle one_hot pairwise_distance pdist pixel_shuffle
        pixel_unshuffle prelu relu_ rrelu_ scaled_dot_product_attention selu_ sigmoid softplus softshrink tanh
        threshold_""".split()
    },
    "logsigmoid": "log_sigmoid",
}
"""Name here -> operator of the same signature."""

FUNCTIONS = (
    "adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool1d_with_indices adaptive_max_pool2d "
    "adaptive_max_pool2d_with_indices adaptive_max_pool3d adaptive_max_pool3d_with_indices affine_grid alpha_dropout "
    "batch_norm binary_cross_entropy binary_cross_entropy_with_logits celu cosine_embedding_loss cross_entropy "
    "ctc_loss dropout dropout1d dropout2d dropout3d elu embedding embedding_bag feature_alpha_dropout fold "
    "fractional_max_pool2d fractional_max_pool2d_with_indices fractional_max_pool3d "
    "fractional_max_pool3d_with_indices gaussian_nll_loss glu grid_sample group_norm gumbel_softmax hardsigmoid "
    "hardswish hardtanh hinge_embedding_loss huber_loss instance_norm interpolate kl_div l1_loss layer_norm "
    "leaky_relu local_response_norm log_softmax lp_pool1d lp_pool2d lp_pool3d margin_ranking_loss max_pool1d "
    "max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d max_pool3d_with_indices max_unpool1d "
    "max_unpool2d max_unpool3d mish mse_loss multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss "
    "nll_loss normalize pad poisson_nll_loss relu relu6 rms_norm rrelu selu silu smooth_l1_loss soft_margin_loss "
    "softmax softmin softsign tanhshrink threshold triplet_margin_loss triplet_margin_with_distance_loss unfold "
    "upsample upsample_bilinear upsample_nearest"
).split()
"""Names of the functions of this package's modules."""
__all__ = [*FUNCTIONS]

DIRECT = frozenset(
    "celu elu gumbel_softmax hardsigmoid hardswish hardtanh leaky_relu mish relu relu6 rrelu selu silu softsign "
    "softmax log_softmax softmin tanhshrink threshold dropout alpha_dropout feature_alpha_dropout layer_norm".split()
)
"""Functions whose arguments go straight to operators, which check them."""
for _module in (activations, dropout, embedding, losses, normalizations, pooling, vision):
    for _name in set(FUNCTIONS) & vars(_module).keys():
        _function = getattr(_module, _name)
        globals()[_name] = _function if _name in DIRECT else checked(_function)
        globals()[_name].__module__ = __name__


def __getattr__(name: str) -> Any:
    known = OPERATORS.get(name)
    if known is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(ops, known)
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *OPERATORS})

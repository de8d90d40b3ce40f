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

__all__: list[str] = []
"""Names of the functions of this package's modules."""
DIRECT = frozenset(
    "celu elu gumbel_softmax hardsigmoid hardswish hardtanh leaky_relu mish relu relu6 rrelu selu silu softsign "
    "softmax log_softmax softmin tanhshrink threshold dropout alpha_dropout feature_alpha_dropout layer_norm".split()
)
"""Functions whose arguments go straight to operators, which check them."""
for _module in (activations, dropout, embedding, losses, normalizations, pooling, vision):
    for _name, _function in [*vars(_module).items()]:
        if _name[0] != "_" and getattr(_function, "__module__", None) in (_module.__name__, "gaugeblock"):
            globals()[_name] = _function if _name in DIRECT else checked(_function)
            globals()[_name].__module__ = __name__
            __all__.append(_name)


def __getattr__(name: str) -> Any:
    known = OPERATORS.get(name)
    if known is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(ops, known)
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *OPERATORS})

"""Modules that hold the options of one function of nn.functional and call it with them, a row of a table for each."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, NamedTuple

from ..tensor.tensor import Tensor
from . import functional
from .module import Module

POOL = "kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False"
MEAN_POOL = "kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True"
LOSS = "size_average=None, reduce=None, reduction='mean'"
POOL_SHOWN = "kernel_size stride padding dilation ceil_mode"


class Row(NamedTuple):
    """The function that a module calls, the parameters of its constructor, and the options that its repr shows: of one
    behind a sign of equality the value alone."""

    function: str
    parameters: str = ""
    shown: str = ""


LAYERS: dict[str, Row] = {
    "ReLU": Row("relu", "inplace=False"),
    "ReLU6": Row("relu6", "inplace=False"),
    "GELU": Row("gelu", "approximate='none'", "approximate"),
    "Tanh": Row("tanh"),
    "Sigmoid": Row("sigmoid"),
    "SiLU": Row("silu", "inplace=False"),
    "Mish": Row("mish", "inplace=False"),
    "ELU": Row("elu", "alpha=1.0, inplace=False", "alpha"),
    "CELU": Row("celu", "alpha=1.0, inplace=False", "alpha"),
    "SELU": Row("selu", "inplace=False"),
    "LeakyReLU": Row("leaky_relu", "negative_slope=0.01, inplace=False", "negative_slope"),
    "Softplus": Row("softplus", "beta=1.0, threshold=20.0", "beta threshold"),
    "Softsign": Row("softsign"),
    "Softshrink": Row("softshrink", "lambd=0.5", "=lambd"),
    "Hardshrink": Row("hardshrink", "lambd=0.5", "=lambd"),
    "Tanhshrink": Row("tanhshrink"),
    "Hardtanh": Row("hardtanh", "min_val=-1.0, max_val=1.0, inplace=False", "min_val max_val"),
    "Hardswish": Row("hardswish", "inplace=False"),
    "Hardsigmoid": Row("hardsigmoid", "inplace=False"),
    "LogSigmoid": Row("logsigmoid"),
    "Softmax": Row("softmax", "dim=None", "dim"),
    "LogSoftmax": Row("log_softmax", "dim=None", "dim"),
    "Softmin": Row("softmin", "dim=None", "dim"),
    "GLU": Row("glu", "dim=-1", "dim"),
    "Threshold": Row("threshold", "threshold, value, inplace=False", "threshold value"),
    "Dropout": Row("dropout", "p=0.5, inplace=False", "p inplace"),
    "Dropout1d": Row("dropout1d", "p=0.5, inplace=False", "p inplace"),
    "Dropout2d": Row("dropout2d", "p=0.5, inplace=False", "p inplace"),
    "Dropout3d": Row("dropout3d", "p=0.5, inplace=False", "p inplace"),
    "AlphaDropout": Row("alpha_dropout", "p=0.5, inplace=False", "p inplace"),
    "FeatureAlphaDropout": Row("feature_alpha_dropout", "p=0.5, inplace=False", "p inplace"),
    "MaxPool1d": Row("max_pool1d", POOL, POOL_SHOWN),
    "MaxPool2d": Row("max_pool2d", POOL, POOL_SHOWN),
    "MaxPool3d": Row("max_pool3d", POOL, POOL_SHOWN),
    "AvgPool1d": Row("avg_pool1d", MEAN_POOL, "kernel_size stride padding"),
    "AvgPool2d": Row("avg_pool2d", f"{MEAN_POOL}, divisor_override=None", "kernel_size stride padding"),
    "AvgPool3d": Row("avg_pool3d", f"{MEAN_POOL}, divisor_override=None", "kernel_size stride padding"),
    "AdaptiveAvgPool1d": Row("adaptive_avg_pool1d", "output_size", "output_size"),
    "AdaptiveAvgPool2d": Row("adaptive_avg_pool2d", "output_size", "output_size"),
    "AdaptiveAvgPool3d": Row("adaptive_avg_pool3d", "output_size", "output_size"),
    "AdaptiveMaxPool1d": Row("adaptive_max_pool1d", "output_size, return_indices=False", "output_size"),
    "AdaptiveMaxPool2d": Row("adaptive_max_pool2d", "output_size, return_indices=False", "output_size"),
    "PixelShuffle": Row("pixel_shuffle", "upscale_factor", "upscale_factor"),
    "PixelUnshuffle": Row("pixel_unshuffle", "downscale_factor", "downscale_factor"),
    "Fold": Row("fold", "output_size, kernel_size, dilation=1, padding=0, stride=1"),
    "Unfold": Row("unfold", "kernel_size, dilation=1, padding=0, stride=1"),
    "CosineSimilarity": Row("cosine_similarity", "dim=1, eps=1e-8"),
    "PairwiseDistance": Row("pairwise_distance", "p=2.0, eps=1e-6, keepdim=False"),
    "L1Loss": Row("l1_loss", LOSS),
    "MSELoss": Row("mse_loss", LOSS),
    "SmoothL1Loss": Row("smooth_l1_loss", f"{LOSS}, beta=1.0"),
    "HuberLoss": Row("huber_loss", "reduction='mean', delta=1.0"),
    "CrossEntropyLoss": Row(
        "cross_entropy",
        "weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean', label_smoothing=0.0",
    ),
    "NLLLoss": Row("nll_loss", "weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean'"),
    "KLDivLoss": Row("kl_div", f"{LOSS}, log_target=False"),
    "BCELoss": Row("binary_cross_entropy", f"weight=None, {LOSS}"),
    "BCEWithLogitsLoss": Row("binary_cross_entropy_with_logits", f"weight=None, {LOSS}, pos_weight=None"),
    "HingeEmbeddingLoss": Row("hinge_embedding_loss", f"margin=1.0, {LOSS}"),
    "SoftMarginLoss": Row("soft_margin_loss", LOSS),
    "MultiLabelMarginLoss": Row("multilabel_margin_loss", LOSS),
    "MultiLabelSoftMarginLoss": Row("multilabel_soft_margin_loss", f"weight=None, {LOSS}"),
    "MultiMarginLoss": Row("multi_margin_loss", f"p=1, margin=1.0, weight=None, {LOSS}"),
    "CosineEmbeddingLoss": Row("cosine_embedding_loss", f"margin=0.0, {LOSS}"),
    "MarginRankingLoss": Row("margin_ranking_loss", f"margin=0.0, {LOSS}"),
    "TripletMarginLoss": Row("triplet_margin_loss", f"margin=1.0, p=2.0, eps=1e-6, swap=False, {LOSS}"),
    "CTCLoss": Row("ctc_loss", "blank=0, reduction='mean', zero_infinity=False"),
}  # fmt: skip
"""Class -> its row. The parameters are those of torch.nn's class of that name."""


class FunctionLayer(Module):
    """Base class of the modules of the table. Options that are tensors, such as the weights of classes, are buffers.

    Raises TypeError for arguments that its constructor does not have.
    """

    row: ClassVar[Row]
    signature: ClassVar[inspect.Signature]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}(): {error}") from None
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if name == "stride" and value is None:
                value = bound.arguments["kernel_size"]
            if isinstance(value, Tensor):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def forward(self, *inputs: Any) -> Any:
        """Return what the function returns for the inputs and the options."""
        options = {name: getattr(self, name) for name in self.signature.parameters}
        if "ropout" in type(self).row.function:
            options["training"] = self.training
        return getattr(functional, self.row.function)(*inputs, **options)

    def extra_repr(self) -> str:
        """Return the options of the row and `inplace`, if it is set, as text."""
        pairs = [(name, getattr(self, name.removeprefix("="))) for name in self.row.shown.split()]
        shown = [f"{value!r}" if name[0] == "=" else f"{name}={value!r}" for name, value in pairs]
        if "inplace" not in self.row.shown and getattr(self, "inplace", False):
            shown.append("inplace=True")
        return ", ".join(shown)


def _made(name: str, row: Row) -> type[FunctionLayer]:
    space: dict[str, Any] = {}
    exec(f"def init({row.parameters}): pass", space)
    signature = inspect.signature(space["init"])
    document = f"Calls nn.functional.{row.function} with its options. Source: torch.nn.{name}."
    members = {"row": row, "signature": signature, "__signature__": signature, "__doc__": document}
    return type(name, (FunctionLayer,), members | {"__module__": "gaugeblock.nn"})


CLASSES = {name: _made(name, row) for name, row in LAYERS.items()}
"""The modules by name."""

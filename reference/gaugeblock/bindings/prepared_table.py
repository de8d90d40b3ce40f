"""The table of bindings that note runners: how each of their arguments takes part (see prepared_forms)."""

from __future__ import annotations

REDUCTION = "self:T dim:D=None keepdim:b=False"
PARAMETERS: dict[str, str] = {
    "sum": REDUCTION, "prod": REDUCTION, "mean": REDUCTION, "amax": "self:T dim:D=() keepdim:b=False",
    "amin": "self:T dim:D=() keepdim:b=False", "max": REDUCTION, "min": REDUCTION, "any": REDUCTION,
    "all": REDUCTION, "argmax": REDUCTION, "argmin": REDUCTION, "nansum": REDUCTION, "nanmean": REDUCTION,
    "var": "self:T dim:D=None unbiased:b=True keepdim:b=False",
    "std": "self:T dim:D=None unbiased:b=True keepdim:b=False",
    "softmax": "self:T dim:i dtype:-=None", "log_softmax": "self:T dim:i dtype:-=None",
    "cumsum": "self:T dim:i", "cumprod": "self:T dim:i", "logcumsumexp": "self:T dim:i",
    "cat": "tensors:L dim:i=0", "stack": "tensors:L dim:i=0",
    "mm": "self:T mat2:T", "bmm": "self:T mat2:T", "matmul": "self:T other:T", "dot": "self:T tensor:T",
    "mv": "self:T vec:T", "outer": "self:T vec2:T", "addmm": "self:T mat1:T mat2:T",
    "addmv": "self:T mat:T vec:T",
    "gather": "self:T dim:i index:T", "index_select": "self:T dim:i index:T", "take": "self:T index:T",
    "scatter": "self:T dim:i index:T src:M", "scatter_add": "self:T dim:i index:T src:T",
    "index_add": "self:T dim:i index:T source:T", "index_copy": "self:T dim:i index:T source:T",
    "index_fill": "self:T dim:i index:T value:M",
    "equal": "self:T other:T", "masked_select": "self:T mask:T", "masked_fill": "self:T mask:T value:M",
    "masked_fill_": "self:T mask:T value:M", "copy_": "self:T src:T non_blocking:-=False",
    "tril": "self:T diagonal:i=0", "triu": "self:T diagonal:i=0", "diag": "self:T diagonal:i=0",
    "flip": "self:T dims:I", "roll": "self:T shifts:D dims:D=()", "repeat": "self:T repeats:I",
    "repeat_interleave": "self:T repeats:i dim:D=None",
    "sort": "self:T dim:i=-1 descending:b=False", "argsort": "self:T dim:i=-1 descending:b=False",
    "topk": "self:T k:i dim:i=-1 largest:b=True sorted:b=True", "kthvalue": "self:T k:i dim:i=-1 keepdim:b=False",
    "median": REDUCTION, "logsumexp": "self:T dim:D keepdim:b=False", "cummax": "self:T dim:i",
    "cummin": "self:T dim:i",
    "where": "condition:T self:N=None other:N=None", "clamp": "self:T min:N=None max:N=None",
    "clip": "self:T min:N=None max:N=None", "clamp_min": "self:T min:N", "clamp_max": "self:T max:N",
    "layer_norm": "input:T normalized_shape:D weight:N=None bias:N=None eps:N=1e-05 cudnn_enable:b=True",
    "rms_norm": "input:T normalized_shape:D weight:N=None eps:N=None",
    **{f"conv{dims}d": "input:T weight:T bias:N=None stride:D=1 padding:D=0 dilation:D=1 groups:i=1"
       for dims in (1, 2, 3)},
    "gelu": "self:T approximate:s='none'", "elu": "self:T alpha:N=1 scale:N=1 input_scale:N=1",
    "leaky_relu": "self:T negative_slope:N=0.01", "hardtanh": "self:T min_val:N=-1 max_val:N=1",
    "softplus": "self:T beta:N=1 threshold:N=20", "hardshrink": "self:T lambd:N=0.5",
    "threshold": "self:T threshold:N value:N", "linear": "input:T weight:T bias:N=None",
    "embedding": "weight:T indices:T padding_idx:i=-1 scale_grad_by_freq:b=False sparse:b=False",
    "nonzero": "self:T", "trace": "self:T", "kron": "self:T other:T", "det": "self:T", "inverse": "self:T",
    "searchsorted": "sorted_sequence:T self:T", "bincount": "self:T weights:N=None minlength:i=0",
    **dict.fromkeys(("addcmul", "addcdiv", "addcmul_", "addcdiv_"), "self:T tensor1:T tensor2:T value:K=1"),
    "lerp": "self:T end:T weight:N", "lerp_": "self:T end:T weight:N", "clamp_": "self:T min:N=None max:N=None",
    "clamp_min_": "self:T min:N", "clamp_max_": "self:T max:N",
}  # fmt: skip
"""Public name -> its arguments."""
FROM_GEOMETRIES = frozenset(
    """cat stack mm bmm matmul outer linear kron tril triu diag flip roll repeat cumsum cumprod logcumsumexp softmax
    log_softmax amax amin""".split()
)
"""Operators whose checks need only geometries and plain arguments, so that empty results are made directly."""

"""Embeddings with torch.nn.functional's signatures."""

from __future__ import annotations

from typing import Any

from ..calls.functions import ops

MODES = {"sum": 0, "mean": 1, "max": 2}


def embedding(
    input: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Any:  # fmt: skip
    """The rows of weight that input names; with `max_norm` rows that are longer are shortened in place first. Raises
    AssertionError for a padding_idx that is no row."""
    place = -1 if padding_idx is None else padding_idx
    if padding_idx is not None and weight.ndim:
        rows = weight.shape[0]
        if not -rows <= padding_idx < rows:
            raise AssertionError(f"embedding(): Padding_idx must be within num_embeddings ({rows}), got {padding_idx}")
        place = padding_idx % rows
    if max_norm is not None:
        ops.embedding_renorm_(weight, input.contiguous(), max_norm, norm_type)
    return ops.embedding(weight, input, place, scale_grad_by_freq, sparse)


def embedding_bag(
    input: Any, weight: Any, offsets: Any = None, max_norm: float | None = None, norm_type: float = 2,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights: Any = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> Any:  # fmt: skip
    """The sum, mean or maximum of bags of rows: the rows of a 2-D input, or parts of a 1-D input from each offset on.
    Raises ValueError for other inputs and modes, NotImplementedError for weights of samples unless summed."""
    if per_sample_weights is not None and input.shape != per_sample_weights.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the "
            f"same shape as the input ({input.shape})"
        )
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                f"if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        rows, length = input.shape
        bags = ops.arange(rows, dtype=input.dtype, device=input.device)
        offsets, include_last_offset = bags * length, False
        input = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    elif input.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    elif offsets is None or offsets.ndim != 1:
        raise ValueError(f"offsets has to be a 1D Tensor but got {None if offsets is None else offsets.ndim}")
    if mode not in MODES:
        raise ValueError(f"mode has to be one of sum, mean or max, got {mode!r}")
    if mode == "max" and (scale_grad_by_freq or sparse):
        raise ValueError("max mode does not support scaling the gradient by the frequency, nor sparse weights")
    if max_norm is not None:
        ops.embedding_renorm_(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            f"embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}')."
        )
    return ops.embedding_bag(
        weight, input, offsets, scale_grad_by_freq, MODES[mode], sparse, per_sample_weights, include_last_offset,
        padding_idx,
    )[0]  # fmt: skip

"""Functions of neural networks compared with PyTorch: dtypes, layouts, strides, values, error classes."""

from __future__ import annotations

import warnings
from typing import Any

import gaugeblock as gb
import gaugeblock.nn.functional as F
import numpy as np
import pytest

torch = pytest.importorskip("torch")

TOLERANCE = {"float64": 1e-10, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2, "complex64": 2e-5}
# Name, sizes of the tensors that come first (None for a missing one), the arguments after them.
CALLS: list[tuple[str, tuple[tuple[int, ...] | None, ...], tuple[Any, ...], dict[str, Any]]] = [
    ("glu", ((3, 4, 6),), (1,), {}),
    ("prelu", ((3, 4, 5), (4,)), (), {}),
    ("softmin", ((3, 4),), (0,), {}),
    ("layer_norm", ((3, 4, 5),), ((4, 5),), {}),
    ("rms_norm", ((3, 4, 5),), ((5,),), {"eps": 0.25}),
    ("group_norm", ((2, 6, 5),), (3,), {}),
    ("instance_norm", ((2, 3, 4, 5),), (), {}),
    ("local_response_norm", ((2, 6, 5),), (3,), {}),
    ("normalize", ((3, 4, 5),), (3.0, 1), {}),
    ("linear", ((2, 3, 4), (5, 4), (5,)), (), {}),
    ("bilinear", ((2, 3), (2, 4), (5, 3, 4), (5,)), (), {}),
    ("conv1d", ((2, 4, 9), (6, 2, 3), (6,)), (2, 1, 2, 2), {}),
    ("conv1d", ((4, 9), (6, 4, 4), None), (1, "same"), {}),
    ("conv2d", ((2, 4, 7, 6), (4, 1, 3, 2), (4,)), ((2, 1), 1, 1, 4), {}),
    ("conv2d", ((2, 3, 7, 6), (5, 3, 1, 1), None), (), {}),
    ("conv3d", ((1, 2, 4, 5, 3), (3, 2, 2, 3, 2), (3,)), (), {"padding": 1}),
    ("conv_transpose1d", ((2, 4, 5), (4, 3, 3), (6,)), (2, 1, 1, 2), {}),
    ("conv_transpose2d", ((2, 3, 4, 3), (3, 2, 3, 2), None), ((2, 1), 1), {"dilation": 2}),
    ("unfold", ((2, 3, 5, 4), ), ((2, 3),), {"padding": 1, "stride": 2}),
    ("fold", ((2, 12, 9),), ((4, 4), 2), {"stride": 1}),
    ("max_pool1d", ((2, 3, 9),), (3, 2, 1), {}),
    ("max_pool2d", ((2, 3, 7, 6),), ((3, 2),), {"ceil_mode": True, "return_indices": True}),
    ("max_pool3d", ((2, 3, 5, 4, 6),), (2, 1), {"dilation": 2}),
    ("avg_pool1d", ((2, 3, 9),), (3, 2, 1), {"ceil_mode": True}),
    ("avg_pool2d", ((2, 3, 7, 6),), (3, 2, 1), {"count_include_pad": False}),
    ("adaptive_avg_pool2d", ((2, 3, 7, 6),), ((3, 4),), {}),
    ("adaptive_max_pool2d", ((2, 3, 7, 6),), ((3, 4),), {"return_indices": True}),
    ("lp_pool2d", ((2, 3, 6, 6),), (2.0, 3), {}),
    ("pad", ((2, 3, 4),), ((1, 2, -1, 1),), {"value": 3.0}),
    ("pad", ((2, 3, 4, 5),), ((1, 2, 2, 1),), {"mode": "reflect"}),
    ("pad", ((2, 3, 4, 5),), ((1, 2, 3, 4),), {"mode": "circular"}),
    ("pixel_shuffle", ((2, 8, 3, 2),), (2,), {}),
    ("channel_shuffle", ((2, 6, 3),), (3,), {}),
    ("interpolate", ((2, 3, 5, 4),), ((7, 3),), {}),
    ("interpolate", ((2, 3, 5, 4),), (), {"scale_factor": 1.7, "mode": "bilinear", "align_corners": False}),
    ("interpolate", ((2, 3, 5, 4),), ((7, 9),), {"mode": "bicubic", "align_corners": True}),
    *((name, ((3, 4), (3, 4)), (), {"reduction": reduction}) for name in ("l1_loss", "mse_loss", "smooth_l1_loss",
      "huber_loss", "poisson_nll_loss", "hinge_embedding_loss") for reduction in ("none", "mean", "sum")),
    ("binary_cross_entropy_with_logits", ((3, 4), (3, 4), (4,)), (), {}),
    ("cross_entropy", ((3, 4), (3, 4)), (), {"label_smoothing": 0.25}),
    ("triplet_margin_loss", ((3, 4), (3, 4), (3, 4)), (), {"swap": True}),
    ("cosine_similarity", ((3, 4), (4,)), (-1,), {}),
    ("pairwise_distance", ((3, 4), (3, 4)), (3.0,), {}),
    ("scaled_dot_product_attention", ((2, 3, 4, 8), (2, 3, 5, 8), (2, 3, 5, 6)), (), {}),
    ("scaled_dot_product_attention", ((2, 5, 8), (2, 5, 8), (2, 5, 8)), (), {"is_causal": True, "scale": 0.5}),
]  # fmt: skip
DTYPES = ("float64", "float32", "float16", "bfloat16", "complex64", "int64")


def own_of(tensor: Any) -> Any:
    base = tensor.as_strided((tensor.untyped_storage().nbytes() // tensor.element_size(),), (1,), 0)
    if tensor.dtype == torch.bfloat16:
        flat = gb.from_numpy(base.view(torch.int16).numpy().copy()).view(gb.bfloat16)
    else:
        flat = gb.from_numpy(base.numpy().copy())
    return flat.as_strided(tuple(tensor.shape), tensor.stride(), tensor.storage_offset())


def strided(rng: np.random.Generator, sizes: tuple[int, ...], dtype: str, *, plain: bool) -> Any:
    real = torch.from_numpy(rng.standard_normal((*sizes[:-1], sizes[-1] * 2)) * 2)
    tensor = real.to(getattr(torch, dtype))
    return tensor[..., : sizes[-1]].contiguous() if plain else tensor[..., 1::2]


def array(tensor: Any) -> Any:
    half = tensor.dtype in (gb.bfloat16, torch.bfloat16)
    return (tensor.float() if half else tensor).numpy()


def outcome(function: Any, *args: Any, **kwargs: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = function(*args, **kwargs)
        except (RuntimeError, NotImplementedError, ValueError, IndexError, TypeError) as error:
            return error
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", range(len(CALLS)), ids=lambda k: f"{CALLS[k][0]}-{k}")
def test_agrees_with_the_peer(number: int, dtype: str) -> None:
    name, shapes, args, kwargs = CALLS[number]
    rng = np.random.default_rng(number)
    for plain in (True, False):
        peers = [None if sizes is None else strided(rng, sizes, dtype, plain=plain) for sizes in shapes]
        expected = outcome(getattr(torch.nn.functional, name), *peers, *args, **kwargs)
        owns = [None if peer is None else own_of(peer) for peer in peers]
        found = outcome(getattr(F, name), *owns, *args, **kwargs)
        if isinstance(expected, Exception) or isinstance(found, Exception):
            assert isinstance(expected, Exception), found
            assert isinstance(found, Exception), expected
            continue
        for peer, own in zip(expected, found, strict=True):
            assert str(peer.dtype)[6:] == own.dtype.name
            assert tuple(peer.shape) == own.shape
            if 1 not in own.shape and own.numel():
                assert peer.stride() == own.stride()
            bound = max(TOLERANCE.get(kind, 0.0) for kind in (dtype, own.dtype.name))
            np.testing.assert_allclose(array(own), array(peer), rtol=bound, atol=bound)

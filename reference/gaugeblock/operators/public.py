"""Functions of the module that are not simply their operators: those with other arguments, and in-place forms."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..tensor.tensor import Tensor

FUNCTIONS: dict[str, str] = {
    "atleast_1d": "placement.tensor_shape.public_atleast_1d",
    "atleast_2d": "placement.tensor_shape.public_atleast_2d",
    "atleast_3d": "placement.tensor_shape.public_atleast_3d",
    "block_diag": "linear.outer_products.public_block_diag",
    "broadcast_tensors": "placement.tensor_shape.public_broadcast_tensors",
    "cartesian_prod": "linear.outer_products.public_cartesian_prod",
    "cdist": "networks.distances.public_cdist",
    "chain_matmul": "linear.contractions.public_chain_matmul",
    "einsum": "linear.contractions.public_einsum",
    "is_conj": "composites.is_conj_of",
    "is_neg": "composites.is_neg_of",
    "lu": "linear.decompositions.lu",
    "meshgrid": "placement.tensor_shape.public_meshgrid",
    "numel": "composites.numel",
    "pca_lowrank": "linear.decompositions.pca_lowrank",
    "stft": "spectral.short_time.public_stft",
    "svd_lowrank": "linear.decompositions.svd_lowrank",
    "tensordot": "linear.contractions.public_tensordot",
    "unravel_index": "placement.tensor_shape.unravel_index",
    "unique_consecutive": "numeric.order_statistics.public_unique_consecutive",
}
"""Public name -> module of this package and function."""

INPLACE = frozenset(
    """abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ asinh_ atan_ atanh_ ceil_
    clamp_ clamp_max_ clamp_min_ clip_ cos_ cosh_ deg2rad_ erf_ erfc_ exp2_ exp_ expm1_ fix_ floor_ frac_ gcd_
    i0_ index_put_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ rad2deg_ reciprocal_
    relu_ round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ xlogy_ conj_physical_""".split()
)
"""In-place methods that are functions of the module too."""


def public_function(name: str) -> Any:
    """The function of the public module called `name`; None when there is no special one."""
    if name in INPLACE:
        return getattr(Tensor, name)
    place = FUNCTIONS.get(name)
    if place is None:
        return None
    module, _, attribute = place.rpartition(".")
    function = getattr(import_module(f".{module}", __package__), attribute)
    function.__name__ = function.__qualname__ = name  # the name in Python's own TypeErrors
    return function


def names() -> list[str]:
    """The names of all these functions."""
    return sorted({*FUNCTIONS, *INPLACE})


METHODS = ("lu", "stft", "unique_consecutive")
"""Functions that are methods of a tensor in the same form."""


def _method(name: str) -> Callable[..., Any]:
    def run(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        return public_function(name)(self, *args, **kwargs)

    run.__name__, run.__qualname__ = name, f"Tensor.{name}"
    return run


for _name in METHODS:
    setattr(Tensor, _name, _method(_name))

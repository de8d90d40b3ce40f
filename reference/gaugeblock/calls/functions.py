"""The functions of operators by name, for public modules and for what is made of operators.

Most are generated from their schemas when they are first asked for. Functions with other arguments, and in-place forms
that are functions too, have rows of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..dispatch.overrides import overridable
from ..operators.composites import unique
from ..operators.tensor_data import tensor
from ..tensor.tensor import Tensor
from .binding import make_function
from .marked_views import MARKED, marking
from .overloads import functions, nn_functions

if TYPE_CHECKING:
    import gaugeblock

FUNCTIONS: dict[str, str] = {
    "atleast_1d": "numeric.tensor_shape.public_atleast_1d",
    "atleast_2d": "numeric.tensor_shape.public_atleast_2d",
    "atleast_3d": "numeric.tensor_shape.public_atleast_3d",
    "block_diag": "linear.outer_products.public_block_diag",
    "broadcast_tensors": "numeric.tensor_shape.public_broadcast_tensors",
    "cartesian_prod": "linear.outer_products.public_cartesian_prod",
    "cdist": "networks.distances.public_cdist",
    "chain_matmul": "linear.contractions.public_chain_matmul",
    "einsum": "linear.contractions.public_einsum",
    "is_conj": "composites.is_conj_of",
    "is_neg": "composites.is_neg_of",
    "lu": "linear.decompositions.lu",
    "meshgrid": "numeric.tensor_shape.public_meshgrid",
    "numel": "composites.numel",
    "pca_lowrank": "linear.decompositions.pca_lowrank",
    "stft": "spectral.short_time.public_stft",
    "svd_lowrank": "linear.decompositions.svd_lowrank",
    "tensordot": "linear.contractions.public_tensordot",
    "unravel_index": "numeric.tensor_shape.unravel_index",
    "unique_consecutive": "numeric.statistics.public_unique_consecutive",
}
"""Public name -> module of the operators, and function."""

INPLACE = frozenset(
    """abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ asinh_ atan_ atanh_ ceil_
    clamp_ clamp_max_ clamp_min_ clip_ cos_ cosh_ deg2rad_ erf_ erfc_ exp2_ exp_ expm1_ fix_ floor_ frac_ gcd_
    i0_ index_put_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ rad2deg_ reciprocal_
    relu_ round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ xlogy_ conj_physical_""".split()
)
"""In-place methods that are functions of the module too."""


def public_function(name: str) -> Any:
    """Return the function of the public module called `name`; None when it is generated from its schemas."""
    if name in INPLACE:
        return getattr(Tensor, name)
    place = FUNCTIONS.get(name)
    if place is None:
        return None
    module, _, attribute = place.rpartition(".")
    function = getattr(import_module(f"..operators.{module}", __package__), attribute)
    function.__name__ = function.__qualname__ = name  # the name in Python's own TypeErrors
    return function


def special_names() -> list[str]:
    """Return the names of the functions that are not generated from their schemas alone."""
    return sorted({*FUNCTIONS, *INPLACE})


WITHOUT_SCHEMA: dict[str, Callable[..., Any]] = {"tensor": tensor, "unique": unique}


class Functions:
    """Has the public function of an operator as an attribute, made when it is first asked for.

    `ops.where` is ``gaugeblock.where``, `ops.linalg_solve` is ``gaugeblock.linalg.solve``, and `ops.softplus` that of
    ``gaugeblock.nn.functional``. Raises AttributeError for other names.
    """

    def __getattr__(self, name: str) -> Callable[..., gaugeblock.Tensor]:
        made = self.__dict__[name] = _find(name)
        return made


def _find(name: str) -> Callable[..., Any]:
    if name in WITHOUT_SCHEMA:
        return WITHOUT_SCHEMA[name]
    own = public_function(name)
    if own is not None:
        found: Callable[..., Any] = overridable(marking(own) if name in MARKED else own)
        return found
    group = functions().get(name) or nn_functions().get(name)
    if group is None:
        raise AttributeError(f"there is no operator {name!r}")
    made: Callable[..., Any] = make_function(group)
    return made


tensor_ops = Functions()
"""The functions, for callers that take each result for one tensor."""
ops: Any = tensor_ops

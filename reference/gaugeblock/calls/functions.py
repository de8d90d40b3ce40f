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

_PLACES = {
    "composites": "is_conj is_neg numel",
    "linear.contractions": "chain_matmul einsum tensordot",
    "linear.decompositions": "lu pca_lowrank svd_lowrank",
    "linear.outer_products": "block_diag cartesian_prod",
    "networks.distances": "cdist",
    "numeric.statistics": "unique_consecutive",
    "numeric.tensor_shape": "atleast_1d atleast_2d atleast_3d broadcast_tensors meshgrid unravel_index",
    "spectral.short_time": "stft",
}
FUNCTIONS = {name: module for module, names in _PLACES.items() for name in names.split()}
"""Public name -> module of the operators that has its function, called "public_..." if the name is an operator's."""

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
    if name not in FUNCTIONS:
        return None
    module = import_module(f"..operators.{FUNCTIONS[name]}", __package__)
    function: Any = getattr(module, f"public_{name}", None) or getattr(module, name)
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

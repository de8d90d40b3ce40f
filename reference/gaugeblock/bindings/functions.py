"""The functions of the public API by the names of their operators, for public modules and what is below them.

Most are generated from their schemas when they are first asked for. Functions with other arguments, and in-place forms
that are functions too, have rows of their own.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from ..core.errors import type_error
from ..dispatch.dispatcher import REGISTRY, Operator, call
from ..dispatch.overrides import overridable
from ..operators.composites import unique
from ..operators.rows import rows
from ..operators.tensor_data import tensor
from ..tensor.tensor import Tensor
from .binding import PENDING, SOURCES, Binding, make_function, method
from .call_cache import Single, parameters_of
from .factories import FUNCTIONS as FACTORIES
from .factories import METHODS as FACTORY_METHODS
from .marked_views import MARKED, marking
from .overloads import Group, Overload, by_keyword, find_operator, functions, methods, nn_functions

if TYPE_CHECKING:
    import gaugeblock

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
    "unique_consecutive": "numeric.order_statistics.public_unique_consecutive",
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


METHODS = ("lu", "stft", "unique_consecutive")
"""Functions that are methods of a tensor in the same form."""


def _method(name: str) -> Callable[..., Any]:
    def run(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        return public_function(name)(self, *args, **kwargs)

    run.__name__, run.__qualname__ = name, f"Tensor.{name}"
    return run


for _name in METHODS:
    setattr(Tensor, _name, _method(_name))


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


def bind_operator(operator: Operator) -> Callable[..., Any]:
    """Return an operator as a function of its schema's arguments, whose calls the call cache keeps.

    No override is asked: this is how operators call one another.
    """
    row, declared = rows().get(operator.name), operator.schema.arguments
    if row is None or any(by_keyword(row, a) != a.kwarg_only or (a.written and a.kwarg_only) for a in declared):
        return partial(call, operator)
    name = operator.name if "." in operator.name else f"{operator.name}.default"  # the public function has the other
    group = Group(name, (Overload(row, operator.text, None),))
    parameters = parameters_of(group, spread=False)
    if parameters is None:
        return partial(call, operator)
    function: Callable[..., Any] = Binding(group, parameters, Single(operator)).function(
        f"call of {operator.name}", "operator", operator.text
    )
    return function


REGISTRY.bind_operator = bind_operator


def namespace(
    module: str, prefix: str, others: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of `module`; a function is made when it is first asked for.

    `linalg.det` is the operator `linalg_det`, for the prefix "linalg_"; `others` gives the operators of other names.
    """
    renamed = others or {}

    def get(name: str) -> Any:
        group = functions().get(prefix + name) or functions().get(renamed.get(name, ""))
        if group is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        made = make_function(group)
        setattr(sys.modules[module], name, made)
        return made

    def names() -> list[str]:
        here = vars(sys.modules[module])
        made = (name.removeprefix(prefix) for name in functions() if name.startswith(prefix))
        return sorted({*(name for name in here if not name.startswith("_")), *made, *renamed} - HIDDEN)

    return get, names


HIDDEN = frozenset({"Any", "OTHER_NAMES", "SAME", "annotations", "namespace"})
"""Names that a public module imports for itself and does not list."""


def show_binding(name: str) -> str:
    """Return the source behind an operator ("add.Tensor"), a function ("add") or a method ("Tensor.add").

    Raises ValueError when there is no such binding.
    """
    if not isinstance(name, str):
        type_error("show_binding", "name", name, "str")
    factory = FACTORIES.get(name) or FACTORY_METHODS.get(name.removeprefix("Tensor."))
    if factory is not None:
        return dedent(inspect.getsource(factory))
    if name.startswith("Tensor."):
        attribute = name.partition(".")[2]
        if attribute in PENDING:
            method(attribute)
    else:
        overload = find_operator(name)
        public = name if overload is None else overload.operator.partition(".")[0]
        if public in functions():
            name = public
            if name not in SOURCES:
                make_function(functions()[name])
        elif public in methods():
            return show_binding(f"Tensor.{public}")
    if name not in SOURCES:
        raise ValueError(f"no generated binding {name!r}; functions: {', '.join(sorted(functions()))}")
    return SOURCES[name]

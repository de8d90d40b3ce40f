"""What the rows of some operators need so that they are differentiated where they are smooth: one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Hint:
    """``prepare`` says what becomes of an argument before the operator gets it (a name of ``PREPARE``); ``finish`` what
    of the results (a name of ``FINISH``), where several are right or they are not smooth. ``within`` narrows the range
    of an argument's values; ``fixed`` are arguments that are not drawn; by those in ``constant`` nothing is derived,
    those in ``alike`` have the same sizes. ``wide``: every operand has dims, none of size 1. ``seeded``: the same
    random numbers each time, as for all rows of family random. ``skip``: why it is not tested.
    """

    prepare: Mapping[str, str] = field(default_factory=dict)
    finish: str = ""
    within: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    constant: tuple[str, ...] = ()
    alike: tuple[str, ...] = ()
    wide: bool = False
    seeded: bool = False
    skip: str = ""


_SEEDED = Hint(seeded=True)
_RUNNING = ("running_mean", "running_var")
_NORMALIZED = Hint(constant=_RUNNING)
_SOURCE = Hint(alike=("index", "src"))
_SMALL_BOUNDS = dict.fromkeys(("rcond", "atol", "rtol"), (0.0001, 0.001))

HINTS: dict[str, Hint] = {
    # Matrices of which one triangle is read stand for symmetric ones.
    "linalg_eigh": Hint(prepare={"self": "symmetric"}, finish="absolute"),
    "linalg_eigvalsh": Hint(prepare={"self": "symmetric"}),
    "linalg_cholesky": Hint(prepare={"self": "definite"}),
    "linalg_cholesky_ex": Hint(prepare={"self": "definite"}),
    "cholesky": Hint(prepare={"self": "definite"}),
    "cholesky_inverse": Hint(prepare={"self": "triangle"}),
    "cholesky_solve": Hint(prepare={"input2": "triangle"}),
    # Vectors are right with any sign, or phase.
    "linalg_eig": Hint(finish="absolute"),
    "linalg_svd": Hint(fixed={"full_matrices": False}, finish="absolute"),
    "svd": Hint(fixed={"some": True, "compute_uv": True}, finish="absolute"),
    # Columns beyond the rank are not determined.
    "linalg_qr": Hint(fixed={"mode": "reduced"}),
    "qr": Hint(fixed={"some": True}),
    # Ranges that no domain states.
    "special_zeta": Hint(within={"self": (2.0, 5.0), "other": (0.3, 3.0)}),
    "float_power.Scalar": Hint(within={"exponent": (0.3, 3.0)}),
    "special_bessel_y0": Hint(within={"self": (0.3, 3.0)}),
    "special_bessel_y1": Hint(within={"self": (0.3, 3.0)}),
    "poisson_nll_loss": Hint(within={"target": (1.0, 4.0)}),
    # Gradients that are divided by how often a row was taken are not those of the function, sparse ones no arrays.
    "embedding": Hint(fixed={"scale_grad_by_freq": False, "sparse": False}),
    # Deviations of one element are 0: there they have a kink.
    "std": Hint(wide=True),
    "std_mean": Hint(wide=True),
    # No singular value is cut off.
    "linalg_pinv": Hint(prepare={"self": "hermitian"}, fixed={"rcond": 1e-5}),
    "linalg_pinv.rcond_tensor": Hint(prepare={"self": "hermitian"}, within=_SMALL_BOUNDS),
    "linalg_pinv.atol_rtol_tensor": Hint(prepare={"self": "hermitian"}, within=_SMALL_BOUNDS),
    "linalg_pinv.atol_rtol_float": Hint(prepare={"self": "hermitian"}, fixed={"atol": None, "rtol": 1e-5}),
    "pinverse": Hint(fixed={"rcond": 1e-5}),
    "poisson": Hint(within={"self": (0.3, 3.0)}),
    # A sample is taken for a constant, although it moves with mean and spread.
    "normal": Hint(skip="what is drawn counts as constant"),
    # What an operator that these are made of takes for constant.
    "soft_margin_loss": Hint(constant=("target",)),
    "nll_loss": Hint(constant=("weight",)),
    "nll_loss_nd": Hint(constant=("weight",)),
    "nll_loss2d": Hint(constant=("weight",)),
    "nll_loss_forward": Hint(constant=("weight",)),
    "nll_loss2d_forward": Hint(constant=("weight",)),
    "cross_entropy_loss": Hint(constant=("weight",)),
    "multi_margin_loss": Hint(constant=("weight",)),
    "binary_cross_entropy_with_logits": Hint(constant=("weight",)),
    # Statistics that are kept are no function of what is normalized.
    "batch_norm": _NORMALIZED,
    "native_batch_norm": _NORMALIZED,
    "instance_norm": _NORMALIZED,
    # Derivatives by a source that is larger than its index are not documented.
    "scatter.src": _SOURCE,
    "scatter_add": _SOURCE,
    "scatter_reduce.two": _SOURCE,
    "polar": Hint(within={"abs": (0.3, 3.0)}),
    "lu_unpack": Hint(fixed={"unpack_data": True}),
    # Its gradient is that of normalized probabilities; the second result has logarithms of what cannot be reached.
    "_ctc_loss": Hint(prepare={"log_probs": "normalized"}, finish="first"),
    "ctc_loss": Hint(prepare={"log_probs": "normalized"}),
    # Random numbers outside the family of that name.
    "dropout": _SEEDED,
    "native_dropout": _SEEDED,
    "alpha_dropout": _SEEDED,
    "feature_dropout": _SEEDED,
    "feature_alpha_dropout": _SEEDED,
    "rrelu": _SEEDED,
    "rrelu_with_noise": Hint(seeded=True, constant=("noise",)),
    "scaled_dot_product_attention": Hint(seeded=True, fixed={"is_causal": False}),
}


def hint_of(operator: str) -> Hint:
    """The hint of a row, by its name or by its name without the overload."""
    return HINTS.get(operator) or HINTS.get(operator.partition(".")[0]) or Hint()

"""Statistics, numerical rules, windows and more of the NumPy-like surface: which module has which operator."""

from __future__ import annotations

from ..deferred import register_deferred

KERNELS = {
    "components": "frexp.Tensor polar complex",
    "consecutive": "unique_consecutive",
    "distributions": "poisson binomial",
    "gradients": """gradient.scalarint gradient.scalararray gradient.array gradient.scalarrayint gradient.scalarrayarray
        gradient.tensorarrayint gradient.tensorarray""",
    "histograms": "bincount histc histogram.bins_tensor histogram.bin_ct",
    "modes": "mode",
    "quantiles": "quantile quantile.scalar nanquantile nanquantile.scalar",
}
"""Operators with a kernel for CPU and Meta."""
INPLACE = {
    "components": "conj_physical_",
    "distributions": "cauchy_ log_normal_ geometric_",
    "float_power": "float_power_.Tensor float_power_.Scalar",
}
"""In-place forms that are not simply the result written into self."""
EXPLICIT = {
    "distributions": "normal.Tensor_float normal.float_Tensor normal.Tensor_Tensor normal.float_float",
    "distances": "dist",
    "float_power": "float_power.Tensor_Tensor float_power.Tensor_Scalar float_power.Scalar",
}
"""Operators made of others, with a derivative of their own."""
COMPOSITES = {
    "components": "isreal conj_physical",
    "covariance": "cov corrcoef",
    "multivariate_gamma": "mvlgamma special_multigammaln",
    "renorm": "renorm",
    "trapezoids": """trapezoid.x trapezoid.dx trapz.x trapz.dx cumulative_trapezoid.x cumulative_trapezoid.dx""",
}
"""Operators made of others."""

register_deferred(__name__, INPLACE)
register_deferred(__name__, KERNELS)
register_deferred(__name__, {"float_power": INPLACE["float_power"]}, "CompositeExplicitAutograd")
register_deferred(__name__, EXPLICIT, "CompositeExplicitAutograd")
register_deferred(__name__, COMPOSITES, "CompositeImplicitAutograd")

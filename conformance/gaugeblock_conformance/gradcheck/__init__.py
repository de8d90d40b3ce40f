"""Derivatives of any backend with the capability autograd, checked against central finite differences.

>>> from gaugeblock_conformance.gradcheck import gradcheck, gradgradcheck          # doctest: +SKIP
>>> x = backend.from_numpy(np.array([0.5, 1.5]), requires_grad=True)               # doctest: +SKIP
>>> gradcheck(backend, lambda x: backend.call("sin", x), [x])                      # doctest: +SKIP
True
"""

from .check import Options, gradcheck
from .error import Entry, GradcheckError
from .second import gradgradcheck

__all__ = ["Entry", "GradcheckError", "Options", "gradcheck", "gradgradcheck"]

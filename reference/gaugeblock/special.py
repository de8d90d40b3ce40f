"""Special functions under torch.special's names: ``special.i0e`` is the operator `special_i0e`.

Operators that are not special to this module, such as `sigmoid`, bear other names here.
"""

from __future__ import annotations

from .bindings.namespaces import namespace

SAME = ("digamma erf erfc erfinv exp2 expm1 i0 log1p logit logsumexp round sinc xlogy log_softmax softmax".split())
OTHER_NAMES = {
    "expit": "sigmoid", "gammaln": "lgamma", "psi": "digamma", "gammainc": "igamma", "gammaincc": "igammac",
    **{name: name for name in SAME},
}  # fmt: skip
"""Name here -> operator."""

__getattr__, __dir__ = namespace(__name__, "special_", OTHER_NAMES)

"""Adam for sparse gradients, which leaves alone what a gradient does not specify."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import gaugeblock as gb

from .adam import check_betas
from .optimizer import Group, Optimizer, check_above_zero, gradients, specified


class SparseAdam(Optimizer):
    """Adam whose means, and so its steps, change where the gradient has elements alone
    (https://docs.pytorch.org/docs/stable/generated/torch.optim.SparseAdam.html).

    ``p -= lr * sqrt(1 - betas[1]**t) / (1 - betas[0]**t) * m / (sqrt(v) + eps)`` in step ``t`` for the elements that
    the gradient specifies, after their ``m`` and ``v`` took it in; what it does not specify keeps its means.

    Raises ValueError for ``lr`` and ``eps`` that are not above 0 and for betas outside [0, 1); ``step`` raises
    RuntimeError for a gradient that is not sparse.
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:  # fmt: skip
        check_above_zero(self, lr=lr, eps=eps)
        check_betas(self, betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    def update(self, group: Group) -> None:
        """Change the parameters of one group."""
        first, second = map(float, group["betas"])
        for param, gradient in gradients(group, 0.0):
            if not gradient.is_sparse:
                raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
            state = self.state[param]
            if not state:
                state["step"] = 0
                state["exp_avg"], state["exp_avg_sq"] = (gb.zeros_like(param.detach()) for _ in range(2))
            state["step"] += 1
            gradient = gradient.coalesce()
            if not gradient._nnz():
                continue
            found = gradient._values()
            mean, square = (state[name].sparse_mask(gradient)._values() for name in ("exp_avg", "exp_avg_sq"))
            more, more_square = (found - mean) * (1 - first), (found * found - square) * (1 - second)
            state["exp_avg"].add_(specified(gradient, more))
            state["exp_avg_sq"].add_(specified(gradient, more_square))
            quotient = (mean + more) / (square + more_square).sqrt_().add_(float(group["eps"]))
            step = state["step"]
            rate = float(group["lr"]) * math.sqrt(1 - second**step) / (1 - first**step)
            param.add_(specified(gradient, quotient), alpha=-rate)

"""Adagrad, for gradients of both kinds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import gaugeblock as gb

from .optimizer import Group, Optimizer, check_at_least_zero, check_unsupported, gradients, specified


class Adagrad(Optimizer):
    """Adagrad (Duchi, Hazan and Singer, https://jmlr.org/papers/v12/duchi11a.html; options as torch.optim.Adagrad's).

    ``s`` starts with ``initial_accumulator_value`` and sums the squares of the gradients; in step ``t``
    ``p -= lr / (1 + (t - 1) * lr_decay) * grad / (sqrt(s) + eps)``. ``weight_decay`` adds ``weight_decay * p`` to the
    gradient, ``maximize`` negates it. A sparse gradient changes the elements that it specifies. Of complex parameters
    both parts are parameters. ``foreach`` and ``fused`` change nothing.

    Raises ValueError for negative options; ``step`` raises RuntimeError for a sparse gradient with ``weight_decay``.
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
        initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
        maximize: bool = False, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        check_at_least_zero(
            self, lr=lr, lr_decay=lr_decay, weight_decay=weight_decay, eps=eps,
            initial_accumulator_value=initial_accumulator_value,
        )  # fmt: skip
        check_unsupported(self, differentiable=differentiable)
        super().__init__(
            params,
            {
                "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
                "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
                "differentiable": differentiable, "fused": fused,
            },
        )  # fmt: skip

    def add_param_group(self, param_group: Group) -> None:
        """Add a group, and the sums of its parameters. Raise the errors of the class."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        start = group["initial_accumulator_value"]
        for param in group["params"]:
            value = complex(start, start) if param.is_complex() else start
            self.state[param] = {"step": gb.scalar_tensor(0.0), "sum": gb.full_like(param.detach(), value)}

    def update(self, group: Group) -> None:
        """Change the parameters of one group."""
        decay, eps = float(group["weight_decay"]), float(group["eps"])
        if decay and any(param.grad is not None and param.grad.is_sparse for param in group["params"]):
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        for param, gradient in gradients(group, decay):
            state = self.state[param]
            state["step"] += 1
            rate = float(group["lr"]) / (1 + (int(state["step"]) - 1) * group["lr_decay"])
            if gradient.is_sparse:
                gradient = gradient.coalesce()
                found = gradient._values()
                state["sum"].add_(specified(gradient, found * found))
                divisor = state["sum"].sparse_mask(gradient)._values().sqrt().add_(eps)
                param.add_(specified(gradient, found / divisor), alpha=-rate)
                continue
            parts = [gradient, state["sum"], param.detach()]
            gradient, squares, values = map(gb.view_as_real, parts) if param.is_complex() else parts
            squares.addcmul_(gradient, gradient)
            values.addcdiv_(gradient, squares.sqrt().add_(eps), value=-rate)

"""Stochastic gradient descent, with momentum and Nesterov's step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .optimizer import Group, Optimizer, check_at_least_zero, check_unsupported, gradients


class SGD(Optimizer):
    """Stochastic gradient descent (https://docs.pytorch.org/docs/stable/generated/torch.optim.SGD.html).

    ``g = grad + weight_decay * p`` (``-grad`` with ``maximize``). With momentum
    ``b = momentum * b + (1 - dampening) * g`` (``b = g`` in the first step), and ``g`` becomes ``b``, or
    ``g + momentum * b`` with ``nesterov``. Then ``p -= lr * g``. ``foreach`` and ``fused``, which
    choose among equivalent implementations, change nothing.

    Raises ValueError for negative options, and for ``nesterov`` without momentum or with dampening.
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, momentum: float = 0, dampening: float = 0,
        weight_decay: float = 0, nesterov: bool = False, *, maximize: bool = False, foreach: bool | None = None,
        differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        check_at_least_zero(self, lr=lr, momentum=momentum, weight_decay=weight_decay)
        check_unsupported(self, differentiable=differentiable)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(f"SGD(): nesterov needs momentum > 0 and dampening 0, got {momentum} and {dampening}")
        super().__init__(
            params,
            {
                "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
                "nesterov": nesterov, "maximize": maximize, "foreach": foreach, "differentiable": differentiable,
                "fused": fused,
            },
        )  # fmt: skip

    def update(self, group: Group) -> None:
        """Change the parameters of one group."""
        momentum = group["momentum"]
        for param, step in gradients(group, group["weight_decay"]):
            if momentum:
                state = self.state[param]
                past = state.get("momentum_buffer")
                if past is None:
                    past = state["momentum_buffer"] = step.detach().clone()
                else:
                    past.mul_(momentum).add_(step, alpha=1 - group["dampening"])
                step = step.add(past, alpha=momentum) if group["nesterov"] else past
            param.add_(step, alpha=-float(group["lr"]))

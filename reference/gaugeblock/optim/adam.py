"""Adam, and AdamW with decoupled weight decay."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import gaugeblock as gb

from .optimizer import Group, Optimizer, check_at_least_zero, check_unsupported, gradients


class Adam(Optimizer):
    """Adam (Kingma and Ba, https://arxiv.org/abs/1412.6980; options as torch.optim.Adam's).

    ``m`` and ``v`` are running means of the gradient and of its square, with weights ``betas``. In step ``t``
    ``p -= lr * m / (1 - betas[0]**t) / (sqrt(v / (1 - betas[1]**t)) + eps)``; with ``amsgrad`` the greatest ``v`` so
    far replaces ``v``. ``weight_decay`` adds ``weight_decay * p`` to the gradient, or with
    ``decoupled_weight_decay`` shrinks ``p`` by ``lr * weight_decay`` of itself. ``maximize`` negates the gradient.

    Raises ValueError for negative options and for betas outside [0, 1).
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False,
        capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:  # fmt: skip
        check_at_least_zero(self, lr=lr, eps=eps, weight_decay=weight_decay)
        check_betas(self, betas)
        check_unsupported(self, differentiable=differentiable, capturable=capturable)
        super().__init__(
            params,
            {
                "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
                "maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable,
                "fused": fused, "decoupled_weight_decay": decoupled_weight_decay,
            },
        )  # fmt: skip

    def update(self, group: Group) -> None:
        """Change the parameters of one group."""
        rate, decay = float(group["lr"]), float(group["weight_decay"])
        first, second = map(float, group["betas"])
        decoupled = group["decoupled_weight_decay"]
        for param, gradient in gradients(group, 0.0 if decoupled else decay):
            if gradient.is_sparse:
                raise RuntimeError("Adam does not support sparse gradients, please consider SparseAdam instead")
            if decoupled:
                param.mul_(1 - rate * decay)
            state = self.state[param]
            if not state:
                state["step"] = gb.scalar_tensor(0.0)
                for name in ("exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if group["amsgrad"] else [])):
                    state[name] = gb.zeros_like(param.detach())
            state["step"] += 1
            step = int(state["step"])
            mean = state["exp_avg"].lerp_(gradient, 1 - first)
            square = state["exp_avg_sq"].mul_(second).addcmul_(gradient, gradient.conj(), value=1 - second)
            if group["amsgrad"]:
                square = state["max_exp_avg_sq"].copy_(state["max_exp_avg_sq"].maximum(square))
            divisor = square.sqrt().div_(math.sqrt(1 - second**step)).add_(float(group["eps"]))
            param.addcdiv_(mean, divisor, value=-rate / (1 - first**step))


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, https://arxiv.org/abs/1711.05101)."""

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False, foreach: bool | None = None,
        capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
            differentiable=differentiable, fused=fused, decoupled_weight_decay=True,
        )  # fmt: skip


def check_betas(optimizer: Optimizer, betas: tuple[float, float]) -> None:
    """Raise ValueError for a beta outside [0, 1)."""
    for place, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"{type(optimizer).__name__}(): betas[{place}] must be in [0, 1), got {beta}")

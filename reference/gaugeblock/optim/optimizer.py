"""Optimizer: parameter groups with their options, and the state of each parameter."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

import gaugeblock as gb
from gaugeblock.autograd import enable_grad, no_grad

from ..core.warn import warn

Group = dict[str, Any]


class Optimizer:
    """Base of all optimizers (https://docs.pytorch.org/docs/stable/optim.html).

    ``params`` is an iterable of leaf tensors, of pairs of a name and a leaf, or of dicts with such an iterable under
    "params" and options of their own; ``defaults`` are the options of groups that do not give them. A subclass writes
    ``update(group)``, which changes the group's parameters once; it runs with gradient recording off.

    Raises TypeError for anything that is no tensor, ValueError for an empty ``params``, for a tensor that is no leaf
    and for a parameter in two groups.
    """

    def __init__(self, params: Iterable[Any], defaults: Mapping[str, Any]) -> None:
        if isinstance(params, gb.Tensor):
            raise TypeError(f"{type(self).__name__}(): params must be an iterable of tensors or dicts, not a Tensor")
        self.defaults = dict(defaults)
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[Group] = []
        given = list(params)
        if not given:
            raise ValueError(f"{type(self).__name__}(): params is an empty list of parameters")
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: Group) -> None:
        """Add a dict of options and "params", one leaf or an iterable of leaves. Raise the errors of the class."""
        name = f"{type(self).__name__}.add_param_group()"
        if not isinstance(param_group, dict):
            raise TypeError(f"{name}: param_group must be a dict, not {type(param_group).__name__}")
        group = dict(param_group)
        if "params" not in group:
            raise KeyError(f"{name}: param_group has no entry 'params', its entries are {sorted(group)}")
        given = group.pop("params")
        if isinstance(given, set):
            raise TypeError(f"{name}: params must be ordered, got a set")
        members = [given] if isinstance(given, gb.Tensor) else list(given)
        if members and isinstance(members[0], tuple):
            group["param_names"] = [label for label, _ in members]
            members = [param for _, param in members]
        for param in members:
            if not isinstance(param, gb.Tensor):
                raise TypeError(f"{name}: params must be tensors, not {type(param).__name__}")
            if not (param.is_leaf or param.retains_grad or self.defaults.get("differentiable")):
                raise ValueError(f"{name}: a parameter is not a leaf: its gradient would not be kept")
        for option, default in self.defaults.items():
            group.setdefault(option, default)
        if len({id(param) for param in members}) < len(members):
            warn(f"{name}: a parameter is in the group more than once")
        taken = {id(param) for other in self.param_groups for param in other["params"]}
        if any(id(param) in taken for param in members):
            raise ValueError(f"{name}: a parameter is already in another group")
        group["params"] = members
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set every gradient to None, or with ``set_to_none=False`` to zeros that are not connected to any graph."""
        for group in self.param_groups:
            for param in group["params"]:
                if set_to_none or param.grad is None:
                    param.grad = None
                    continue
                param.grad.detach_().requires_grad_(False).zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change all parameters that have a gradient once.

        ``closure``, if given, is called first with recording on: it computes the loss and its gradients. Returns what
        it returned.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                self.update(group)
        return loss

    def update(self, group: Group) -> None:
        """Change the parameters of one group. Raises NotImplementedError: subclasses write it."""
        raise NotImplementedError(f"{type(self).__name__} does not define update(group)")

    def state_dict(self) -> dict[str, Any]:
        """Return the options of the groups and the state of the parameters, each parameter named by its number."""
        members = itertools.chain.from_iterable(group["params"] for group in self.param_groups)
        numbers = {id(param): number for number, param in enumerate(members)}
        groups = [
            {key: [numbers[id(param)] for param in kept] if key == "params" else kept for key, kept in group.items()}
            for group in self.param_groups
        ]
        state = {numbers.get(id(key), key): kept for key, kept in self.state.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Restore groups and states from ``state_dict``; states of floating parameters get their dtype. Raises
        ValueError if the groups differ in number or size from this optimizer's."""
        name = f"{type(self).__name__}.load_state_dict()"
        groups = [dict(group) for group in state_dict["param_groups"]]
        given, present = [len(group["params"]) for group in groups], [len(g["params"]) for g in self.param_groups]
        if len(given) != len(present):
            raise ValueError(f"{name}: {len(given)} parameter groups were given, the optimizer has {len(present)}")
        if given != present:
            raise ValueError(f"{name}: groups of {given} parameters were given, the optimizer has groups of {present}")
        numbers = itertools.chain.from_iterable(group["params"] for group in groups)
        params = itertools.chain.from_iterable(group["params"] for group in self.param_groups)
        param_of = dict(zip(numbers, params, strict=True))
        self.state = defaultdict(dict)
        for key, kept in state_dict["state"].items():
            if key in param_of:
                param = param_of[key]
                self.state[param] = {entry: _as_state_of(param, entry, value) for entry, value in kept.items()}
            else:
                self.state[key] = deepcopy(kept)
        for group, own in zip(groups, self.param_groups, strict=True):
            group["params"] = own["params"]
        self.param_groups = groups

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for place, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {place}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key not in ("params", "param_names")]
        return "\n".join([*lines, ")"])


def gradients(group: Group, decay: float) -> Iterator[tuple[Any, Any]]:
    """Yield each parameter that has a gradient, and the gradient: negated to maximize, plus ``decay * parameter``."""
    for param in group["params"]:
        if param.grad is not None:
            gradient = param.grad.neg() if group["maximize"] else param.grad
            yield param, gradient.add(param, alpha=decay) if decay else gradient


def specified(gradient: gb.Tensor, values: gb.Tensor) -> gb.Tensor:
    """Return a sparse tensor with the indices of a coalesced gradient and other values."""
    made: gb.Tensor = gb.sparse_coo_tensor(gradient._indices(), values, gradient.shape, is_coalesced=True)
    return made


def _as_state_of(param: gb.Tensor, entry: str, value: Any) -> Any:
    """Return a copy of one state entry, on the device of the parameter and in its dtype; counts of steps stay."""
    if not isinstance(value, gb.Tensor) or entry == "step":
        return deepcopy(value)
    dtype = param.dtype if param.is_floating_point() else value.dtype
    return value.detach().clone().to(device=param.device, dtype=dtype)


def check_at_least_zero(optimizer: Optimizer, **options: Any) -> None:
    """Raise ValueError for an option below 0 or NaN, and for a tensor of more than one element."""
    for option, value in options.items():
        if isinstance(value, gb.Tensor) and value.numel() != 1:
            raise ValueError(f"{type(optimizer).__name__}(): a tensor for {option} must have one element")
        if not value >= 0.0:
            raise ValueError(f"{type(optimizer).__name__}(): {option} must be at least 0, got {value}")


def check_above_zero(optimizer: Optimizer, **options: float) -> None:
    """Raise ValueError for an option that is not above 0."""
    for option, value in options.items():
        if not value > 0.0:
            raise ValueError(f"{type(optimizer).__name__}(): {option} must be above 0, got {value}")


def check_unsupported(optimizer: Optimizer, **options: bool) -> None:
    """Raise NotImplementedError for an unsupported option that is true."""
    for option, wanted in options.items():
        if wanted:
            raise NotImplementedError(f"{type(optimizer).__name__}(): {option}=True is not supported by gaugeblock")

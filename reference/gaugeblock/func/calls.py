"""functional_call and stack_module_state: call a module with other parameters, or with those of many modules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..calls.functions import ops
from ..core.errors import type_error
from ..nn.module import Module


def functional_call(
    module: Module, parameter_and_buffer_dicts: Mapping[str, Any] | Sequence[Mapping[str, Any]], args: Any = None,
    kwargs: Mapping[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """Return ``module(*args, **kwargs)`` with parameters and buffers replaced by the tensors of one or more dicts.

    Raises KeyError for a name that the module does not have and, with `strict`, RuntimeError when one of its names is
    missing. Source: torch.func.functional_call.
    """
    if not isinstance(module, Module):
        type_error("functional_call", "module", module, "Module")
    dicts = parameter_and_buffer_dicts
    given = dict(dicts) if isinstance(dicts, Mapping) else {name: one for part in dicts for name, one in part.items()}
    places = dict(module.named_modules())
    tables = {}
    for name in given:
        owner, _, own = name.rpartition(".")
        found = [places[owner].__dict__[table] for table in ("_parameters", "_buffers")] if owner in places else []
        table = next((table for table in found if own in table), None)
        if table is None:
            raise KeyError(f"functional_call(): the module has no parameter or buffer {name!r}")
        tables[name] = (table, own)
    every = dict(module._named("_parameters", "", True, False)) | dict(module._named("_buffers", "", True, False))
    missing = [name for name in every if name not in given]
    if strict and missing:
        raise RuntimeError(f"functional_call(): Missing key(s): {', '.join(map(repr, missing))}")
    if tie_weights:
        tied = {id(every[name]): value for name, value in given.items() if name in every}
        for name in missing:
            if id(every[name]) in tied:
                owner, _, own = name.rpartition(".")
                parts = places[owner].__dict__
                table = parts["_parameters"] if own in parts["_parameters"] else parts["_buffers"]
                tables[name], given[name] = (table, own), tied[id(every[name])]
    before = {name: table[own] for name, (table, own) in tables.items()}
    arguments = args if isinstance(args, tuple) else () if args is None else (args,)
    try:
        for name, (table, own) in tables.items():
            table[own] = given[name]
        return module(*arguments, **(kwargs or {}))
    finally:
        for name, (table, own) in tables.items():
            table[own] = before[name]


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters and the buffers of modules of one class by name, each stacked along a new first dim, over
    which vmap can map functional_call. The stacked parameters are leaves that require gradients as those of the first
    module do. Raises RuntimeError without modules, and for modules of several classes or in training and evaluation
    mode. Source: torch.func.stack_module_state."""
    if not models:
        raise RuntimeError("stack_module_state(): Expected at least one model, got 0.")
    first = models[0]
    if any(type(model) is not type(first) for model in models):
        names = ", ".join(sorted({type(model).__name__ for model in models}))
        raise RuntimeError(f"stack_module_state(): Expected all models to be of the same class, got {names}")
    if any(model.training is not first.training for model in models):
        raise RuntimeError("stack_module_state(): Expected all models to have the same training/eval mode")
    found = []
    for members in ("named_parameters", "named_buffers"):
        tables = [dict(getattr(model, members)()) for model in models]
        made = {}
        for name, one in tables[0].items():
            stacked = ops.stack([table[name].detach() for table in tables])
            made[name] = stacked.requires_grad_() if one.requires_grad else stacked
        found.append(made)
    return found[0], found[1]

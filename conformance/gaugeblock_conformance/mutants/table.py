"""All mutants, by name."""

from __future__ import annotations

from functools import cache

from ..problem import unknown
from . import (
    acceptances,
    algebra,
    aliasing,
    allocator_answers,
    allocator_figures,
    allocator_rules,
    allocator_waiting,
    arrangements,
    autograd_gradients,
    autograd_graphs,
    autograd_passes,
    autograd_uses,
    autograd_writes,
    bounds,
    computations,
    conversions,
    counting,
    dispatch,
    dtypes,
    empties,
    errors,
    exchange,
    forms,
    indices,
    interop,
    iteration,
    kernels,
    layouts,
    lazies,
    lengths,
    lifetimes,
    lookups,
    matrices,
    modes,
    narrow_floats,
    networks,
    numerics,
    opaque_layouts,
    operands,
    operators,
    products,
    purity,
    quantization,
    ranks,
    schemas,
    shared_memory,
    sharing,
    slopes,
    sparse_layouts,
    specials,
    spectra,
    storages,
    strides,
    thresholds,
    traces,
    transforms,
    values,
    views,
)
from .mutant import Mutant

MODULES = (
    values, specials, dtypes, conversions, empties, errors, numerics, thresholds, aliasing, purity, storages,
    strides, views, dispatch, modes, kernels, products, operators, forms, matrices, spectra, networks,
    arrangements, operands, autograd_gradients, autograd_passes, autograd_graphs, autograd_writes, allocator_rules,
    allocator_waiting, allocator_figures, allocator_answers, interop, exchange, acceptances, iteration,
    layouts, counting, traces, sharing, slopes, bounds, ranks, lazies, lengths, lookups, algebra,
    lifetimes, indices, computations, schemas, autograd_uses, narrow_floats,
    sparse_layouts, quantization, opaque_layouts, transforms, shared_memory,
)  # fmt: skip


@cache
def table() -> dict[str, Mutant]:
    """Name -> mutant, module by module. Raises ValueError for a name that stands twice."""
    found: dict[str, Mutant] = {}
    for module in MODULES:
        for mutant in module.MUTANTS:
            if mutant.name in found:
                raise ValueError(f"mutants: {mutant.name!r} stands twice")
            found[mutant.name] = mutant
    return found


def named(name: str) -> Mutant:
    """The mutant called ``name``. Raises UsageProblem for any other name."""
    if name not in table():
        raise unknown("mutant", name, table(), "see --list")
    return table()[name]

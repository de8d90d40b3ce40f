"""Functions of the module whose public form differs from the operators' behind them, by name; loaded when asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

FUNCTIONS: dict[str, str] = {
    "atleast_1d": "placement.stacks.public_atleast_1d",
    "atleast_2d": "placement.stacks.public_atleast_2d",
    "atleast_3d": "placement.stacks.public_atleast_3d",
    "block_diag": "linear.arrangements.public_block_diag",
    "cartesian_prod": "linear.arrangements.public_cartesian_prod",
    "cdist": "networks.distances.public_cdist",
    "chain_matmul": "linear.chains.public_chain_matmul",
    "einsum": "linear.einstein.public_einsum",
    "tensordot": "linear.contraction.public_tensordot",
    "unique_consecutive": "numeric.consecutive.public_unique_consecutive",
}
"""Public name -> module of this package and function."""


def public_function(name: str) -> Any:
    """The function of the public module called `name`; None when there is no special one."""
    place = FUNCTIONS.get(name)
    if place is None:
        return None
    module, _, function = place.rpartition(".")
    return getattr(import_module(f".{module}", __package__), function)


def names() -> list[str]:
    """The names of all these functions."""
    return sorted(FUNCTIONS)

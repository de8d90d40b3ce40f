"""The public side of forward mode: levels, make_dual, unpack_dual."""

from __future__ import annotations

from typing import NamedTuple, Self

from ..core.errors import type_error
from ..dispatch.state import IN_PYTHON
from ..tensor.tensor import Tensor
from .forward_mode import DUAL, Pause, check_sizes, set_tangent, tangent_of


def __getattr__(name: str) -> int:
    if name == "_current_level":  # -1 outside of the level
        return DUAL.level - 1
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class UnpackedDualTensor(NamedTuple):
    """A dual number taken apart; `tangent` is None for a tensor that has none."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Open the level at which dual numbers live, and return its number. RuntimeError for a second one."""
    if DUAL.level:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    DUAL.level += 1
    IN_PYTHON.append(None)
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level: its dual numbers are ordinary tensors again. RuntimeError when none is open."""
    if not DUAL.level:
        raise RuntimeError("Trying to exit a forward AD level that was not entered: none is open")
    if level not in (None, 0):
        raise RuntimeError(f"Trying to exit a forward AD level that was not the last one that was created: {level}")
    IN_PYTHON.pop()
    DUAL.close()


class dual_level:
    """``with dual_level():`` opens a level for the block."""

    def __enter__(self) -> Self:
        enter_dual_level()
        return self

    def __exit__(self, *error: object) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Return a view of the tensor that carries a tangent of the same sizes and dtype.

    Raises RuntimeError outside a dual level, for a tangent of other sizes or another dtype, and for a tensor or tangent
    that is already dual; TypeError unless both are tensors; ValueError unless they are floating or complex.
    Source: torch.autograd.forward_ad.make_dual.
    """
    if not DUAL.level:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    if level not in (None, 0):
        raise RuntimeError(f"make_dual(): invalid level {level}; 0 is the only level")
    for name, value in (("tensor", tensor), ("tangent", tangent)):
        if not isinstance(value, Tensor):
            type_error("make_dual", name, value, "Tensor")
    dtype = tensor.meta.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"Expected primal to be floating point or complex, but got: {dtype}")
    if not (tangent.meta.dtype.is_floating_point or tangent.meta.dtype.is_complex):
        raise ValueError(f"Expected tangent to be floating point or complex, but got: {tangent.dtype}")
    check_sizes(tensor, tangent)
    if tangent.meta.dtype is not dtype:
        raise RuntimeError(f"Expected primal and tangent to have the same dtype, got {dtype} and {tangent.dtype}")
    if tangent_of(tensor) is not None:
        raise RuntimeError("make_dual(): the tensor has a tangent already; nested forward mode AD is not supported")
    if tangent_of(tangent) is not None:
        raise RuntimeError("make_dual(): the tangent is a dual tensor itself; nested forward mode AD is not supported")
    with Pause():
        dual: Tensor = tensor.view_as(tensor)  # type: ignore[attr-defined]
        set_tangent(dual, tangent)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The primal, a view without tangent, and the tangent. TypeError unless it is a tensor."""
    if not isinstance(tensor, Tensor):
        type_error("unpack_dual", "tensor", tensor, "Tensor")
    tangent = tangent_of(tensor)
    if tangent is None:
        return UnpackedDualTensor(tensor, None)
    with Pause():
        primal: Tensor = tensor.view_as(tensor)  # type: ignore[attr-defined]
    return UnpackedDualTensor(primal, tangent)

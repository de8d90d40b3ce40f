"""checkpoint: recompute the tensors that a function saves for its backward pass instead of keeping them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import enable_grad
from ..autograd.saved_tensor import saved_tensors_hooks
from ..operators.generator import default_generator

__all__ = ["checkpoint"]


class _Stop(Exception):
    """Ends the second run once all tensors have been saved again."""


def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None, preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:  # fmt: skip
    """Return ``function(*args, **kwargs)``, keeping only the arguments for the backward pass.

    When the backward pass needs the first tensor, the function runs again, with the random state of the first run
    unless `preserve_rng_state` is false. `use_reentrant` has no effect: the second run never starts a backward
    pass. Raises RuntimeError in the backward pass when the second run saves fewer tensors.
    Source: torch.utils.checkpoint.checkpoint.
    """
    state = default_generator.get_state() if preserve_rng_state else None
    count = 0
    again: dict[int, Any] = {}

    def pack(tensor: Any) -> int:
        nonlocal count
        count += 1
        return count - 1

    def unpack(number: int) -> Any:
        if number not in again:
            run_again()
        if number not in again:
            raise RuntimeError(
                f"checkpoint(): the function saved {count} tensors when it ran first, and fewer when it ran again"
            )
        return again.pop(number)

    def run_again() -> None:
        again.clear()
        places = iter(range(count))

        def keep(tensor: Any) -> Any:
            place = next(places, None)
            if place is not None:
                again[place] = tensor.detach()
            if len(again) == count:
                raise _Stop
            return tensor

        before = default_generator.get_state()
        if state is not None:
            default_generator.set_state(state)
        try:
            with enable_grad(), saved_tensors_hooks(keep, lambda tensor: tensor):
                function(*args, **kwargs)
        except _Stop:
            pass
        finally:
            default_generator.set_state(before)

    with saved_tensors_hooks(pack, unpack):
        return function(*args, **kwargs)

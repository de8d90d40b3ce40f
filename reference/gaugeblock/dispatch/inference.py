"""Inference mode: calls skip autograd, and the tensors made have no autograd keys and no version, ever."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any, TypeVar

from ..core.errors import type_error
from ..tensor.hooks import hooks
from ..tensor.tensor import Tensor
from ..tensor.versions import INFERENCE
from ..tensor.versions import is_inference as _is_inference
from .dispatcher import made_in_inference
from .guards import Guard
from .keys import AUTOGRAD_MASK, FUNCTIONALITY_BIT
from .state import STATE

F = TypeVar("F", bound=Callable[..., Any])
VIEWS = FUNCTIONALITY_BIT["ADInplaceOrView"]


class inference_mode(Guard, ContextDecorator):
    """``with inference_mode():``, or a decorator; ``inference_mode(False)`` leaves the mode for a while."""

    saved = ("include", "exclude", "inference")

    def __init__(self, mode: bool | F = True) -> None:
        super().__init__()
        if not isinstance(mode, bool):
            type_error("inference_mode", "mode", mode, "bool")
        self.mode = mode

    def __new__(cls, mode: bool | F = True) -> Any:
        return cls(True)(mode) if callable(mode) else super().__new__(cls)

    def change(self) -> None:
        """Switch the mode on or off."""
        STATE.inference = self.mode
        if self.mode:
            STATE.include &= ~VIEWS
            STATE.exclude |= AUTOGRAD_MASK
        else:
            STATE.include |= VIEWS
            STATE.exclude &= ~AUTOGRAD_MASK

    def _recreate_cm(self) -> inference_mode:
        made: inference_mode = inference_mode(self.mode)
        return made


def is_inference_mode_enabled() -> bool:
    """Return whether this thread is in inference mode."""
    return STATE.inference


def is_inference(input: Tensor) -> bool:
    """Return whether the tensor was made in inference mode. TypeError for anything else."""
    if not isinstance(input, Tensor):
        type_error("is_inference", "input", input, "Tensor")
    return _is_inference(input)


def made(result: Tensor) -> Tensor:
    """Return a tensor that was made without the dispatcher as the mode wants it."""
    return made_in_inference(result, ()) if STATE.inference else result


hooks.dispatched["made"] = made
INFERENCE.enabled = is_inference_mode_enabled

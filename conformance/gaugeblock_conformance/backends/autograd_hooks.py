"""The suite's hooks as functions that a module of torch's style calls."""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Sequence
from typing import Any

from ..backend_autograd import Hook


class Hooks:
    """Makes the functions for one kind of hook each; they write into ``log``."""

    def __init__(self, module: Any, log: list[Any]) -> None:
        self._module = module
        self._log = log
        self._last: Any = None

    def keep(self, handle: Any) -> Any:
        """``handle``, kept as that of the hook registered last."""
        self._last = handle
        return handle

    def on_tensor(self, hook: Hook) -> Callable[[Any], Any]:
        return self._function(hook, lambda gradient: _elements(gradient), lambda gradient: [gradient], single=True)

    def on_leaf(self, hook: Hook) -> Callable[[Any], Any]:
        return self._function(hook, lambda leaf: _elements(leaf.grad), lambda leaf: [leaf.grad], single=True)

    def before_node(self, hook: Hook) -> Callable[[Any], Any]:
        return self._function(hook, _all_elements, list)

    def after_node(self, hook: Hook) -> Callable[[Any, Any], Any]:
        def both(inputs: Any, outputs: Any) -> Any:
            return (_all_elements(inputs), _all_elements(outputs))

        return self._function(hook, both, lambda inputs, outputs: list(inputs))

    def on_tensors(self, hook: Hook) -> Callable[[Any], Any]:
        return self._function(hook, _all_elements, list)

    def _function(
        self, hook: Hook, shown: Callable[..., Any], gradients: Callable[..., list[Any]], single: bool = False
    ) -> Callable[..., Any]:
        """``shown`` is what the action ``value`` writes down, ``gradients`` what may be changed."""
        home = threading.get_ident()

        def run(*given: Any) -> Any:
            if hook.action == "thread":
                self._log.append(f"{hook.label} {'same' if threading.get_ident() == home else 'other'}")
            elif hook.action == "value":
                self._log.append((hook.label, shown(*given)))
            elif hook.label is not None:
                self._log.append(hook.label)
            return self._answer(hook, given, gradients, single)

        return run

    def _answer(
        self, hook: Hook, given: Sequence[Any], gradients: Callable[..., list[Any]], single: bool
    ) -> Any:
        if hook.action == "scale":
            scaled = tuple(None if g is None else g * hook.argument for g in gradients(*given))
            return scaled[0] if single else scaled
        if hook.action == "give":
            gradient = gradients(*given)[0]
            return self._module.tensor(hook.argument, dtype=gradient.dtype, device=gradient.device)
        if hook.action == "write":
            for gradient in gradients(*given):
                if gradient is not None:
                    gradient.mul_(hook.argument)
        elif hook.action == "raise":
            raise getattr(builtins, hook.argument)(f"{hook.argument} of the suite")
        elif hook.action == "clear":
            given[0].grad = None
        elif hook.action == "remove_next":
            self._last.remove()
        return None


def _elements(tensor: Any) -> Any:
    return None if tensor is None else tensor.tolist()


def _all_elements(tensors: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(_elements(tensor) for tensor in tensors)

"""``node._raw_saved_NAME``: a saved tensor before it is unpacked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensor.tensor import Tensor
from .grad_mode import no_grad
from .saved_tensor import FREED, Packed


class RawSaved:
    """One saved tensor of a node. Raises AttributeError for a name under which the node saved no tensor."""

    __slots__ = ("_node", "_slot")

    def __init__(self, node: Any, name: str) -> None:
        if name not in {use.name for use in node.formulas.values} or name in node.formulas.lists:
            raise AttributeError(f"{node.label!r} object has no attribute '_raw_saved_{name}'")
        self._node = node
        self._slot = f"v_{name}"

    def register_hooks(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        """Save the result of ``pack_hook(tensor)`` instead of the tensor; ``unpack_hook`` turns it into a tensor again.

        Raises TypeError unless both are callable, RuntimeError when the node has released the tensor or it already has
        hooks.
        """
        for name, hook in (("pack_hook", pack_hook), ("unpack_hook", unpack_hook)):
            if not callable(hook):
                raise TypeError(f"register_hooks(): argument '{name}' must be callable, not {type(hook).__name__}")
        kept = getattr(self._node, self._slot)
        if self._node.released:
            raise RuntimeError(FREED)
        if kept is None:
            raise RuntimeError("register_hooks(): hooks cannot be registered because the node saved None")
        if isinstance(kept, Packed):
            raise RuntimeError("Setting hooks on a saved tensor that already has hooks is not allowed")
        with no_grad():
            value = pack_hook(kept)
        setattr(self._node, self._slot, Packed(value, unpack_hook, bare=False))

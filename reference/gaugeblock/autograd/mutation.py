"""allow_mutation_on_saved_tensors: nodes save copies, so that the originals may be written to."""

from __future__ import annotations

from typing import Any, ClassVar

from .packing import saved_tensors_hooks

OUTSIDE = "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"


class allow_mutation_on_saved_tensors(saved_tensors_hooks):
    """Let saved tensors be written to within the block: nodes save copies, and the backward pass uses them.

    Raises RuntimeError for a backward pass outside the block, and for nested blocks.
    Source: torch.autograd.graph.allow_mutation_on_saved_tensors, which copies only tensors that are written to.
    """

    _active: ClassVar[list[Any]] = []

    def __init__(self) -> None:
        def unpack(copy: Any) -> Any:
            if self not in self._active:
                raise RuntimeError(OUTSIDE)
            return copy

        def pack(tensor: Any) -> Any:
            return tensor.detach().clone()

        super().__init__(pack, unpack)

    def __enter__(self) -> Any:
        if self._active:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        entered = super().__enter__()
        self._active.append(self)
        return entered

    def __exit__(self, *error: object) -> None:
        self._active.remove(self)
        super().__exit__(*error)

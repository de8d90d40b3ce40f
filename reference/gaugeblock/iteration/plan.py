"""Public introspection: the iterator that a call would build, without memory being touched."""

from __future__ import annotations

from typing import Any

from ..tensor.tensor import Tensor
from .config import DEFAULT, IteratorConfig
from .operand import Number
from .tensor_iterator import TensorIterator


def plan(
    *inputs: Tensor | Number,
    outputs: tuple[Tensor | None, ...] = (None,),
    config: IteratorConfig = DEFAULT,
    **switches: Any,
) -> TensorIterator:
    """The built iterator over `inputs` and `outputs` (None: to be allocated), nothing allocated or resized.

    `switches` are fields of IteratorConfig; TypeError names an unknown one. Raises what the operator would raise.
    """
    return TensorIterator(outputs, inputs, IteratorConfig(**{**config._asdict(), **switches})).build(allocate=False)

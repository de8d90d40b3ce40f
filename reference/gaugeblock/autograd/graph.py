"""``gaugeblock.autograd.graph``: a module of what belongs to graphs, and itself a function that shows one."""

from __future__ import annotations

import sys
from types import ModuleType

from ..tensor.tensor import Tensor
from .graph_picture import GraphPicture, Vertex
from .graph_picture import graph as _picture
from .hooks import get_gradient_edge, register_multi_grad_hook
from .node import GradientEdge, Node
from .saved_tensor import allow_mutation_on_saved_tensors, disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks

__all__ = [
    "GradientEdge", "GraphPicture", "Node", "Vertex", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
    "get_gradient_edge", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
]  # fmt: skip


class _Graph(ModuleType):
    """The module's class: calling it draws the graph of tensors."""

    def __call__(self, *tensors: Tensor) -> GraphPicture:
        """See graph_picture.graph."""
        return _picture(*tensors)


sys.modules[__name__].__class__ = _Graph

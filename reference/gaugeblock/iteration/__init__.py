"""Iteration: how the operands of one call are brought to one shape, one dtype and the fewest loops."""

from .config import BINARY, COMPARISON, COPY, DEFAULT, FLOAT, UNARY, IteratorConfig
from .plan import plan
from .tensor_iterator import TensorIterator

__all__ = ["BINARY", "COMPARISON", "COPY", "DEFAULT", "FLOAT", "UNARY", "IteratorConfig", "TensorIterator", "plan"]

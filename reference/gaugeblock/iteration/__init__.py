"""Iteration: how the operands of one call are brought to one shape, one dtype and the fewest loops."""

from .tensor_iterator import BINARY, COMPARISON, COPY, DEFAULT, FLOAT, UNARY, IteratorConfig, TensorIterator, plan

__all__ = ["BINARY", "COMPARISON", "COPY", "DEFAULT", "FLOAT", "UNARY", "IteratorConfig", "TensorIterator", "plan"]

"""Tensors: the record, the stride laws, views."""

from . import attributes as attributes
from .tensor import Tensor as Tensor

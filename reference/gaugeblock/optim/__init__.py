"""Optimizers under torch.optim's names, written with operators alone."""

from __future__ import annotations

from .adagrad import Adagrad
from .adam import Adam, AdamW
from .optimizer import Optimizer
from .sgd import SGD
from .sparse_adam import SparseAdam

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "SparseAdam"]

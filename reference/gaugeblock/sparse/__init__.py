"""Sparse layouts: their tensors, kernels and functions, loaded when a sparse tensor is first made."""

from . import registration as registration
from .invariants import check_sparse_tensor_invariants as check_sparse_tensor_invariants
from .namespace import addmm as addmm
from .namespace import log_softmax as log_softmax
from .namespace import mm as mm
from .namespace import sampled_addmm as sampled_addmm
from .namespace import softmax as softmax
from .namespace import spdiags as spdiags
from .namespace import sum as sum

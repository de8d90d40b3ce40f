"""Kernels: formulas recorded as expressions, lowered to LLVM IR, compiled lazily and called as builtins."""

# First, so that the state of the sources is that of the modules imported after it.
from . import object_cache as object_cache

"""Kernels: formulas recorded as expressions, lowered to LLVM IR, compiled lazily and called as builtins."""

"""Operators, kernels and derivatives from outside the engine, with torch.library's names.

    lib = Library("mylib", "DEF")
    lib.define("scale(Tensor x, float by=2.0) -> Tensor")
    lib.impl("scale", lambda x, by=2.0: x * by, "CPU")
    gaugeblock.ops.mylib.scale(x)
"""

from __future__ import annotations

from .custom_op import CustomOpDef, custom_op
from .declared import DeclaredOperator, declare, load_operators
from .functions import define, impl, register_autograd, register_fake, register_kernel, register_torch_dispatch
from .infer import infer_schema
from .library import Library, _scoped_library, fallthrough_kernel
from .op_overload import Derivative, MissingDerivative, derivative_of
from .opcheck import OpCheckError, opcheck

__all__ = [
    "CustomOpDef", "DeclaredOperator", "Derivative", "Library", "MissingDerivative", "OpCheckError",
    "_scoped_library", "custom_op", "declare", "define", "derivative_of", "fallthrough_kernel", "impl",
    "infer_schema", "load_operators", "opcheck", "register_autograd", "register_fake", "register_kernel",
    "register_torch_dispatch",
]  # fmt: skip

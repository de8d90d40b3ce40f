"""The kernels of quantized tensors, put under their dispatch keys."""

from __future__ import annotations

from ..dispatch.dispatcher import REGISTRY
from ..operators.host_copies import on_host
from ..tensor.hooks import hooks
from . import operators
from .kernels import DENSE, KERNELS, ON_DEVICES, QUANTIZED, clone, shown, write_back


def register() -> None:
    """Declare the operators of quantized tensors and register all kernels."""
    REGISTRY.define_missing([*DENSE, *QUANTIZED])
    strided = {schema[: schema.index("(")]: function for schema, function in DENSE.items()}
    quantized = {schema[: schema.index("(")]: function for schema, function in QUANTIZED.items()}
    on_quantized = {**quantized, **operators.kernels(), **KERNELS, **ON_DEVICES}
    for kernels, backend in ((strided, ""), (on_quantized, "Quantized")):
        for name, function in kernels.items():
            REGISTRY.put(name, (f"{backend}CPU",), function)
            REGISTRY.put(name, (f"{backend}CUDA",), function if name in ON_DEVICES else on_host(name, write_back))
    hooks.dispatched["quantized clone"] = clone
    hooks.dispatched["quantized shown"] = shown


register()

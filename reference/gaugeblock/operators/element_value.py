"""The value of one element as a Python number, and host copies of tensors that lie elsewhere."""

from __future__ import annotations

from typing import Any

from ..core.device import cpu
from ..dispatch.dispatcher import REGISTRY
from ..tensor.scalars import element_of
from ..tensor.tensor import Tensor
from .conversion import converted

LOCAL_SCALAR = REGISTRY.define("_local_scalar_dense(Tensor self) -> Scalar")


def host(self: Tensor) -> Tensor:
    """The tensor, or its copy, in host memory. NotImplementedError for one without data."""
    return self if self.meta.device is cpu else converted(self, None, cpu)


def element_elsewhere(self: Tensor) -> Any:
    """The only element of a tensor that lies on another device. NotImplementedError for one without data."""
    if self.meta.device.type == "meta":
        raise NotImplementedError("Tensor.item() cannot be called on meta tensors, they have no data")
    return element_of(host(self))


REGISTRY.register("_local_scalar_dense", "CPU", element_of)
REGISTRY.register("_local_scalar_dense", "CompositeExplicitAutograd", element_elsewhere)

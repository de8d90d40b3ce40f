"""The reference with operands that are not built as asked, in ways that the checks of its adapter do not meet."""

from __future__ import annotations

from typing import Any

import numpy as np
from gaugeblock_conformance.backends.reference import ReferenceBackend


class BytesOfLongs(ReferenceBackend):
    """``as_strided`` counts the offset of int64 tensors in bytes."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        if operator == "as_strided" and self.dtype(args[0]) == "int64" and len(args) == 4:
            return super().call(operator, *args[:3], args[3] // 8)
        return super().call(operator, *args, **kwargs)


class ContiguousCubes(ReferenceBackend):
    """``as_strided`` makes three dims contiguous."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        result = super().call(operator, *args, **kwargs)
        return super().call("clone", result).contiguous() if operator == "as_strided" and result.dim() == 3 else result


class LosesTheLast(ReferenceBackend):
    """``from_numpy`` forgets the last of more than 40 elements."""

    def from_numpy(self, array: Any, requires_grad: bool = False) -> Any:
        if array.size > 40 and array.dtype == np.float32:
            array = array.copy()
            array.reshape(-1)[-1] = 7
        return super().from_numpy(array, requires_grad)


class RefusesGaps(ReferenceBackend):
    """``as_strided`` raises for offsets of int64 tensors."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        if operator == "as_strided" and self.dtype(args[0]) == "int64" and len(args) == 4 and args[3]:
            raise ValueError("no offsets")
        return super().call(operator, *args, **kwargs)


class ForgetsToFlip(BytesOfLongs):
    """Is wrong in ``flip`` too."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        if operator == "flip":
            return super().call("clone", args[0])
        return super().call(operator, *args, **kwargs)

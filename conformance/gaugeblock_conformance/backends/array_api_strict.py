"""array-api-strict: the array API standard and nothing beyond it."""

from __future__ import annotations

import importlib

from .array_api import CAPABILITIES, ArrayApiBackend
from .array_api_rules import RULES


class ArrayApiStrictBackend(ArrayApiBackend):
    """The installed array-api-strict.

    Raises:
        ValueError: a device other than ``"cpu"``.
    """

    capabilities = CAPABILITIES | {"dlpack"}
    rules = RULES

    def __init__(self, device: str = "cpu") -> None:
        if device != "cpu":
            raise ValueError(f"array-api-strict: device must be 'cpu', not {device!r}")
        super().__init__(importlib.import_module("array_api_strict"), "array-api-strict")

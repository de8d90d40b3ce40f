"""``gaugeblock.ops.NAMESPACE.NAME.OVERLOAD``: every operator as an object; the engine's own are in ``aten``."""

from __future__ import annotations

from .library.op_overload import OPS, OpNamespace, OpOverload, OpOverloadPacket

__all__ = ["OpNamespace", "OpOverload", "OpOverloadPacket"]


def __getattr__(name: str) -> OpNamespace:
    return getattr(OPS, name)  # type: ignore[no-any-return]

"""Wrapper tensors and foreign objects for a module of torch's style, each writing into a log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any


class Wrappers:
    """Makes wrappers over tensors of ``module`` that write each operator they see into ``log``."""

    def __init__(self, module: Any, log: list[str]) -> None:
        self._module = module
        self._log = log

    @cached_property
    def _type(self) -> Any:
        """A subclass of the module's tensor without data of its own, over a plain tensor ``inner``."""
        log, tensor = self._log, self._module.Tensor

        class Wrapped(tensor):  # type: ignore[misc,valid-type]
            inner: Any

            @staticmethod
            def __new__(cls: Any, inner: Any) -> Any:
                made = tensor._make_wrapper_subclass(
                    cls, inner.size(), strides=inner.stride(), dtype=inner.dtype, device=inner.device
                )
                made.inner = inner
                return made

            @classmethod
            def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                log.append(f"wrapper {func.name().removeprefix('aten::')}")
                return _rewrapped(cls, func(*_bare(args), **_bare(kwargs or {})))

        return Wrapped

    def call(self, action: Callable[..., Any], args: Sequence[Any]) -> tuple[Any, str]:
        """``action`` on wrappers of the tensors in ``args``: the bare result, and whether it came wrapped."""
        tensor = self._module.Tensor
        result = action(*[self._type(a) if isinstance(a, tensor) else a for a in args])
        return _told(result)

    def gradient(self, x: Any, factor: float) -> tuple[Any, str]:
        leaf = self._type(x).requires_grad_()
        (leaf * factor).sum().backward()
        return _told(leaf.grad)

    def ducks(self, action: Callable[..., Any], labels: Sequence[str], args: Sequence[Any]) -> Any:
        """``action`` with foreign objects for None in ``args``; label ``B(A)`` is of a subclass of A's class, ``~A``
        declines every call. They answer with their label and the function's name."""
        classes: dict[str, type] = {}
        for label in labels:
            name, _, base = label.removesuffix(")").partition("(")
            classes[name] = self._duck(name.lstrip("~"), name.startswith("~"), classes[base] if base else object)
        objects = iter([classes[label.partition("(")[0]]() for label in labels])

        def placed(value: Any) -> Any:
            if isinstance(value, list | tuple):
                return type(value)(placed(v) for v in value)
            return next(objects) if value is None else value

        return action(*placed(tuple(args)))

    def _duck(self, label: str, declines: bool, base: type) -> type:
        log = self._log

        def handle(cls: type, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append(label)
            return NotImplemented if declines else f"{label} {func.__name__}"

        return type(label, (base,), {"__torch_function__": classmethod(handle)})


def _bare(value: Any) -> Any:
    """``value`` with each wrapper in it replaced by what it wraps."""
    if isinstance(value, list | tuple):
        return type(value)(_bare(v) for v in value)
    if isinstance(value, dict):
        return {k: _bare(v) for k, v in value.items()}
    return getattr(value, "inner", value)


def _rewrapped(cls: Any, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_rewrapped(cls, v) for v in value)
    return cls(value) if hasattr(value, "stride") else value


def _told(value: Any) -> tuple[Any, str]:
    return _bare(value), "wrapped" if hasattr(value, "inner") else "bare"

"""Module: named parameters, buffers and submodules, and operations on all of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Self

from ..core.device import as_device
from ..core.dtype import DType, bfloat16, float16, float32, float64
from ..operators.conversion import conversion_options
from ..operators.invoke import apply
from ..tensor.attributes import can_replace
from ..tensor.tensor import Tensor
from .parameter import Parameter


class IncompatibleKeys(NamedTuple):
    """Names that are missing from a state dict, and names in it that the module does not have."""

    missing_keys: list[str]
    unexpected_keys: list[str]


def _replaced(parameter: Any, fn: Callable[[Any], Any]) -> Any:
    """Return a parameter with what a function makes of its data and of its gradient: the same object where its data may
    be replaced, else a new one."""
    made, grad = fn(parameter.data), parameter.grad
    changed = None if grad is None else fn(grad.detach()).requires_grad_(grad.requires_grad)
    if can_replace(parameter, made):
        parameter.grad = None
        parameter.data = made
    else:
        parameter = Parameter(made, parameter.requires_grad)
    parameter.grad = changed
    return parameter


class Module:
    """Base class of modules; subclasses define ``forward``.

    Assigning a Parameter or a module to an attribute registers it under the attribute's name. ``named_parameters()``,
    ``state_dict()`` and the like list the parameters of submodules under dotted names. Module hooks are not supported.
    Source: torch.nn.Module.
    """

    training: bool

    def __init__(self) -> None:
        members: dict[str, Any] = {"training": True, "_parameters": {}, "_buffers": {}, "_modules": {}}
        members["_non_persistent_buffers_set"] = set()
        self.__dict__.update(members)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the module's result. Raises NotImplementedError: subclasses define it."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def _tables(self) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        own = self.__dict__
        if "_parameters" not in own:
            raise AttributeError("cannot assign parameters, buffers or modules before Module.__init__() call")
        return own["_parameters"], own["_buffers"], own["_modules"]

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter):
            self._forget(name)
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._forget(name)
            self._tables()[2][name] = value
        elif "_parameters" in self.__dict__ and any(name in table for table in self._tables()):
            parameters, buffers, modules = self._tables()
            if name in buffers and (value is None or isinstance(value, Tensor)):
                buffers[name] = value
            elif value is None:
                (parameters if name in parameters else modules)[name] = None
            else:
                what = "parameter" if name in parameters else "buffer" if name in buffers else "child module"
                raise TypeError(f"cannot assign {type(value).__name__} as {what} {name!r}")
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        for table in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(table, {})
            if name in found:
                return found[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __delattr__(self, name: str) -> None:
        if not self._forget(name):
            object.__delattr__(self, name)

    def _forget(self, name: str) -> bool:
        found = [table for table in (*self._tables(), self.__dict__) if name in table]
        for table in found:
            del table[name]
        self._non_persistent_buffers_set.discard(name)
        return bool(found)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for table in self._tables() for name in table)})

    def _check_name(self, kind: str, name: str, table: dict[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
        if not name or "." in name:
            raise KeyError(f'{kind} name can\'t be empty or contain ".", got {name!r}')
        if hasattr(self, name) and name not in table:
            raise KeyError(f"attribute {name!r} already exists")

    def register_parameter(self, name: str, param: Any) -> None:
        """Register a Parameter or None. Raise TypeError for another object, KeyError for a name in use."""
        parameters = self._tables()[0]
        self._check_name("parameter", name, parameters)
        if param is not None and not isinstance(param, Parameter):
            given = type(param).__name__
            raise TypeError(f"cannot assign {given!r} object to parameter {name!r} (nn.Parameter or None)")
        parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Register a buffer, a tensor or None, saved by state_dict() if it is `persistent`. Raises TypeError for
        another object, KeyError for a name in use."""
        buffers = self._tables()[1]
        self._check_name("buffer", name, buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign {type(tensor).__name__!r} object to buffer {name!r} (Tensor or None)")
        buffers[name] = tensor
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Register a submodule or None. Raise TypeError for another object, KeyError for a name in use."""
        modules = self._tables()[2]
        self._check_name("module", name, modules)
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        modules[name] = module

    register_module = add_module

    def named_modules(self, memo: set[Module] | None = None, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """Yield the module and all its submodules with their names, each once."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name)

    def modules(self) -> Iterator[Module]:
        """Yield the module and all its submodules, each once."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield the direct submodules with their names."""
        seen = {module: name for name, module in reversed(self._modules.items()) if module is not None}
        return ((name, module) for name, module in self._modules.items() if seen.get(module) == name)

    def children(self) -> Iterator[Module]:
        """Yield the direct submodules."""
        return (module for _, module in self.named_children())

    def _named(self, table: str, prefix: str, recurse: bool, once: bool) -> Iterator[tuple[str, Tensor]]:
        seen: set[int] = set()
        for place, module in self.named_modules(prefix=prefix) if recurse else [(prefix, self)]:
            for name, tensor in module.__dict__[table].items():
                if tensor is not None and not (once and id(tensor) in seen):
                    seen.add(id(tensor))
                    yield f"{place}.{name}" if place else name, tensor

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield the parameters with their names, each once unless `remove_duplicate` is false."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield the parameters, each once."""
        return (tensor for _, tensor in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield the buffers with their names, each once unless `remove_duplicate` is false."""
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield the buffers, each once."""
        return (tensor for _, tensor in self.named_buffers(recurse=recurse))

    def state_dict(self, *, prefix: str = "", keep_vars: bool = False) -> OrderedDict[str, Any]:
        """Return parameters and persistent buffers by name, detached unless `keep_vars` is true."""
        found: OrderedDict[str, Any] = OrderedDict()
        own = {name: one for name, one in self._buffers.items() if name not in self._non_persistent_buffers_set}
        for name, tensor in {**self._parameters, **own}.items():
            if tensor is not None:
                found[prefix + name] = tensor if keep_vars else tensor.detach()
        for name, module in self._modules.items():
            if module is not None:
                found.update(module.state_dict(prefix=f"{prefix}{name}.", keep_vars=keep_vars))
        return found

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> IncompatibleKeys:
        """Copy a state dict into parameters and buffers; return the missing and unexpected names.

        Raises TypeError unless it is a mapping, RuntimeError for sizes that differ and, with `strict`, for missing or
        unexpected names.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict).__name__}.")
        own = self.state_dict(keep_vars=True)
        missing = [name for name in own if name not in state_dict]
        unexpected = [name for name in state_dict if name not in own]
        wrong = [
            f"size mismatch for {name}: copying a param with shape {tuple(state_dict[name].shape)} from checkpoint, "
            f"the shape in current model is {tuple(tensor.shape)}."
            for name, tensor in own.items()
            if name in state_dict and state_dict[name].shape != tensor.shape
        ]
        if strict and missing:
            wrong.append(f"Missing key(s) in state_dict: {', '.join(map(repr, missing))}.")
        if strict and unexpected:
            wrong.append(f"Unexpected key(s) in state_dict: {', '.join(map(repr, unexpected))}.")
        if wrong:
            listed = "\n\t".join(wrong)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}")
        for name, tensor in own.items():
            if name in state_dict:
                tensor.data.copy_(state_dict[name])
        return IncompatibleKeys(missing, unexpected)

    def train(self, mode: bool = True) -> Self:
        """Set `training` of the module and all submodules, and return self. Raise ValueError for another type."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        """Set evaluation mode: ``train(False)``."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set requires_grad of all parameters, and return self."""
        for tensor in self.parameters():
            tensor.requires_grad_(requires_grad)  # type: ignore[attr-defined]
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None, or to zeros if `set_to_none` is false."""
        for tensor in self.parameters():
            if set_to_none:
                tensor.grad = None  # type: ignore[attr-defined]
            elif tensor.grad is not None:  # type: ignore[attr-defined]
                tensor.grad = tensor.grad.detach().zero_()  # type: ignore[attr-defined]

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call `fn` with every submodule, then with this module, and return self."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Self:
        """Replace parameters, their gradients and buffers by what a function makes of them. A parameter stays the same
        object unless its data may not be replaced, as by meta tensors."""
        for module in self.children() if recurse else ():
            module._apply(fn)
        for table, change in ((self._parameters, _replaced), (self._buffers, lambda tensor, fn: fn(tensor))):
            table.update({name: change(tensor, fn) for name, tensor in table.items() if tensor is not None})
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert parameters and buffers as Tensor.to does: ``to(device)``, ``to(dtype)``, ``to(device, dtype)`` or
        ``to(other)``. A dtype converts floating point and complex tensors alone, a memory_format those of four or five
        dims. Raises TypeError for a dtype that is neither floating point nor complex."""
        dtype, device, non_blocking, _, memory_format = conversion_options.__wrapped__(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        def convert(tensor: Any) -> Any:
            real = tensor.is_floating_point() or tensor.is_complex()
            layout = {"memory_format": memory_format} if memory_format is not None and tensor.dim() in (4, 5) else {}
            place = tensor.device if device is None else device
            return tensor.to(place, dtype if real else None, non_blocking=non_blocking, **layout)

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move parameters and buffers to a device without their elements, and return self: out of the meta device."""
        place = as_device(device)
        return self._apply(lambda tensor: apply("empty_like", tensor, device=place), recurse)

    def cpu(self) -> Self:
        """Move parameters and buffers to the CPU, and return self."""
        return self.to("cpu")

    def cuda(self, device: Any = None) -> Self:
        """Move parameters and buffers to a CUDA device, the current one unless one is given, and return self."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def type(self, dst_type: Any) -> Self:
        """Convert parameters and buffers to a dtype, and return self."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self) -> Self:
        """Convert floating point parameters and buffers to float32, and return self."""
        return self._to_floating(float32)

    def double(self) -> Self:
        """Convert floating point parameters and buffers to float64, and return self."""
        return self._to_floating(float64)

    def half(self) -> Self:
        """Convert floating point parameters and buffers to float16, and return self."""
        return self._to_floating(float16)

    def bfloat16(self) -> Self:
        """Convert floating point parameters and buffers to bfloat16, and return self."""
        return self._to_floating(bfloat16)

    def _to_floating(self, dtype: DType) -> Self:
        return self._apply(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor)

    def get_submodule(self, target: str) -> Module:
        """Return the submodule of a dotted name, self for the empty one. Raises AttributeError for none of that
        name."""
        found: Any = self
        for name in target.split(".") if target else ():
            if not isinstance(getattr(found, name, None), Module):
                raise AttributeError(f"{type(found).__name__} has no submodule {name!r}, asked for as {target!r}")
            found = getattr(found, name)
        return found  # type: ignore[no-any-return]

    def get_parameter(self, target: str) -> Tensor:
        """Return the parameter of a dotted name. Raises AttributeError for none of that name."""
        return self._member(target, "parameter")

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer of a dotted name. Raises AttributeError for none of that name."""
        return self._member(target, "buffer")

    def _member(self, target: str, kind: str) -> Tensor:
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        found = owner.__dict__[f"_{kind}s"].get(name)
        if found is None:
            raise AttributeError(f"{type(owner).__name__} has no {kind} {name!r}, asked for as {target!r}")
        return found  # type: ignore[no-any-return]

    def share_memory(self) -> Self:
        """Move parameters, their gradients and buffers to memory that other processes can map, and return self."""
        for tensor in (*self.parameters(), *self.buffers()):
            tensor.share_memory_()  # type: ignore[attr-defined]
            if tensor.grad is not None:  # type: ignore[attr-defined]
                tensor.grad.share_memory_()  # type: ignore[attr-defined]
        return self

    def extra_repr(self) -> str:
        """Return the text that the repr shows for this module."""
        return ""

    def __repr__(self) -> str:
        inner = [f"({name}): {module!r}".replace("\n", "\n  ") for name, module in self._modules.items()]
        lines = [*self.extra_repr().splitlines(), *inner]
        if not inner and len(lines) <= 1:
            return f"{type(self).__name__}({''.join(lines)})"
        return f"{type(self).__name__}(\n  " + "\n  ".join(lines) + "\n)"

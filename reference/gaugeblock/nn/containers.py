"""Modules that hold other modules: Sequential, ModuleList and ModuleDict; Identity and Flatten between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import index as as_index
from operator import itemgetter
from typing import Any, Self, overload

from ..core.errors import type_error
from ..tensor.tensor import Tensor
from .module import Module


class Listed(Module):
    """Base class of modules that hold others in order, as "0", "1" and so on unless they are given names."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        modules: dict[str, Module] = self._modules
        return iter(modules.values())

    @overload
    def __getitem__(self, index: int) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Module | Self:
        modules: list[Module] = [*self]
        if isinstance(index, slice):
            return self._like(modules[index])  # type: ignore[no-any-return]
        return modules[self._place(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, str(self._place(index)), module)

    def __delitem__(self, index: int | slice) -> None:
        left = [*self]
        del left[index]
        self._modules.clear()
        self.extend(left)

    def __contains__(self, module: object) -> bool:
        return any(one is module for one in self)

    def _like(self, modules: list[Module]) -> Any:
        return type(self)(modules)  # type: ignore[call-arg]

    def _place(self, index: Any) -> int:
        place = as_index(index)
        if not -len(self) <= place < len(self):
            raise IndexError(f"index {place} is out of range")
        return place % len(self)

    def append(self, module: Module) -> Self:
        """Add a module at the end, and return self. TypeError for another object."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end, and return self. TypeError for other objects."""
        if not isinstance(modules, Iterable):
            type_error(f"{type(self).__name__}.extend", "modules", modules, "iterable of modules")
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Insert a module before the one at `index`."""
        modules = [*self]
        modules.insert(index, module)
        self._modules.clear()
        self.extend(modules)

    def pop(self, index: int = -1) -> Module:
        """Remove a module, and return it. IndexError if there is none at `index`."""
        found: Module = self[self._place(index)]
        del self[self._place(index)]
        return found


class ModuleList(Listed):
    """A list of modules. Source: torch.nn.ModuleList."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        self.extend(modules)

    def __repr__(self) -> str:
        lines = []
        for text, same in groupby(enumerate(map(repr, self)), key=itemgetter(1)):
            places = [place for place, _ in same]
            first, last = places[0], places[-1]
            head = f"({first})" if first == last else f"({first}-{last})"
            many = "" if first == last else f"{len(places)} x "
            lines.append(f"  {head}: {many}{text}".replace("\n", "\n  "))
        return f"{type(self).__name__}({''.join(chr(10) + line for line in lines)}{chr(10) if lines else ''})"


class Sequential(Listed):
    """Modules that run one after the other, each on what the one before it returned.

    They are given one by one, or by name in a mapping. Source: torch.nn.Sequential.
    """

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            self.extend(modules)

    def _like(self, modules: list[Module]) -> Self:
        names = {id(module): name for name, module in self._modules.items()}
        return type(self)({names[id(module)]: module for module in modules})

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, [*self._modules][self._place(index)], module)

    def __delitem__(self, index: int | slice) -> None:
        names = [*self._modules][index]
        for name in names if isinstance(index, slice) else [names]:
            delattr(self, str(name))
        if all(name.isdecimal() for name in self._modules):
            left = [*self]
            self._modules.clear()
            self.extend(left)

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            return NotImplemented
        return Sequential(*self, *other)

    def forward(self, input: Any) -> Any:
        """Return what the last module returns."""
        for module in self:
            input = module(input)
        return input


class ModuleDict(Module):
    """Modules by name. Source: torch.nn.ModuleDict."""

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] = ()) -> None:
        super().__init__()
        self.update(modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def __getitem__(self, name: str) -> Module:
        found: Module = self._modules[name]
        return found

    def __setitem__(self, name: str, module: Module) -> None:
        self.add_module(name, module)

    def __delitem__(self, name: str) -> None:
        del self._modules[name]

    def keys(self) -> Iterable[str]:
        """Return the names."""
        return self._modules.keys()  # type: ignore[no-any-return]

    def values(self) -> Iterable[Module]:
        """Return the modules."""
        return self._modules.values()  # type: ignore[no-any-return]

    def items(self) -> Iterable[tuple[str, Module]]:
        """Return names and modules."""
        return self._modules.items()  # type: ignore[no-any-return]

    def pop(self, name: str) -> Module:
        """Remove a module, and return it. KeyError if there is none of that name."""
        return self._modules.pop(name)  # type: ignore[no-any-return]

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add modules by name, from a mapping or from pairs. TypeError for other objects."""
        if not isinstance(modules, (Iterable, ModuleDict)):
            type_error("ModuleDict.update", "modules", modules, "mapping or iterable of pairs")
        pairs = modules.items() if isinstance(modules, (Mapping, ModuleDict)) else modules
        for name, module in pairs:
            self[name] = module


class Identity(Module):
    """Returns its input; arguments of the constructor are ignored. Source: torch.nn.Identity."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """Return the input."""
        return input


class Flatten(Module):
    """Merges the dims from `start_dim` to `end_dim` into one. Source: torch.nn.Flatten."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Any) -> Any:
        """Return the input with these dims merged."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """Return the dims as text."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"

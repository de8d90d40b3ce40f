"""Run a program that was written for PyTorch with gaugeblock in PyTorch's place.

    python -m gaugeblock.as_torch SCRIPT [ARGUMENT ...]
    python -m gaugeblock.as_torch -m MODULE [ARGUMENT ...]

runs a script or a module, for instance ``-m pytest test_mine.py``. There ``import torch`` gives gaugeblock, and
``torch.nn.functional`` is ``gaugeblock.nn.functional``, whether PyTorch is installed or not. The program needs no
change. A name that gaugeblock does not have raises an error that says so.

Only this process is affected: a process that the program spawns imports the real torch.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import runpy
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import gaugeblock

TORCH_VERSION = "2.13.0"
"""The version of PyTorch whose documented behaviour gaugeblock follows."""

_USAGE = "usage: python -m gaugeblock.as_torch (SCRIPT | -m MODULE) [ARGUMENT ...]"


class TorchModule(ModuleType):
    """The module ``torch``: gaugeblock's names, and the version of PyTorch that they follow."""

    def __init__(self) -> None:
        super().__init__("torch", gaugeblock.__doc__)
        self.__path__: list[str] = []
        self.__version__ = f"{TORCH_VERSION}+gaugeblock.{gaugeblock.__version__}"

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(gaugeblock, name)
        except AttributeError as error:
            raise AttributeError(f"torch is gaugeblock here: {error}", name=name, obj=self) from None

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(gaugeblock)})


class _AliasLoader(Loader):
    """Loads ``torch.X`` as the module ``gaugeblock.X``, one object under two names."""

    def __init__(self, target: str) -> None:
        self.target = target

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.target)
        self._own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just put the alias's spec here; relative imports inside the module need its own.
        module.__spec__ = self._own_spec


class _TorchFinder(MetaPathFinder):
    """Finds the submodules of ``torch`` among gaugeblock's."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith("torch."):
            return None
        name = "gaugeblock" + fullname.removeprefix("torch")
        own = importlib.util.find_spec(name)
        if own is None:
            raise ModuleNotFoundError(f"torch is gaugeblock here: there is no module {name!r}", name=fullname)
        return ModuleSpec(fullname, _AliasLoader(name), is_package=own.submodule_search_locations is not None)


def install() -> ModuleType:
    """Make ``import torch`` give gaugeblock from now on in this process, and return that module.

    A second call changes nothing. Raises RuntimeError if the real torch has been imported already, since objects of
    both would meet.
    """
    present = sys.modules.get("torch")
    if isinstance(present, TorchModule):
        return present
    if present is not None:
        raise RuntimeError(f"install(): torch has been imported already, from {getattr(present, '__file__', None)}")
    module = TorchModule()
    sys.modules["torch"] = module
    sys.meta_path.insert(0, _TorchFinder())
    return module


def main(arguments: Sequence[str]) -> None:
    """Run the script or module that ``arguments`` name, with ``sys.argv`` as it would be without gaugeblock. Raises
    SystemExit with status 2 for a wrong command line."""
    as_module = bool(arguments) and arguments[0] == "-m"
    program = list(arguments[1:] if as_module else arguments)
    if not program or program[0].startswith("-"):
        print(_USAGE, file=sys.stderr)
        raise SystemExit(2)
    if not as_module and not os.path.exists(program[0]):
        print(f"as_torch: there is no file {program[0]!r}\n{_USAGE}", file=sys.stderr)
        raise SystemExit(2)
    install()
    sys.argv[:] = program
    if as_module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(program[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(program[0]))
        runpy.run_path(program[0], run_name="__main__")


if __name__ == "__main__":
    # The program may import this module by its name; both must see one TorchModule.
    importlib.import_module("gaugeblock.as_torch").main(sys.argv[1:])

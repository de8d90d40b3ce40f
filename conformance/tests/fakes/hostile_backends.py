"""Backends that attack the process they run in, when loaded or on operator ``bitwise_not``."""

from __future__ import annotations

import ctypes
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from fake_backends import Breaks, Healthy
from gaugeblock_conformance.backend import MissingCapability, Unsupported

DESCRIPTORS = range(3, 64)


def write_everywhere(data: bytes) -> None:
    """Write ``data`` to every writable descriptor."""
    for descriptor in DESCRIPTORS:
        try:
            os.write(descriptor, data)
        except OSError:
            continue


class ReturnsTwice(Breaks):
    def how(self) -> None:
        os.fork()


class ReturnsTwiceUnseen(Breaks):
    """Forks through the C library, unnoticed by Python."""

    def how(self) -> None:
        ctypes.CDLL(None).fork()


class WritesGarbage(Breaks):
    def how(self) -> None:
        write_everywhere(b"\x00\xff garbage" * 10)


class ForgesProblem(Breaks):
    def how(self) -> None:
        write_everywhere(json.dumps({"problem": "all is lost, says the backend", "status": 3}).encode() + b"\n")


class ForgesFrame(Breaks):
    def how(self) -> None:
        write_everywhere(b"gbm1" + (2).to_bytes(4, "big") + b"\0" * 16 + b"{}")


class ClosesAll(Breaks):
    def how(self) -> None:
        os.closerange(3, 1000)


class RemovesTemporaryFolder(Breaks):
    def how(self) -> None:
        for folder in glob.glob(os.path.join(tempfile.gettempdir(), "gaugeblock-*")):
            shutil.rmtree(folder, ignore_errors=True)


class KillsItsParent(Breaks):
    def how(self) -> None:
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(30)


class LeavesProcesses(Breaks):
    """Starts a daemon and a program with an empty environment, each in its own session."""

    def how(self) -> None:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                self.note()
                os.execv(sys.executable, [sys.executable, "-S", "-c", "import time; time.sleep(600)"])
            os._exit(0)
        sleep = "import time; time.sleep(600)"
        child = subprocess.Popen([sys.executable, "-I", "-S", "-c", sleep], start_new_session=True, env={})
        self.note(child.pid)

    def note(self, pid: int | None = None) -> None:
        with Path(os.environ["GAUGEBLOCK_TEST_PIDS"]).open("a") as file:
            file.write(f"{pid or os.getpid()}\n")


class RemovesCurrentFolder(Breaks):
    def how(self) -> None:
        if Path("victim").exists():
            shutil.rmtree(os.getcwd())


class LoadsOnce(Breaks):
    """Aborts, and loads only in the first process."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        flag = Path(os.environ["GAUGEBLOCK_TEST_FLAG"])
        if flag.exists():
            raise RuntimeError("no second time")
        flag.touch()

    def how(self) -> None:
        os.abort()


class LongName(Healthy):
    name = "x" * 4_000_000


class NameOfEscapes(Healthy):
    name = "\x1b[31mred"


class NameOfAnotherFolder(Healthy):
    name = "../../../etc/passwd"


class Screams(Breaks):
    """Raises an error with eight million characters of terminal escapes."""

    def how(self) -> None:
        raise ValueError("\x1b[31m" * 1_600_000)


class RaisesUnprintable(Breaks):
    """Raises an exception whose ``__str__`` raises."""

    def how(self) -> None:
        class Mute(Exception):
            def __str__(self) -> str:
                raise RuntimeError("no text")

        raise Mute


class LeavesByBaseException(Breaks):
    def how(self) -> None:
        class Away(BaseException):
            pass

        raise Away("away")



class OffersNothing(Healthy):
    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        raise Unsupported(operator)


class HidesBehindCapability(Healthy):
    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        raise MissingCapability("core")


class HidesBehindNothing(Healthy):
    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        raise MissingCapability("patience")


class Agreeable(np.ndarray):
    """An array that is equal to everything and has no bytes."""

    def __eq__(self, other: object) -> Any:
        return np.ones(self.shape, bool)

    def __ne__(self, other: object) -> Any:
        return np.zeros(self.shape, bool)

    def tobytes(self, order: Any = "C") -> bytes:
        return b""


class Stretched(np.ndarray):
    """A tensor that ``to_numpy`` converts to one element."""


class AgreeableText(str):
    """A string that is equal to everything."""

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = str.__hash__


class Flatters(Healthy):
    """Does not negate, and returns arrays that are equal to everything."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        return args[0].copy() if operator == "neg" else super().call(operator, *args, **kwargs)

    def to_numpy(self, tensor: Any) -> Any:
        return np.array(tensor).view(Agreeable)


class FlattersByDtype(Healthy):
    """Negates to another dtype, whose name is equal to everything."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        result = super().call(operator, *args, **kwargs)
        return result.astype("int64") if operator == "neg" else result

    def dtype(self, tensor: Any) -> str:
        return AgreeableText(super().dtype(tensor))


class FlattersByShape(Healthy):
    """Returns one element for a whole tensor, which would compare by broadcasting."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        result = super().call(operator, *args, **kwargs)
        return np.ones_like(result).view(Stretched) if operator == "neg" else result

    def to_numpy(self, tensor: Any) -> Any:
        return np.ones(1, tensor.dtype) if isinstance(tensor, Stretched) else np.array(tensor)


class Listed(np.ndarray):
    """A tensor that ``to_numpy`` converts to a list."""


class GivesList(Healthy):
    """Returns lists for results of operators."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        result = super().call(operator, *args, **kwargs)
        return result.view(Listed) if operator == "neg" else result

    def to_numpy(self, tensor: Any) -> Any:
        return tensor.tolist() if isinstance(tensor, Listed) else np.array(tensor)

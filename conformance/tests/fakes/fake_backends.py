"""Backends that break in every way a process can break."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from abc import ABC, abstractmethod
from typing import Any

from gaugeblock_conformance.commands.backend_template import TemplateBackend


class Healthy(TemplateBackend):
    name = "healthy"
    version = "1.2.3+local"


class Misspelt(Healthy):
    capabilities = Healthy.capabilities | {"storages"}


class Claims(Healthy):
    """Counts versions, it says, and cannot be asked."""

    capabilities = Healthy.capabilities | {"version"}


class Wrong(Healthy):
    """Forgets to negate from the second element on."""

    name = "wrong"

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        result = super().call(operator, *args, **kwargs)
        if operator == "neg" and result.size > 1:
            result[1:] = args[0][1:]
        return result


class WrongTwice(Wrong):
    """Forgets to invert too."""

    name = "wrong-twice"

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        result = super().call(operator, *args, **kwargs)
        if operator == "bitwise_not" and result.size > 1:
            result[1:] = args[0][1:]
        return result


class Breaks(Healthy, ABC):
    """On operator ``bitwise_not`` does what ``how`` does."""

    @abstractmethod
    def how(self) -> None: ...

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        if operator == "bitwise_not":
            print("about to break", flush=True)
            self.how()
        return super().call(operator, *args, **kwargs)


class Segfaults(Breaks):
    def how(self) -> None:
        ctypes.string_at(0)


class SegfaultsAfterNeg(Segfaults):
    """Only in a process in which ``neg`` has been called."""

    called = False

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        self.called = self.called or operator == "neg"
        return super().call(operator, *args, **kwargs)

    def how(self) -> None:
        if self.called:
            super().how()


class SegfaultsAndCounts(Segfaults):
    """Writes each operator into the file that COUNTED names."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        with open(os.environ["COUNTED"], "a") as file:
            print(operator, file=file)
        return super().call(operator, *args, **kwargs)


class Aborts(Breaks):
    def how(self) -> None:
        os.abort()


class Leaves(Breaks):
    def how(self) -> None:
        os._exit(0)


class Exits(Breaks):
    def how(self) -> None:
        sys.exit(3)


class Hangs(Breaks):
    def how(self) -> None:
        ctypes.PyDLL(None).sleep(600)


class Slow(Healthy):
    """Takes its time for two operators."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        if operator in ("bitwise_not", "clone"):
            time.sleep(1.5)
        return super().call(operator, *args, **kwargs)


class Explodes(Breaks):
    def how(self) -> None:
        hoard = []
        while True:
            hoard.append(b"\1" * (16 << 20))
            time.sleep(0.002)


class OutOfMemory(Breaks):
    def how(self) -> None:
        bytearray(1 << 62)


class CrashesOnce(Breaks):
    """Crashes in the first process that sees the flag file missing."""

    def how(self) -> None:
        flag = os.environ["GAUGEBLOCK_TEST_FLAG"]
        if not os.path.exists(flag):
            with open(flag, "w"):
                os.abort()


class Fallback(Healthy):
    """Says how it runs its operators."""

    def support(self, operator: str) -> str:
        return "fallback" if operator == "clone" else "native"


class PartlyWrong(Healthy):
    """Negates int8 wrongly, ends the process on ``abs``, refuses ``sin``, and takes ``maximum`` from elsewhere."""

    def support(self, operator: str) -> str:
        return "fallback" if operator == "maximum" else "native"

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        if operator == "abs":
            os.abort()
        if operator == "sin":
            raise RuntimeError("no sin here")
        if operator == "neg" and args[0].dtype == "int8":
            return args[0].copy()
        return super().call(operator, *args, **kwargs)


class Chatty(Healthy):
    """Prints and reads where the protocol's pipes are."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        print('{"row": {"id": "forged"}}')
        os.write(1, b"noise on fd 1\n")
        assert sys.stdin.read() == ""
        return super().call(operator, *args, **kwargs)


class RaisesAtLoad(Healthy):
    def __init__(self, device: str = "cpu") -> None:
        raise RuntimeError("the driver\nis missing")


class DiesAtLoad(Healthy):
    def __init__(self, device: str = "cpu") -> None:
        os.abort()


class Incomplete:
    name = "incomplete"

"""Backends that end the process while tensors are built, read and freed, or long after the call that is to blame."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from fake_backends import Healthy


class InBuilding(Healthy):
    """Dies of arrays with a -3, unless they are of 32 elements or more, as those of the adapter's check are."""

    def from_numpy(self, array: Any, requires_grad: bool = False) -> Any:
        if 0 < array.size < 32 and np.any(array == -3):
            os.abort()
        return super().from_numpy(array)


class InReading(Healthy):
    """Dies when the result of ``bitwise_not`` is read."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        result = super().call(operator, *args, **kwargs)
        return result.view(_Unreadable) if operator == "bitwise_not" else result

    def to_numpy(self, tensor: Any) -> Any:
        if isinstance(tensor, _Unreadable):
            os.abort()
        return super().to_numpy(tensor)


class _Unreadable(np.ndarray):
    pass


class InFreeing(Healthy):
    """Dies when the result of ``bitwise_not`` is freed."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        result = super().call(operator, *args, **kwargs)
        return result.view(_Fatal) if operator == "bitwise_not" else result


class _Fatal(np.ndarray):
    def __del__(self) -> None:
        os.abort()


class Later(Healthy):
    """``logical_not`` of anything makes the next ``clone`` die, of whatever it is."""

    spoilt = False

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        if operator == "logical_not":
            type(self).spoilt = True
        elif operator == "clone" and type(self).spoilt:
            os.abort()
        return super().call(operator, *args, **kwargs)


class LosesItsDevice(Healthy):
    """``bitwise_not`` raises, and so does whatever else is asked of the process from then on."""

    lost = False

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        self._look(operator)
        return super().call(operator, *args, **kwargs)

    def from_numpy(self, array: Any, requires_grad: bool = False) -> Any:
        self._look("from_numpy")
        return super().from_numpy(array)

    def _look(self, operator: str) -> None:
        if operator == "bitwise_not":
            type(self).lost = True
        if type(self).lost:
            raise RuntimeError("the device is lost")


class LosesItsDeviceLater(LosesItsDevice):
    """``bitwise_not`` is queued, and raises when its result is waited for or read."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        if operator == "bitwise_not" and not type(self).lost:
            type(self).lost = True
            return Healthy.call(self, operator, *args, **kwargs)
        return super().call(operator, *args, **kwargs)

    def to_numpy(self, tensor: Any) -> Any:
        self._look("to_numpy")
        return super().to_numpy(tensor)

    def finish(self, result: Any) -> None:
        self._look("finish")


class LosesItsDeviceInSilence(LosesItsDevice):
    """All that follows ``bitwise_not`` raises, and not its own result."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        result = super().call("neg" if operator == "bitwise_not" else operator, *args, **kwargs)
        type(self).lost = operator == "bitwise_not"
        return result


class Defers(Healthy):
    """``bitwise_not`` is queued and cannot be done: the next use of the backend raises its error, once."""

    waiting = False

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        self._catch_up()
        type(self).waiting = operator == "bitwise_not"
        return super().call(operator, *args, **kwargs)

    def shape(self, tensor: Any) -> Any:
        self._catch_up()
        return super().shape(tensor)

    def to_numpy(self, tensor: Any) -> Any:
        self._catch_up()
        return super().to_numpy(tensor)

    def from_numpy(self, array: Any, requires_grad: bool = False) -> Any:
        self._catch_up()
        return super().from_numpy(array)

    def _catch_up(self) -> None:
        waiting, type(self).waiting = type(self).waiting, False
        if waiting:
            raise RuntimeError("there is no kernel")


class DefersAndFinishes(Defers):
    """The same, and it can be waited for."""

    def finish(self, result: Any) -> None:
        self._catch_up()


class GivesNumbers(Healthy):
    """``bitwise_not`` gives Python's numbers."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        result = super().call(operator, *args, **kwargs)
        return result.tolist() if operator == "bitwise_not" else result

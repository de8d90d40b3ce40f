"""Messages from a worker to the run: framed, numbered and authenticated with a key that only those two share.

The code of a backend runs in the worker's process and could write to any of its descriptors. Anything but the worker's
next message raises :class:`Garbled`.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from typing import Any

# Bound at import, so that a backend that replaces these functions later has no effect here.
_write, _dumps, _digest, _set_blocking = os.write, json.dumps, hashlib.blake2b, os.set_blocking

MAGIC = b"gbm1"
_HEAD = struct.Struct(">4sI16s")
LONGEST = 64 << 20
KEY_BYTES = 32


class Garbled(Exception):
    """Raised when the data is not a message of the worker; ``before`` has the complete messages that preceded it."""

    def __init__(self, text: str, before: list[dict[str, Any]]) -> None:
        super().__init__(text)
        self.before = before


class Sender:
    """Writes messages to ``descriptor``."""

    def __init__(self, descriptor: int, key: bytes) -> None:
        self._descriptor = descriptor
        self._key = key
        self._number = 0

    def send(self, message: dict[str, Any]) -> None:
        """Write one message. Raises OSError if the descriptor is no longer the worker's."""
        payload = _dumps(message).encode()
        head = _HEAD.pack(MAGIC, len(payload), _tag(self._key, self._number, payload))
        self._number += 1
        rest = memoryview(head + payload)
        _set_blocking(self._descriptor, True)  # a backend may have set it otherwise
        while rest:
            rest = rest[_write(self._descriptor, rest) :]


class Receiver:
    """Reassembles messages from the data that arrives."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._number = 0
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """Return the messages that ``data`` completes.

        Raises:
            Garbled: the data is not the worker's next message.
        """
        self._rest += data
        found: list[dict[str, Any]] = []
        while len(self._rest) >= _HEAD.size:
            magic, length, tag = _HEAD.unpack_from(self._rest)
            if magic != MAGIC or length > LONGEST:
                raise Garbled("the backend wrote to a descriptor of the suite", found)
            end = _HEAD.size + length
            if len(self._rest) < end:
                break
            payload = bytes(self._rest[_HEAD.size : end])
            if tag != _tag(self._key, self._number, payload):
                raise Garbled("the backend wrote a message in the suite's name", found)
            del self._rest[:end]
            self._number += 1
            found.append(json.loads(payload))
        if self._rest and not MAGIC.startswith(self._rest[: len(MAGIC)]):
            raise Garbled("the backend wrote to a descriptor of the suite", found)
        return found


def _tag(key: bytes, number: int, payload: bytes) -> bytes:
    digest = _digest(key=key, digest_size=16)
    digest.update(number.to_bytes(8, "big"))
    digest.update(payload)
    return digest.digest()

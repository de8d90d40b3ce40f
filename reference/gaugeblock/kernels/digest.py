"""Digests of contents, as keys and as proofs that a file is whole."""

from __future__ import annotations

try:
    # `hashlib` would load OpenSSL for it, which takes longer than everything else here.
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

DIGEST_SIZE = 32


def digest(content: bytes, name: bytes = b"") -> bytes:
    """Return a 32-byte digest of `content`, or of `content` and `name`."""
    total = blake2b(name, digest_size=DIGEST_SIZE)
    total.update(content)
    return total.digest()

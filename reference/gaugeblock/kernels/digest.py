"""Digests of contents, as keys and as proofs that a file is whole."""

from __future__ import annotations

try:
    # `hashlib` would load OpenSSL for it, which takes longer than everything else here.
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

DIGEST_SIZE = 32


def digest(content: bytes) -> bytes:
    """32 bytes that no other content has."""
    return blake2b(content, digest_size=DIGEST_SIZE).digest()

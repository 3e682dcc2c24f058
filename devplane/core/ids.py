"""Names for runs, asks and turns. Randomness comes in as bytes."""

from __future__ import annotations

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's 32 digits: none is mistaken for another when read aloud or typed."""

ID_BYTES = 10
"""Random bytes that `make` wants: far more than any one home will ever hold apart."""


def make(prefix: str, random: bytes) -> str:
    """Return ``prefix-xxxxxxxxxx``, ten characters from `random` (ten bytes)."""
    return f"{prefix}-" + "".join(ALPHABET[byte & 31] for byte in random[:ID_BYTES])

"""Consistent hashing by weight, and with bounded loads.

A key and a name give a number u in (0, 1); the name with the smallest -ln(u) / weight is chosen
(weighted rendezvous, Schindelhauer and Schomaker 2005). So each name gets its part, and:
a name that goes away moves its own keys only, and one that comes takes only what is its part.

The bound is that of Mirrokni, Thorup and Zadimoghaddam (2016): with m requests in work, the new
one included, nobody has more than ceil(balance * m * weight / all weights); what is full is passed
over to the key's next name.
"""

import hashlib
import math
from collections.abc import Mapping

BALANCE = 1.25
DIGEST_BYTES = 8


def consistent(key: str, weights: Mapping[str, int]) -> str:
    """The name that a key belongs to; weights > 0, at least one."""
    seed = _seed(key)
    return min(weights, key=lambda name: (_distance(seed, name, weights[name]), name))


def bounded(
    key: str, weights: Mapping[str, int], loads: Mapping[str, int], balance: float = BALANCE
) -> str:
    """The first name in the key's order that is not full.

    Args:
        loads: name -> requests in work; 0 when left out.
        balance: most load of a name over its part, >= 1.
    """
    total = sum(weights.values())
    work = 1 + sum(loads.get(name, 0) for name in weights)
    free = {
        name: weight
        for name, weight in weights.items()
        if loads.get(name, 0) < math.ceil(balance * work * weight / total)
    }
    # Somebody always is: the bounds sum to more than the work.
    return consistent(key, free)


def _seed(key: str) -> hashlib.blake2b:
    return hashlib.blake2b(key.encode() + b"\0", digest_size=DIGEST_BYTES)


def _distance(seed: hashlib.blake2b, name: str, weight: int) -> float:
    own = seed.copy()
    own.update(name.encode())
    number = int.from_bytes(own.digest()) >> 11
    return -math.log((number + 0.5) / 2**53) / weight

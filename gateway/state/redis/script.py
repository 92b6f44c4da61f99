"""A Lua script and its digest, and how its answers are read."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

Part = int | bytes | None
# What scripts are given: Lua reads numbers from their text.
Argument = str | bytes | int | float

# `now` is Redis' time in seconds; `text` keeps what Lua's own tostring would round to 14 digits.
PRELUDE = """
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local function text(number) return string.format('%.17g', number) end
local function ttl_ms(seconds) return math.max(1, math.ceil(seconds * 1000)) end
"""


@dataclass(frozen=True, slots=True)
class Script:
    """One script, with what all scripts begin with."""

    body: str
    text: str = field(init=False, repr=False)
    sha: str = field(init=False)

    def __post_init__(self) -> None:
        """Compute the digest that Redis knows it by."""
        text = PRELUDE + self.body
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "sha", hashlib.sha1(text.encode()).hexdigest())


def number(part: Part) -> float:
    """A number that a script answered, whole or as text."""
    return float(part or 0)


def parts(reply: object) -> Sequence[Part]:
    """The answer of a script as a flat list; scripts answer with numbers, texts and absent ones."""
    listed = reply if isinstance(reply, list) else [reply]
    return [each if isinstance(each, (int, bytes)) else None for each in listed]

"""Names of what is shared: `signalbox:{POLICY}:PART:PART`.

The braces are a hash tag: in a Redis cluster everything of one policy stands on one machine, so
that one script may touch several of its keys.
"""

import hashlib
import re

# A part that a client can choose must not become a key of a megabyte.
LONGEST_PART = 64
# Printable ASCII without the signs that keys are made of: `:`, `{`, `}` and `#`.
PLAIN = re.compile(rf"[ -\"$-9;-z|~]{{0,{LONGEST_PART}}}")


def key(policy: str, *parts: str) -> str:
    """The key of something that a policy remembers; different parts never give one key."""
    return ":".join((f"signalbox:{{{_plain(policy)}}}", *(_plain(part) for part in parts)))


def _plain(part: str) -> str:
    if PLAIN.fullmatch(part):
        return part
    # No plain part begins with this sign.
    return "#" + hashlib.sha256(part.encode("utf-8", "surrogatepass")).hexdigest()

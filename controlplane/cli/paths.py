"""Paths of the API with a name in them that a person typed."""

from urllib.parse import quote


def path_of(collection: str, name: str, rest: str = "") -> str:
    """`/v1/tokens`, a name, and what follows it: the name cannot lead elsewhere."""
    return f"{collection}/{quote(name, safe='')}{rest}"

"""The digest of everything that a backtest's figures depend on, to stand beside them.

Called by `python -m training backtest` and benchmarks.closed_loop.
"""

import hashlib
from importlib.resources import files
from importlib.resources.abc import Traversable

_SOURCES = ("controlplane.domain", "models", "training", "data")
_KINDS = (".py", ".toml", ".csv")


def sources_digest() -> str:
    """sha256 over the domain, the models, training, worlds and traces: names and bytes."""
    digest = hashlib.sha256()
    for package in _SOURCES:
        for name, source in _walk(files(package), package):
            digest.update(name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()


def _walk(folder: Traversable, at: str) -> list[tuple[str, Traversable]]:
    found = []
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        name = f"{at}/{entry.name}"
        if entry.is_dir() and entry.name != "__pycache__":
            found += _walk(entry, name)
        elif entry.name.endswith(_KINDS):
            found.append((name, entry))
    return found

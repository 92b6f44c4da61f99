"""Routes: which requests go to which service.

For now a route matches a host and a path prefix by segment (or an exact path) and names a
service; conditions, other actions and the radix tree extend these values. Read by the snapshot
and by each data plane's compiler.
"""

from dataclasses import dataclass
from enum import StrEnum


class PathMatchType(StrEnum):
    """Kubernetes Gateway API's names: `PathPrefix` matches whole segments."""

    EXACT = "Exact"
    PATH_PREFIX = "PathPrefix"


@dataclass(frozen=True, slots=True, kw_only=True)
class PathMatch:
    """A path rule. `value` begins with `/`; a prefix other than `/` does not end with `/`."""

    type: PathMatchType = PathMatchType.PATH_PREFIX
    value: str = "/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One rule. Longest path wins, an exact one before a prefix; `*` is every host."""

    id: str
    service: str
    path: PathMatch = PathMatch()
    hosts: tuple[str, ...] = ("*",)

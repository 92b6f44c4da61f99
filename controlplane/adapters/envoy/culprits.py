"""From Envoy's words to our items: which of them it refuses.

Called by `quarantine`. Envoy refuses a whole route configuration with words that name no route,
but nearly always with a piece of what it dislikes (LAB-dataplanes.md section 1). Reads the words
only: whether the named items are to blame shows when the rest is accepted.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from controlplane.adapters.envoy.derived_clusters import service_of
from controlplane.adapters.envoy.forms import Form
from controlplane.adapters.envoy.l4_listeners import listener_name
from controlplane.adapters.envoy.routing.conditions import cookie_expression
from controlplane.domain.routing.route import (
    Condition,
    L4Route,
    Part,
    PathMatchType,
    Route,
    TextMatchType,
)
from controlplane.domain.routing.whitelist import Whitelist
from controlplane.domain.snapshot import ServiceEndpoints
from controlplane.domain.topology import GatewayGroup

UNKNOWN_CLUSTER = re.compile(r"unknown (?:weighted )?cluster '([^']*)'")
DOUBLE_DOMAIN = re.compile(r"[Dd]uplicate entry of domain (\S+) in route")
SINGLE_WILDCARD = "Only a single wildcard domain is permitted"
# `invalid perl operator: (?=`: what RE2 says, then the piece that it means.
PIECE = re.compile(
    r"(?:trailing \\|invalid [a-zA-Z0-9 -]+?|missing [\])]|unexpected \)|bad repetition operator"
    r"|no argument for repetition operator): (.+)",
    re.DOTALL,
)
# Not about the configuration: the place where this Envoy runs.
ENVIRONMENT = ("cannot bind", "Address already in use", "Permission denied")

Matches = Callable[[str, Form], bool]


def environmental(words: str) -> bool:
    """Whether the words are about the machine of that Envoy, not about what it was sent."""
    return any(sign in words for sign in ENVIRONMENT)


def named(words: str, forms: Mapping[str, Form]) -> frozenset[str]:
    """The subjects among `forms` that the words point to; the surest sign that finds any."""
    for matches in _signs(words):
        found = frozenset(subject for subject, form in forms.items() if matches(words, form))
        if found:
            return found
    return frozenset()


def _signs(words: str) -> Iterator[Matches]:
    yield _own_name
    yield _whole_expression
    if (cluster := UNKNOWN_CLUSTER.search(words)) is not None:
        service = service_of(cluster.group(1))
        yield lambda _, form: isinstance(form, Route) and form.service == service
    if (double := DOUBLE_DOMAIN.search(words)) is not None:
        host = double.group(1).lower()
        yield lambda _, form: isinstance(form, Route) and host in _hosts(form)
    if SINGLE_WILDCARD in words:
        yield lambda _, form: isinstance(form, Route) and "*" in form.hosts
    if (piece := PIECE.search(words)) is not None:
        fragment = piece.group(1).strip()
        yield lambda _, form: bool(fragment) and any(fragment in one for one in _expressions(form))


def _own_name(words: str, form: Form) -> bool:
    """`Error adding/updating cluster(s) web: ...`, `... listener(s) http-edge: ...`."""
    match form:
        case ServiceEndpoints():
            # Clusters of versions and queues are the service's too.
            what, name = "cluster", rf"{re.escape(form.service)}(?::[\w.-]+)?(?:~[\w.~-]+)?"
        case GatewayGroup():
            what, name = "listener", rf"(?:\d+-)?https?-{re.escape(form.name)}"
        case L4Route():
            name = rf"(?:\d+-)?{re.escape(listener_name(form.protocol, form.port))}"
            what = "listener"
        case _:
            return False
    return re.search(rf"{what}\(s\)(?:.*,)? {name}:", words, re.DOTALL) is not None


def _whole_expression(words: str, form: Form) -> bool:
    return any(
        f"regex '{one}'" in words or words.rstrip().endswith(f": {one}")
        for one in _expressions(form)
    )


def _expressions(form: Form) -> list[str]:
    """The regular expressions that an item brings with it."""
    match form:
        case Route():
            found = _of_conditions(form.conditions)
            if form.path.type is PathMatchType.REGULAR_EXPRESSION:
                found.append(form.path.value)
            return found
        case Whitelist():
            return _of_conditions(form.channel)
        case _:
            return []


def _of_conditions(conditions: Iterable[Condition]) -> list[str]:
    found = []
    for one in conditions:
        if one.type is TextMatchType.REGULAR_EXPRESSION:
            found.append(one.value)
        if one.part is Part.COOKIE:
            found.append(cookie_expression(one))
    return found


def _hosts(route: Route) -> frozenset[str]:
    return frozenset(host.lower() for host in route.hosts)

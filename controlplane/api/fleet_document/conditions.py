"""What a request must be like to get a route: hosts, path, methods, conditions, cohort.

Called by `routes`. What data planes would read in several ways is refused here, with the form to
write instead.
"""

import ipaddress
import re
from collections.abc import Callable

from controlplane.api.fleet_document.addresses import path
from controlplane.api.fleet_document.expressions import expression, text_expression
from controlplane.api.fleet_document.nodes import Scalar, Table
from controlplane.api.fleet_document.reading import (
    Fields,
    Place,
    T,
    Unique,
    choice,
    fields,
    integer,
    matching,
    name,
    text_of,
)
from controlplane.domain.routing.callers.policies import REMOVED_HEADERS
from controlplane.domain.routing.matching.functions import faults
from controlplane.domain.routing.matching.normalization import Refusal, normalized
from controlplane.domain.routing.matching.provided_functions import PROVIDED
from controlplane.domain.routing.matching.rule import in_words
from controlplane.domain.routing.route import (
    WHOLE,
    Cohort,
    CohortKey,
    Condition,
    FunctionCall,
    Part,
    PathMatch,
    PathMatchType,
    TextMatchType,
)

USER_AGENT = "user-agent"
# A condition on it would see what each plane made of it; `hosts` compares it the same everywhere.
HOST_HEADERS = frozenset({"host"})
WITHOUT_VALUE = frozenset({TextMatchType.PRESENT, TextMatchType.ABSENT})

HOST_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
HOST = re.compile(rf"\*|(\*\.)?{HOST_LABEL}(\.{HOST_LABEL}){{0,30}}", re.ASCII)
HOST_RULE = "*, a host name in lower case, or *. and a domain"
METHOD = matching(
    re.compile(r"[A-Z][A-Z-]{0,31}", re.ASCII), "a method in upper case, as GET or PROPFIND"
)
HEADER = matching(
    re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]{1,128}", re.ASCII), "a header's name in lower case"
)
COOKIE = matching(re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}", re.ASCII), "a cookie's name")
QUERY_PARAM = matching(
    re.compile(r"[A-Za-z0-9._~\[\]-]{1,128}", re.ASCII),
    "a query argument's name of A-Z a-z 0-9 . _ ~ - [ ]",
)
NAMES = {Part.HEADER: HEADER, Part.QUERY_PARAM: QUERY_PARAM, Part.COOKIE: COOKIE}
VALUE = matching(
    re.compile(r"[!-~]([ -~]{0,1022}[!-~])?", re.ASCII),
    "1..1024 of printable ASCII without spaces at its ends",
)
ARGUMENT = matching(re.compile(r"[ -~]{0,1024}", re.ASCII), "up to 1024 of printable ASCII")


def several(read: Callable[[Place], T], what: str) -> Callable[[Place], tuple[T, ...]]:
    """A list of at least one, each once, in order of its words."""

    def rule(place: Place) -> tuple[T, ...]:
        faults = place.findings.count
        unique = Unique()
        found = []
        for item in place.items(f"a list of {what}"):
            value = read(item)
            found.append(value)
            unique.check(_in_words(value), item)
        if not found and place.findings.count == faults:
            place.report(f"at least one of {what}, or leave it out", "an empty list")
        return tuple(dict.fromkeys(found))

    return rule


def _in_words(value: object) -> str:
    match value:
        case Condition():
            return in_words(value)
        case FunctionCall():
            return f"{value.name} {dict(value.arguments)}"
        case _:
            return str(value)


hosts = several(matching(HOST, HOST_RULE), "host names")
methods = several(METHOD, "methods")


def path_match(place: Place) -> PathMatch:
    """The rule about the path."""
    faults = place.findings.count
    entries = fields(place, ("type", "value"))
    kind = entries.optional("type", choice(PathMatchType), PathMatchType.PATH_PREFIX)
    if kind is PathMatchType.REGULAR_EXPRESSION:
        return PathMatch(type=kind, value=entries.required("value", expression, ""))
    value = entries.required("value", path, "")
    if value and ("?" in value or "#" in value):
        entries.places["value"].report("a path without ? and #")
    if kind is PathMatchType.PATH_PREFIX and len(value) > 1 and value.endswith("/"):
        entries.places["value"].report(
            f"a prefix without / at the end, as {value.rstrip('/') or '/'}; it matches segments"
        )
    if kind is PathMatchType.PATH_TEMPLATE and value:
        _check_template(value, entries.places["value"])
    if place.findings.count == faults:
        _check_normal_form(kind, value, entries.places["value"])
    return PathMatch(type=kind, value=value)


def _check_normal_form(kind: PathMatchType, value: str, place: Place) -> None:
    """Rules are compared with paths in normal form; another spelling would never match."""
    template = kind is PathMatchType.PATH_TEMPLATE
    example = re.sub(r"[{}]", "", value) if template else value
    found = normalized(example)
    if isinstance(found, Refusal):
        hint = "; a template has the type PathTemplate" if "{" in example else ""
        place.report(f"a path that requests can have; this one {found.reason}{hint}")
    elif found != example:
        place.report(f"the path in normal form, as {found}")


PARAMETER = re.compile(r"\{[A-Za-z_][A-Za-z0-9_]{0,62}\}", re.ASCII)


def _check_template(value: str, place: Place) -> None:
    parameters = [part for part in value.split("/") if "{" in part or "}" in part]
    if any(PARAMETER.fullmatch(part) is None for part in parameters):
        place.report("parameters that are a whole segment, as /users/{id}/orders")
    elif len(set(parameters)) < len(parameters):
        place.report("another name for each parameter", f"{value!r} with one twice")


def conditions(place: Place) -> tuple[Condition, ...]:
    """Conditions on header, query argument and cookie."""
    return several(_condition, "conditions")(place)


def _condition(place: Place) -> Condition:
    entries = fields(place, ("part", "name", "type", "value"))
    part = entries.optional("part", choice(Part), Part.HEADER)
    named = entries.required("name", NAMES[part], "")
    if part is Part.HEADER and named in REMOVED_HEADERS:
        entries.places["name"].report("another header; gateways remove this one from requests")
    if part is Part.HEADER and named in HOST_HEADERS:
        entries.places["name"].report("another header; a route has hosts for this one")
    kind, value = _text_match(entries)
    return Condition(part=part, name=named, type=kind, value=value)


def user_agent(place: Place) -> Condition:
    """A condition on the user agent: that of its header."""
    kind, value = _text_match(fields(place, ("type", "value")))
    return Condition(name=USER_AGENT, type=kind, value=value)


def _text_match(entries: Fields) -> tuple[TextMatchType, str]:
    kind = entries.optional("type", choice(TextMatchType), TextMatchType.EXACT)
    if kind in WITHOUT_VALUE:
        if "value" in entries.places:
            entries.places["value"].report(f"no value beside {kind}")
        return kind, ""
    if kind is TextMatchType.REGULAR_EXPRESSION:
        return kind, entries.required("value", text_expression, "")
    return kind, entries.required("value", VALUE, "")


def network(place: Place) -> str:
    """An address range in its usual form; one address is one of /32 or /128."""
    text = text_of(place) or ""
    try:
        found = ipaddress.ip_network(text, strict=False)
    except ValueError:
        place.report("a range of addresses, as 10.0.0.0/8 or 2001:db8::/32")
        return ""
    if str(found) != (text if "/" in text else f"{text}/{found.max_prefixlen}"):
        place.report(f"the range in its usual form, {found}")
    return str(found)


sources = several(network, "address ranges")


def _function(place: Place) -> FunctionCall:
    before = place.findings.count
    entries = fields(place, ("name", "arguments"))
    call = FunctionCall(
        name=entries.required("name", name, ""),
        arguments=entries.optional("arguments", pairs(name, ARGUMENT), ()),
    )
    if place.findings.count == before:
        for fault in faults(call, PROVIDED):
            place.report("a match function with its arguments", f"a call with a fault: {fault}")
    return call


functions = several(_function, "functions")


def pairs(
    key: Callable[[Place], str], value: Callable[[Place], str]
) -> Callable[[Place], tuple[tuple[str, str], ...]]:
    """A mapping of names to texts, in order of the names."""

    def rule(place: Place) -> tuple[tuple[str, str], ...]:
        if not isinstance(place.node, Table):
            place.report("a mapping of names to texts")
            return ()
        unique = Unique()
        found = []
        for node, item in place.node.entries:
            at = place.child(node.text[:80] if isinstance(node, Scalar) else "?", node)
            word = key(at)
            unique.check(word, at)
            found.append((word, value(place.child(word or "?", item))))
        return tuple(sorted(found))

    return rule


def cohort(place: Place) -> Cohort:
    """A part of users or requests: from `low` (included) to `high`, of 10,000."""
    entries = fields(place, ("by", "low", "high"))
    found = Cohort(
        by=entries.optional("by", choice(CohortKey), CohortKey.USER),
        low=entries.optional("low", integer(0, WHOLE - 1), 0),
        high=entries.optional("high", integer(1, WHOLE), WHOLE),
    )
    if found.low >= found.high:
        at = entries.places.get("low") or place
        at.report(f"a low below high, which is {found.high}")
    return found

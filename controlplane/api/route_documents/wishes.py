"""What the caller of an import chose, checked against what is declared. Called by the API."""

from collections.abc import Sequence

from controlplane.api.fleet_document.conditions import HOST, HOST_RULE
from controlplane.api.fleet_document.findings import listed, quoted
from controlplane.api.fleet_document.reading import NAME, NAME_RULE
from controlplane.api.route_documents.imports import Declared, ImportWish
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.route import Condition
from controlplane.domain.topology import Fleet

CHANNEL_RULE = "HEADER=VALUE, as x-channel=mini-program"


def declared_in(fleet: Fleet) -> Declared:
    """The names that imported routes may refer to."""
    return Declared(
        services={
            service.name: frozenset(
                endpoint.version
                for cluster in service.clusters
                for endpoint in cluster.endpoints
                if endpoint.version
            )
            for service in fleet.services
        },
        groups=frozenset(group.name for group in fleet.gateways),
        callers=frozenset(policy.name for policy in fleet.callers),
        certificates=frozenset(certificate.name for certificate in fleet.certificates),
    )


def checked(wish: ImportWish) -> ImportWish:
    """The wish itself; Invalid `route_import_invalid` when it names what is not declared."""
    services, groups = wish.declared.services, wish.declared.groups
    if wish.service and wish.service not in services:
        raise _invalid("service", wish.service, f"a declared service: {listed(services)}")
    for host in wish.hosts:
        if HOST.fullmatch(host) is None:
            raise _invalid("host", host, HOST_RULE)
    for group in wish.gateways:
        if group not in groups:
            raise _invalid("gateway", group, f"a declared group: {listed(sorted(groups))}")
    if wish.collection and NAME.fullmatch(wish.collection) is None:
        raise _invalid("collection", wish.collection, NAME_RULE)
    if wish.channel and not (wish.whitelist and wish.collection):
        # Without a name of its own the list of one channel would replace that of another.
        allowed = "a channel beside whitelist and collection only"
        raise _invalid("channel", wish.channel[0].name, allowed)
    return wish


def channel_of(words: Sequence[str]) -> tuple[Condition, ...]:
    """What requests of a channel are like: headers with a value each."""
    conditions = []
    for word in words:
        name, _, value = word.partition("=")
        usable = name.isascii() and name.isprintable() and " " not in name
        if not (usable and name and value and value.isascii() and value.isprintable()):
            raise _invalid("channel", word, CHANNEL_RULE)
        conditions.append(Condition(name=name.lower(), value=value))
    return tuple(conditions)


def _invalid(name: str, value: str, allowed: str) -> Invalid:
    return Invalid("route_import_invalid", f"{name} is {quoted(value)}; allowed: {allowed}")

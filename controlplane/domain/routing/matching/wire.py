"""The table on the wire: canonical bytes that gateways load without building the tree again.

Written for `/v1/routes`, read by the gateway agent. Each route stands once, without what has its
default; the trees name routes by number. The same routes give the same bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.domain import canonical
from controlplane.domain.errors import Invalid
from controlplane.domain.radix.invariants import faults
from controlplane.domain.radix.listing import ListedTree, Numbers, listed, tree_of
from controlplane.domain.routing.matching.functions import Registry
from controlplane.domain.routing.matching.provided_functions import PROVIDED
from controlplane.domain.routing.matching.rule import Rule, rule_of
from controlplane.domain.routing.matching.table import HostTable, Table
from controlplane.domain.routing.route import Route

# Of what is written here; a reader refuses another one.
FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Host:
    tree: ListedTree
    expressions: Numbers = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    format: int
    routes: tuple[Route, ...]
    hosts: Mapping[str, _Host]


def encoded(table: Table) -> bytes:
    """Canonical bytes of a table."""
    routes = {rule.route.id: rule.route for host in table.hosts.values() for rule in host.rules()}
    numbers = {name: at for at, name in enumerate(sorted(routes))}

    def of(rules: tuple[Rule, ...]) -> Numbers:
        return tuple(numbers[rule.route.id] for rule in rules)

    hosts = {
        name: _Host(tree=listed(host.tree, of), expressions=of(host.expressions))
        for name, host in table.hosts.items()
    }
    ordered = tuple(routes[name] for name in numbers)
    return canonical.encode(_Document(format=FORMAT, routes=ordered, hosts=hosts))


def decoded(data: bytes, registry: Registry = PROVIDED) -> Table:
    """The table again.

    Raises:
        Invalid: the bytes are of another format, or the trees in them do not fit their routes.
    """
    document = canonical.decode(_Document, data)
    if document.format != FORMAT:
        raise _unreadable(f"format {document.format}, this version reads {FORMAT}")
    try:
        rules = [rule_of(route, registry) for route in document.routes]
        hosts = {name: _host(host, rules) for name, host in document.hosts.items()}
    except LookupError as error:
        raise _unreadable(f"no such route, node or function: {error}") from error
    for name, host in hosts.items():
        if found := faults(host.tree):
            raise _unreadable(f"tree of {name}: {found[0]}")
    return Table(hosts=hosts, registry=registry)


def _host(host: _Host, rules: list[Rule]) -> HostTable:
    def of(numbers: Numbers) -> tuple[Rule, ...]:
        return tuple(rules[number] for number in numbers)

    tree, expressions = tree_of(host.tree, of), of(host.expressions)
    placed = [rule for _, found in tree.contents() for rule in found]
    return HostTable.placed_in(tree, expressions, [*placed, *expressions])


def _unreadable(why: str) -> Invalid:
    return Invalid("route_table_unreadable", f"cannot read the route table: {why}")

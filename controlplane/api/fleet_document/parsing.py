"""Text -> Fleet or one route, or every error at once with its place. Called by the API."""

from contextlib import suppress
from dataclasses import replace

from controlplane.api.fleet_document.findings import Enough, Findings
from controlplane.api.fleet_document.lookalikes import forms
from controlplane.api.fleet_document.nodes import Scalar, Table, compose
from controlplane.api.fleet_document.policies.policy import addressed_policy
from controlplane.api.fleet_document.reading import Place, fields
from controlplane.api.fleet_document.routes import Surroundings, addressed_route
from controlplane.api.fleet_document.sections import admission_policies, fleet
from controlplane.api.fleet_document.zones import check_zones
from controlplane.domain.admission.policy import Policy, check_policy
from controlplane.domain.errors import Invalid
from controlplane.domain.fleet_order import normalized
from controlplane.domain.routing.route import Route
from controlplane.domain.topology import Fleet


def parse(text: str, now_s: float = 0.0) -> Fleet:
    """Read a fleet document, YAML or JSON, in canonical order.

    Takes up to a second for 5 MB: call it outside the event loop.

    Args:
        now_s: lifetimes of routes count from it, UTC epoch seconds.

    Raises:
        Invalid: `fleet_invalid` with `errors` in its details, each with line, column, path, found
            and allowed; or as `nodes.compose`.
    """
    findings = Findings()
    parsed = Fleet()
    # With enough findings the rest is left unread, and the fleet is refused below.
    with suppress(Enough):
        root = compose(text, findings) or Table(line=1, column=1, entries=(), size=1)
        parsed = fleet(Place(node=root, path="", findings=findings), now_s)
    findings.raise_if_any()
    return normalized(parsed)


def parse_route(text: str, route_id: str, fleet: Fleet, now_s: float) -> Route:
    """Read the document of one route among what a fleet declares; its `id` may be left out.

    Raises:
        Invalid: as `parse`; also when its id looks like another route's, as in a fleet.
    """
    around = Surroundings(
        services={service.name for service in fleet.services},
        gateways={group.name for group in fleet.gateways},
        callers={caller.name for caller in fleet.callers},
        certificates={certificate.name for certificate in fleet.certificates},
        now_s=now_s,
    )
    findings = Findings()
    parsed = Route(id="")
    with suppress(Enough):
        root = compose(text, findings) or Table(line=1, column=1, entries=(), size=1)
        place = Place(node=root, path="", findings=findings)
        _refuse_list(place)
        parsed = addressed_route(place, around, route_id)
        _check_look(place, route_id, fleet)
        check_zones(place, replace(fleet, routes=(parsed,), l4_routes=()))
    findings.raise_if_any()
    return parsed


def parse_policy(text: str, name: str, fleet: Fleet) -> Policy:
    """Read the document of one policy; its `name` may be left out.

    Raises:
        Invalid: as `parse`; also when its name looks like another policy's, as in a fleet.
    """
    findings = Findings()
    parsed = Policy(name=name)
    with suppress(Enough):
        root = compose(text, findings) or Table(line=1, column=1, entries=(), size=1)
        place = Place(node=root, path="", findings=findings)
        parsed = addressed_policy(place, name)
        for other in fleet.policies:
            if other.name != name and set(forms(other.name)).intersection(forms(name)):
                place.report(
                    "names that differ in more than case or look-alike characters",
                    f"addressed as {name}, which looks like policy {other.name}",
                )
    findings.raise_if_any()
    return parsed


def parse_policies(text: str) -> tuple[Policy, ...]:
    """Read a file that has `policies` only, as a fleet file has them.

    Raises:
        Invalid: as `parse`; `policy_invalid` with the policy's name for one that can be read and
            not carried out.
    """
    findings = Findings()
    parsed: tuple[Policy, ...] = ()
    with suppress(Enough):
        root = compose(text, findings) or Table(line=1, column=1, entries=(), size=1)
        entries = fields(Place(node=root, path="", findings=findings), ("policies",))
        parsed = entries.required("policies", admission_policies, ())
    findings.raise_if_any()
    for policy in parsed:
        try:
            check_policy(policy)
        except Invalid as error:
            raise Invalid(error.code, f"policy {policy.name}: {error.message}") from error
    return parsed


def _refuse_list(place: Place) -> None:
    """Report a fleet file, or its list of routes, where one route is wanted."""
    entries = place.node.entries if isinstance(place.node, Table) else ()
    if any(isinstance(key, Scalar) and key.text == "routes" for key, _ in entries):
        place.report("one route's own keys, without `routes:` and the list", "a list of routes")
        raise Enough


def _check_look(place: Place, route_id: str, fleet: Fleet) -> None:
    for other in fleet.routes:
        if other.id != route_id and set(forms(other.id)).intersection(forms(route_id)):
            place.report(
                "ids that differ in more than case or look-alike characters",
                f"addressed as {route_id}, which looks like route {other.id}",
            )
            return

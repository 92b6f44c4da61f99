"""Who may call a route: the same answer for our own gateways and for what data planes are told.

Pure; what a caller showed was verified before (`signatures`, or a data plane's own means).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.routing.callers.policies import (
    CallerPolicy,
    Consumer,
    CredentialType,
    Grant,
)
from controlplane.domain.routing.route import Route


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a caller has proved under one policy; `values` are of one certificate or token."""

    policy: str
    values: tuple[tuple[CredentialType, str], ...]


class Ruling(StrEnum):
    """What happens with a request, by what is known of its caller."""

    ALLOWED = "allowed"
    UNKNOWN = "unknown"
    FORBIDDEN = "forbidden"


@dataclass(frozen=True, slots=True, kw_only=True)
class Admittance:
    """A ruling; with `allowed` who the caller is and by which policy, both "" on an open route."""

    ruling: Ruling
    consumer: str = ""
    policy: str = ""

    @property
    def status(self) -> int:
        """Of the answer: 401 asks who it is, 403 knows and refuses."""
        return {Ruling.ALLOWED: 200, Ruling.UNKNOWN: 401, Ruling.FORBIDDEN: 403}[self.ruling]


@dataclass(frozen=True, slots=True, kw_only=True)
class Register:
    """Policies and consumers, by what a caller shows."""

    policies: Mapping[str, CallerPolicy]
    consumers: Mapping[str, Consumer]
    credentials: Mapping[tuple[str, CredentialType, str], str]

    def consumer(self, shown: Shown) -> str:
        """The consumer's name, "" when nobody has such a credential."""
        for kind, value in shown.values:
            if (name := self.credentials.get((shown.policy, kind, value))) is not None:
                return name
        policy = self.policies.get(shown.policy)
        return "" if policy is None else policy.otherwise


def register(policies: Iterable[CallerPolicy], consumers: Iterable[Consumer]) -> Register:
    """A register; of two consumers with the same credential the first by name has it."""
    ordered = sorted(consumers, key=lambda c: c.name, reverse=True)
    return Register(
        policies={policy.name: policy for policy in policies},
        consumers={consumer.name: consumer for consumer in ordered},
        credentials={
            (one.policy, one.type, one.value): consumer.name
            for consumer in ordered
            for one in consumer.credentials
        },
    )


def admit(route: Route, shown: Iterable[Shown], known: Register, zone: str = "") -> Admittance:
    """Whether a caller may call a route; the first of the route's policies that lets it decides."""
    if not route.authentication:
        return Admittance(ruling=Ruling.ALLOWED)
    by_policy = {one.policy: one for one in shown}
    ruling = Ruling.UNKNOWN
    for policy in route.authentication:
        name = known.consumer(by_policy[policy]) if policy in by_policy else ""
        if not name:
            continue
        consumer = known.consumers.get(name)
        if consumer is not None and granted(consumer, route, zone):
            return Admittance(ruling=Ruling.ALLOWED, consumer=name, policy=policy)
        ruling = Ruling.FORBIDDEN
    return Admittance(ruling=ruling)


def granted(consumer: Consumer, route: Route, zone: str = "") -> bool:
    """Whether a consumer may call a route on gateways of a zone; "" is a group without one."""
    return any(_covers(grant, route, zone) for grant in consumer.grants)


def _covers(grant: Grant, route: Route, zone: str) -> bool:
    if grant.zones and zone not in grant.zones:
        return False
    if not grant.routes and not grant.labels:
        return True
    labelled = bool(grant.labels) and set(grant.labels) <= set(route.labels)
    return declared_id(route) in grant.routes or labelled


def declared_id(route: Route) -> str:
    """The id that a route was declared with: `gray/ID` and `gray/ID/both` have its grants."""
    words = route.id.split("/")
    return words[1] if len(words) > 1 else words[0]

"""What one xDS stream is to be sent next: the state-of-the-world protocol as a table.

Used by the control plane's ADS server and by the gateway agent's cache server, which do the
talking. A stream is a value; `receive` and `send` return the next one, `due` names the type to
send. Knows neither protobuf nor sockets nor the content: only versions, names and nonces.

Rules (LAB-dataplanes.md section 1): clusters, then endpoints; listeners, routes and what follows
wait until the clusters are acknowledged, because Envoy acknowledges clusters when they are warm;
endpoints are sent again after clusters, because changed clusters ask for theirs again; a version
that was refused is never sent again; the same version is not sent twice; who refused clusters or
listeners has taken the good ones among them, so an earlier version is sent to it again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

# The agent beside an Envoy subscribes under that Envoy's id and says by this name who it is.
AGENT_NAME = "signalbox-gateway"
# What the control plane calls itself in a response to an agent that an Envoy has acknowledged.
ACKNOWLEDGED = "acknowledged"


# An Envoy asks whether an ADS server is alive before it waits for it: a process that hangs still
# takes connections. Service, method, and the answer SERVING, as the gRPC health protocol has them.
HEALTH_SERVICE, HEALTH_METHOD, HEALTH_SERVING = "grpc.health.v1.Health", "Check", b"\x08\x01"


class ResourceType(StrEnum):
    """Kinds of resources, in the order in which they are sent."""

    CLUSTER = "cluster"
    ENDPOINT = "endpoint"
    LISTENER = "listener"
    ROUTE = "route"
    EXTENSION = "extension_config"
    SECRET = "secret"
    RUNTIME = "runtime"


TYPE_URLS: Mapping[ResourceType, str] = {
    ResourceType.CLUSTER: "type.googleapis.com/envoy.config.cluster.v3.Cluster",
    ResourceType.ENDPOINT: "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
    ResourceType.LISTENER: "type.googleapis.com/envoy.config.listener.v3.Listener",
    ResourceType.ROUTE: "type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
    ResourceType.EXTENSION: "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig",
    ResourceType.SECRET: "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret",
    ResourceType.RUNTIME: "type.googleapis.com/envoy.service.runtime.v3.Runtime",
}
TYPES: Mapping[str, ResourceType] = {url: kind for kind, url in TYPE_URLS.items()}

REMEMBERED_REFUSALS = 64

# Only these may be subscribed to without names, which means all of them.
WILDCARD = frozenset({ResourceType.CLUSTER, ResourceType.LISTENER})
BEFORE_CLUSTERS_ARE_WARM = frozenset({ResourceType.CLUSTER, ResourceType.ENDPOINT})


class Phase(StrEnum):
    """Where a subscription stands."""

    EMPTY = "empty"
    OFFERED = "offered"
    ACKED = "acked"
    REFUSED = "refused"


class Event(StrEnum):
    """What happened to a subscription.

    ASKED is a request that answers nothing: a first one, or one that changes names.
    """

    ASKED = "asked"
    SENT = "sent"
    ACK = "ack"
    NACK = "nack"
    STALE = "stale"


TRANSITIONS: Mapping[tuple[Phase, Event], Phase] = {
    (Phase.EMPTY, Event.ASKED): Phase.EMPTY,
    (Phase.EMPTY, Event.SENT): Phase.OFFERED,
    (Phase.OFFERED, Event.ASKED): Phase.OFFERED,
    (Phase.OFFERED, Event.SENT): Phase.OFFERED,
    (Phase.OFFERED, Event.ACK): Phase.ACKED,
    (Phase.OFFERED, Event.NACK): Phase.REFUSED,
    (Phase.ACKED, Event.ASKED): Phase.ACKED,
    (Phase.ACKED, Event.SENT): Phase.OFFERED,
    (Phase.REFUSED, Event.ASKED): Phase.REFUSED,
    (Phase.REFUSED, Event.SENT): Phase.OFFERED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A discovery request as far as the protocol goes.

    Attributes:
        version: what the consumer runs; "" for nothing yet.
        nonce: of the response that it answers; "" when it answers none.
        error: its words when it refuses that response.
    """

    type: ResourceType
    names: frozenset[str] = frozenset()
    version: str = ""
    nonce: str = ""
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """One type on one stream.

    Attributes:
        sent, nonce: version and nonce of the newest response.
        acked: version in force at the consumer.
        message: its words while the newest response stands refused.
        refused: versions that are never sent again.
        again: the newest version is wanted once more.
    """

    phase: Phase = Phase.EMPTY
    names: frozenset[str] = frozenset()
    nonce: str = ""
    sent: str = ""
    acked: str = ""
    message: str = ""
    refused: frozenset[str] = frozenset()
    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """All subscriptions of one stream.

    Attributes:
        sequence: number of the newest response; nonces are unique within the stream.
        quarantine: versions that this consumer refused on earlier streams.
    """

    subscriptions: Mapping[ResourceType, Subscription] = field(default_factory=dict)
    sequence: int = 0
    quarantine: Mapping[ResourceType, frozenset[str]] = field(default_factory=dict)


def receive(stream: Stream, request: Request) -> tuple[Stream, Event]:
    """Take a request in; a stale one changes nothing."""
    known = stream.subscriptions.get(request.type)
    if known is None:
        return _with(stream, request.type, _first(stream, request)), Event.ASKED
    event = _event(known, request)
    if event is Event.STALE:
        return stream, event
    return _with(stream, request.type, _answered(known, request, event)), event


def due(stream: Stream, offers: Mapping[ResourceType, str]) -> ResourceType | None:
    """The type to send now, None when the consumer has or refused everything it may get.

    Args:
        offers: version on offer of each type for the names that the stream subscribes to; a
            type that is left out has nothing to offer, and the consumer keeps what it has.
    """
    gate_closed = _clusters_pending(stream, offers)
    for kind in ResourceType:
        if gate_closed and kind not in BEFORE_CLUSTERS_ARE_WARM:
            return None
        subscription = stream.subscriptions.get(kind)
        if subscription and kind in offers and _wanted(kind, subscription, offers[kind]):
            return kind
    return None


def send(stream: Stream, kind: ResourceType, version: str) -> Stream:
    """Record that a version is being sent; the response carries the new stream's nonce."""
    sequence = stream.sequence + 1
    before = stream.subscriptions[kind]
    after = replace(
        before,
        phase=TRANSITIONS[before.phase, Event.SENT],
        nonce=str(sequence),
        sent=version,
        again=False,
    )
    stream = replace(_with(stream, kind, after), sequence=sequence)
    endpoints = stream.subscriptions.get(ResourceType.ENDPOINT)
    if kind is ResourceType.CLUSTER and endpoints is not None:
        return _with(stream, ResourceType.ENDPOINT, replace(endpoints, again=True))
    return stream


def settled(stream: Stream, offers: Mapping[ResourceType, str]) -> bool:
    """Whether the consumer runs everything on offer that it subscribes to.

    A consumer that is offered nothing, as in a group that the fleet does not declare, runs nothing.
    """
    wanted = [
        subscription.acked == offers[kind]
        for kind, subscription in stream.subscriptions.items()
        if kind in offers and (subscription.names or kind in WILDCARD)
    ]
    return bool(wanted) and all(wanted)


def _first(stream: Stream, request: Request) -> Subscription:
    # A consumer that comes back names the version it runs; versions are content hashes, so an
    # equal one needs no push. One that runs nothing has nothing to lose by trying again what
    # it refused in an earlier life.
    held = request.version
    return Subscription(
        phase=Phase.ACKED if held else Phase.EMPTY,
        names=request.names,
        sent=held,
        acked=held,
        refused=stream.quarantine.get(request.type, frozenset()) if held else frozenset(),
    )


def _event(known: Subscription, request: Request) -> Event:
    if not request.nonce:
        return Event.ASKED
    if request.nonce != known.nonce:
        return Event.STALE
    if known.phase is not Phase.OFFERED:
        return Event.ASKED
    return Event.ACK if request.error is None else Event.NACK


def _answered(known: Subscription, request: Request, event: Event) -> Subscription:
    after = replace(known, phase=TRANSITIONS[known.phase, event], names=request.names)
    if request.names - known.names or (event is Event.ASKED and request.nonce):
        # New names need their resources even when nothing else changed. A second request for
        # the same response is a cluster that warms again and asks for its endpoints.
        after = replace(after, again=request.type not in WILDCARD)
    if event is Event.ACK:
        return replace(after, acked=known.sent, message="")
    if event is Event.NACK:
        return replace(after, message=request.error or "", refused=_refused(known))
    return after


def _refused(known: Subscription) -> frozenset[str]:
    # A consumer that refuses everything for months must not grow; what it refused long ago is
    # not on offer any more.
    earlier = known.refused if len(known.refused) < REMEMBERED_REFUSALS else frozenset()
    return earlier | {known.sent}


def _clusters_pending(stream: Stream, offers: Mapping[ResourceType, str]) -> bool:
    clusters = stream.subscriptions.get(ResourceType.CLUSTER)
    offer = offers.get(ResourceType.CLUSTER)
    if clusters is None or offer is None or offer in clusters.refused:
        return False
    return clusters.acked != offer


def _wanted(kind: ResourceType, subscription: Subscription, offer: str) -> bool:
    if offer in subscription.refused or not (subscription.names or kind in WILDCARD):
        return False
    held = subscription.sent
    if subscription.phase is Phase.REFUSED and kind not in WILDCARD:
        # It went on with what it had; of clusters and listeners it took the good ones.
        held = subscription.acked
    return subscription.again or held != offer


def _with(stream: Stream, kind: ResourceType, subscription: Subscription) -> Stream:
    return replace(stream, subscriptions={**stream.subscriptions, kind: subscription})

"""The part of a fleet document about services: clusters, shares, checks, retries."""

from controlplane.api.fleet_document.addresses import path
from controlplane.api.fleet_document.clusters import SHARE_OF_CPU, Sites, clusters
from controlplane.api.fleet_document.reading import (
    Fields,
    Place,
    choice,
    fields,
    integer,
    name,
    number,
    switch,
)
from controlplane.domain.services import (
    AllDown,
    CheckKind,
    Cluster,
    HealthCheck,
    LoadBalancing,
    RegionalRule,
    RetryPolicy,
    Service,
    ServiceClass,
    StickyMode,
    StrategyName,
)

SERVICE_KEYS = (
    "name",
    "clusters",
    "strategy",
    "static_shares",
    "load_balancing",
    "health_check",
    "retry",
    "timeout_ms",
    "alarm_cpu",
    "class_of_service",
    "regional",
    "dither",
    "stickiness",
    "all_down",
)
REGIONAL_KEYS = ("alpha", "critical_load", "return_load")
CHECK_KEYS = (
    "kind",
    "path",
    "command",
    "interval_ms",
    "timeout_ms",
    "healthy_threshold",
    "unhealthy_threshold",
)

DEFAULTS = Service(name="", clusters=())
STAND_IN: tuple[Cluster, ...] = ()
PERIOD_MS = integer(10, 3_600_000)
THRESHOLD = integer(1, 100)
LOAD = number(0.0, 1.0, above="a number above 0, up to 1")


def service(place: Place, sites: Sites) -> Service:
    """Read one service of a fleet with these sites."""
    entries = fields(place, SERVICE_KEYS)
    faults = place.findings.count
    found = entries.required("clusters", lambda at: clusters(at, sites), STAND_IN)
    read = Service(
        name=entries.required("name", name, ""),
        clusters=found,
        strategy=entries.optional("strategy", choice(StrategyName), DEFAULTS.strategy),
        static_shares=entries.optional("static_shares", lambda at: _shares(at, found), ()),
        load_balancing=entries.optional(
            "load_balancing", choice(LoadBalancing), DEFAULTS.load_balancing
        ),
        health_check=entries.optional("health_check", _health_check, DEFAULTS.health_check),
        retry=entries.optional("retry", _retry, DEFAULTS.retry),
        timeout_ms=entries.optional("timeout_ms", PERIOD_MS, DEFAULTS.timeout_ms),
        alarm_cpu=entries.optional("alarm_cpu", SHARE_OF_CPU, DEFAULTS.alarm_cpu),
        class_of_service=entries.optional(
            "class_of_service", choice(ServiceClass), DEFAULTS.class_of_service
        ),
        regional=entries.optional("regional", _regional, DEFAULTS.regional),
        dither=entries.optional("dither", switch, DEFAULTS.dither),
        stickiness=entries.optional("stickiness", choice(StickyMode), DEFAULTS.stickiness),
        all_down=entries.optional("all_down", choice(AllDown), DEFAULTS.all_down),
    )
    # Beside a fault in the service itself this finding would only distract.
    if read.static_shares and place.findings.count == faults:
        _check_shares(entries.places["static_shares"], read)
    return read


def _shares(place: Place, clusters: tuple[Cluster, ...]) -> tuple[tuple[str, float], ...]:
    """Shares by data centre, each declared as a cluster of the service."""
    centers = dict.fromkeys(cluster.datacenter for cluster in clusters if cluster.datacenter)
    names = fields(place, list(centers))
    share = number(0.0, 1e6)
    shares = {key: share(at) for key, at in names.places.items()}
    return tuple(sorted(shares.items()))


def _check_shares(place: Place, service: Service) -> None:
    shares = dict(service.static_shares)
    usable = [cluster.datacenter for cluster in service.centers if cluster.endpoints]
    if not any(shares.get(center, 0.0) > 0 for center in usable):
        place.report(
            "at least one share above 0 in a data centre where the service has endpoints",
            "without one",
        )


def _regional(place: Place) -> RegionalRule:
    usual = DEFAULTS.regional
    entries = fields(place, REGIONAL_KEYS)
    faults = place.findings.count
    rule = RegionalRule(
        alpha=entries.optional("alpha", number(0.0, 1.0), usual.alpha),
        critical_load=entries.optional("critical_load", LOAD, usual.critical_load),
        return_load=entries.optional("return_load", LOAD, usual.return_load),
    )
    if rule.return_load >= rule.critical_load and place.findings.count == faults:
        at = entries.places.get("return_load", place)
        at.report(
            f"a return_load below critical_load, which is {rule.critical_load:g}",
            f"{rule.return_load:g}",
        )
    return rule


def _health_check(place: Place) -> HealthCheck:
    usual = DEFAULTS.health_check
    entries = fields(place, CHECK_KEYS)
    kind = entries.optional("kind", choice(CheckKind), usual.kind)
    _check_kind(entries, kind, place)
    return HealthCheck(
        kind=kind,
        command=entries.optional("command", name, usual.command),
        path=entries.optional("path", path, usual.path),
        interval_ms=entries.optional("interval_ms", PERIOD_MS, usual.interval_ms),
        timeout_ms=entries.optional("timeout_ms", PERIOD_MS, usual.timeout_ms),
        healthy_threshold=entries.optional("healthy_threshold", THRESHOLD, usual.healthy_threshold),
        unhealthy_threshold=entries.optional(
            "unhealthy_threshold", THRESHOLD, usual.unhealthy_threshold
        ),
    )


def _check_kind(entries: Fields, kind: CheckKind, place: Place) -> None:
    """What belongs to another kind would be read by nobody."""
    if kind is CheckKind.COMMAND and "command" not in entries.places:
        place.report("a command beside kind: command, by its name in the observers' settings")
    if kind is not CheckKind.COMMAND and "command" in entries.places:
        entries.places["command"].report("a command beside kind: command only")
    if kind is not CheckKind.HTTP and "path" in entries.places:
        entries.places["path"].report("a path beside kind: http only")


def _retry(place: Place) -> RetryPolicy:
    usual = DEFAULTS.retry
    entries = fields(place, ("attempts", "per_try_timeout_ms", "server_errors", "budget"))
    return RetryPolicy(
        attempts=entries.optional("attempts", integer(0, 100), usual.attempts),
        per_try_timeout_ms=entries.optional(
            "per_try_timeout_ms", PERIOD_MS, usual.per_try_timeout_ms
        ),
        server_errors=entries.optional("server_errors", switch, usual.server_errors),
        budget=entries.optional("budget", number(0.01, 10.0), usual.budget),
    )

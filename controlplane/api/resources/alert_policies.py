"""/v1/alert-policies: which alerts order which intent by themselves."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from controlplane.api.dependencies import Operator, Services, Viewer
from controlplane.api.edge.conditional import ExpectedDigest, tag_of
from controlplane.api.edge.paging import MOST_ITEMS, Cursor, Limit, page_of
from controlplane.api.resources.alerts import EpisodeOut, Labels, episode_of
from controlplane.api.wire.intents import IntentIn
from controlplane.api.wire.orders import Done, order_in, order_out
from controlplane.api.wire.values import Items, Reason, Text, Wire
from controlplane.domain.errors import Invalid
from controlplane.domain.operations.alert_policies import (
    AlertPolicy,
    Comparison,
    Matcher,
    Mode,
    OnResolve,
    checked,
    order_for,
)
from controlplane.domain.operations.alerts import Alert, AlertStatus, Origin, fingerprint_of
from controlplane.engine.intents.course import IntentTimes
from controlplane.engine.operations.items import Written

router = APIRouter(prefix="/v1", tags=["alerts"])

Name = Annotated[str, Path(max_length=63)]
Why = Annotated[str, Query(max_length=500, description="Why, for the audit log.")]


class MatcherWire(Wire):
    """One condition on a label; a label that is missing is ""."""

    label: Annotated[Text, Field(max_length=128)]
    comparison: Comparison = Comparison.IS
    value: Annotated[Text, Field(max_length=1_000)] = ""


class PolicyIn(Wire):
    """A policy; `{label}` in the order's target takes the value of the alert's label."""

    matchers: Annotated[list[MatcherWire], Field(min_length=1, max_length=20)]
    order: IntentIn
    origin: Origin = Origin.ALERTMANAGER
    lasts_s: float = 3_600.0
    most: int = 3
    per_s: float = 3_600.0
    hold_s: float = 0.0
    on_resolve: OnResolve = OnResolve.END
    mode: Mode = Mode.ACT
    reason: Reason = ""

    def policy(self, name: str, times: IntentTimes) -> AlertPolicy:
        """The domain's policy; Invalid."""
        return checked(
            AlertPolicy(
                name=name,
                matchers=tuple(
                    Matcher(label=one.label, comparison=one.comparison, value=one.value)
                    for one in self.matchers
                ),
                order=order_in(self.order, times),
                origin=self.origin,
                lasts_s=self.lasts_s,
                most=self.most,
                per_s=self.per_s,
                hold_s=self.hold_s,
                on_resolve=self.on_resolve,
                mode=self.mode,
            )
        )


class PolicyOut(Wire):
    """A policy with what it has led to."""

    name: str
    matchers: list[MatcherWire]
    order: IntentIn
    origin: Origin
    lasts_s: float
    most: int
    per_s: float
    hold_s: float
    on_resolve: OnResolve
    mode: Mode
    episodes: list[EpisodeOut]


class TrialIn(Wire):
    """An alert that is made up."""

    labels: Labels
    origin: Origin = Origin.ALERTMANAGER


class TrialOut(Wire):
    """What a policy would make of it; `objection` says why it could not."""

    policy: str
    mode: Mode
    target: str
    objection: str


@router.get("/alert-policies")
async def list_policies(
    services: Services, _caller: Viewer, limit: Limit = MOST_ITEMS, cursor: Cursor = None
) -> Items[PolicyOut]:
    """All policies, by name: of several that match a target the first one counts."""
    policies = list(services.operations.policies.all.values())
    page, after = page_of(policies, lambda one: (one.name,), limit, cursor)
    return Items(items=[_policy(services, one) for one in page], next=after)


@router.post("/alert-policies:test")
async def try_policies(services: Services, _caller: Viewer, made_up: TrialIn) -> Items[TrialOut]:
    """Tell which policies would listen to an alert, and what they would order."""
    alert = Alert(
        origin=made_up.origin,
        status=AlertStatus.FIRING,
        labels=made_up.labels,
        fingerprint=fingerprint_of(made_up.labels),
        starts_s=services.instruments.now(),
    )
    policies = services.operations.policies.all.values()
    return Items(items=[_tested(one, alert) for one in policies if one.matches(alert)])


@router.get("/alert-policies/{name}")
async def read_policy(
    services: Services, _caller: Viewer, name: Name, response: Response
) -> PolicyOut:
    """One policy; its ETag is for If-Match."""
    policy = services.operations.policies.named(name)
    response.headers["ETag"] = tag_of(policy)
    return _policy(services, policy)


@router.put("/alert-policies/{name}")
async def write_policy(
    *,
    services: Services,
    caller: Operator,
    name: Name,
    wanted: PolicyIn,
    response: Response,
    expected: ExpectedDigest = None,
) -> PolicyOut:
    """Declare a policy, or change it."""
    policy = wanted.policy(name, services.intents.times)
    written = Written(author=caller, reason=wanted.reason, expected=expected)
    await services.operations.policies.put(policy, written)
    response.headers["ETag"] = tag_of(policy)
    return _policy(services, policy)


@router.delete("/alert-policies/{name}")
async def remove_policy(
    services: Services,
    caller: Operator,
    name: Name,
    reason: Why = "",
    expected: ExpectedDigest = None,
) -> Done:
    """Remove a policy; intents that it has ordered stay until their end."""
    written = Written(author=caller, reason=reason, expected=expected)
    await services.operations.policies.remove(name, written)
    return Done()


def _tested(policy: AlertPolicy, alert: Alert) -> TrialOut:
    try:
        target, objection = order_for(policy, alert).target.subject, ""
    except Invalid as error:
        target, objection = "", error.message
    return TrialOut(policy=policy.name, mode=policy.mode, target=target, objection=objection)


def _policy(services: Services, policy: AlertPolicy) -> PolicyOut:
    episodes = services.operations.alerts.episodes.values()
    return PolicyOut(
        name=policy.name,
        matchers=[
            MatcherWire(label=one.label, comparison=one.comparison, value=one.value)
            for one in policy.matchers
        ],
        order=order_out(policy.order),
        origin=policy.origin,
        lasts_s=policy.lasts_s,
        most=policy.most,
        per_s=policy.per_s,
        hold_s=policy.hold_s,
        on_resolve=policy.on_resolve,
        mode=policy.mode,
        episodes=[episode_of(one) for one in episodes if one.policy == policy.name],
    )

"""The kind `abnormal_traffic` at work: what this agent remembers of clients, and their level.

Each agent remembers its own clients, the busiest 100,000 of them. The level travels on in a
header, so that routes (`risk_level`) and upstreams can tell, too.
"""

from collections import OrderedDict

from controlplane.domain.admission.abnormal_traffic.client import Client, answered
from controlplane.domain.admission.abnormal_traffic.policy import AbnormalTrafficPolicy
from controlplane.domain.admission.abnormal_traffic.scoring import scorer, verdict_of
from controlplane.domain.admission.asking import Asked, Verdict
from controlplane.domain.admission.policy import Policy
from controlplane.domain.admission.rate_limit import RateLimitPolicy, counted
from gateway.admission.enforcing import ADMITTED_RULING, Outcome, Ruling
from gateway.admission.surroundings import Surroundings

MOST_CLIENTS = 100_000
Who = tuple[str, ...]


class AbnormalTraffic:
    """One policy."""

    def __init__(self, policy: Policy, surroundings: Surroundings) -> None:
        self._spec: AbnormalTrafficPolicy = policy.spec
        self._key = RateLimitPolicy(key=self._spec.client)
        self._score = scorer(self._spec)
        self._now_s = surroundings.now_s
        self._clients: OrderedDict[Who, Client] = OrderedDict()

    async def rule(self, asked: Asked) -> Ruling:
        who = counted(self._key, asked)
        scored = self._score(self._clients.get(who), asked)
        self._keep(who, scored.client)
        decision = verdict_of(self._spec, scored)
        login = decision.verdict is Verdict.ADMIT and asked.route in self._spec.login_routes
        return Ruling(
            decision=decision,
            request_headers=((self._spec.header, str(scored.level)),),
            ended=(lambda outcome: self._told(who, asked, outcome)) if login else None,
        )

    def fall_back(self, asked: Asked) -> Ruling:
        return ADMITTED_RULING

    async def close(self) -> None:
        """Nothing runs in the background."""

    def _keep(self, who: Who, client: Client) -> None:
        self._clients[who] = client
        self._clients.move_to_end(who)
        if len(self._clients) > MOST_CLIENTS:
            self._clients.popitem(last=False)

    def _told(self, who: Who, asked: Asked, outcome: Outcome) -> None:
        client = self._clients.get(who)
        if client is not None:
            self._clients[who] = answered(self._spec, client, asked, outcome.status, self._now_s())

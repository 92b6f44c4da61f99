"""What a proxy is answered, in its dialect. Pure but for what is parked.

A request that goes on: 200 with the headers that the service is to get. Those of policies begin
with `x-admission-`, so that a proxy can be told to take exactly these from us and never from a
client. One that does not: the answer that its client gets; nginx takes a status only, so the answer
is parked, and nginx fetches it for its client by the name in `x-admission-answer`.
"""

from collections.abc import Mapping

from controlplane.domain.admission.asking import Decision, Verdict
from controlplane.domain.routing.matching.request import Request
from gateway.admission.enforcing import Answer, Headers, Ruling
from gateway.admission.usual_answers import usual
from gateway.forward_auth.parked import ParkedAnswers
from gateway.forward_auth.questions import Dialect

PREFIX = "x-admission-"
SERVICE = "x-admission-service"
ANSWER = "x-admission-answer"
# Envoy takes these off the request that goes on.
REMOVED = "x-envoy-auth-headers-to-remove"
GOES_ON = frozenset({Verdict.ADMIT, Verdict.DIVERT})
OK, FORBIDDEN, TOO_MANY, SERVER_ERRORS = 200, 403, 429, 500


def reply(
    dialect: Dialect,
    ruling: Ruling,
    request: Request,
    parked: ParkedAnswers,
    told: frozenset[str] = frozenset(),
) -> Answer:
    """What the proxy gets.

    Args:
        told: further headers that are policies' to set, in lower case.
    """
    decision = ruling.decision
    if decision.verdict in GOES_ON:
        return _going_on(dialect, ruling, request.headers, told)
    answer = ruling.answer or usual(decision, request)
    answer = Answer(
        status=_status(dialect, answer.status),
        headers=(*answer.headers, *ruling.response_headers),
        body=answer.body,
    )
    return status_only(answer, parked) if dialect is Dialect.AUTH_REQUEST else answer


def status_only(answer: Answer, parked: ParkedAnswers) -> Answer:
    """The word for nginx, which takes nothing but 2xx, 401 and 403."""
    return Answer(status=FORBIDDEN, headers=((ANSWER, parked.park(answer)),))


def refused(dialect: Dialect, status: int, request: Request, parked: ParkedAnswers) -> Answer:
    """What a request gets that has no normal form, so that no policy can judge it."""
    decision = Decision(verdict=Verdict.REFUSE, reason="request_unreadable", status=status)
    return reply(dialect, Ruling(decision=decision), request, parked)


def _status(dialect: Dialect, status: int) -> int:
    """Envoy takes 5xx for a failure of the agent: it would let the request go on, or show nothing
    of the answer.
    """
    if dialect is Dialect.ENVOY and status >= SERVER_ERRORS:
        return TOO_MANY
    return status


def _going_on(
    dialect: Dialect, ruling: Ruling, sent: Mapping[str, str], told: frozenset[str]
) -> Answer:
    given = ruling.request_headers
    if ruling.decision.verdict is Verdict.DIVERT:
        given += ((SERVICE, ruling.decision.service),)
    headers: Headers = (*given, *ruling.response_headers)
    if dialect is Dialect.ENVOY:
        ours = {name.lower() for name, _ in given}
        foreign = [name for name in sent if name.startswith(PREFIX) or name in told]
        claimed = [name for name in foreign if name not in ours]
        if claimed:
            headers += ((REMOVED, ",".join(claimed)),)
    return Answer(status=OK, headers=headers)

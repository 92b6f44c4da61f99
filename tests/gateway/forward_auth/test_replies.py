"""What each kind of proxy is answered."""

import json

import pytest

from controlplane.domain.admission.asking import ADMITTED, Decision, Verdict
from controlplane.domain.routing.matching.request import Request
from gateway.admission.enforcing import Answer, Ruling
from gateway.forward_auth.parked import LASTS_S, MOST_ANSWERS, ParkedAnswers
from gateway.forward_auth.questions import Dialect
from gateway.forward_auth.replies import refused, reply

REQUEST = Request(path="/", headers={"x-admission-class": "gold", "x-other": "1"})
WAIT = Ruling(
    decision=Decision(
        verdict=Verdict.WAIT, reason="queued", policy="room", status=503, retry_after_s=2.2
    ),
    response_headers=(("set-cookie", "room=7"),),
)
FULL = [Dialect.ENVOY, Dialect.FORWARD_AUTH]


@pytest.fixture
def parked() -> ParkedAnswers:
    return ParkedAnswers(lambda: 0.0)


@pytest.mark.parametrize("dialect", Dialect)
def test_what_goes_on_takes_its_headers_with_it(dialect: Dialect, parked: ParkedAnswers) -> None:
    ruling = Ruling(
        decision=ADMITTED,
        request_headers=(("x-admission-level", "3"),),
        response_headers=(("set-cookie", "a=1"),),
    )
    answer = reply(dialect, ruling, REQUEST, parked)
    assert answer.status == 200
    assert set(answer.headers) >= {("x-admission-level", "3"), ("set-cookie", "a=1")}


def test_envoy_takes_off_what_a_client_made_up(parked: ParkedAnswers) -> None:
    plain = reply(Dialect.ENVOY, Ruling(decision=ADMITTED), REQUEST, parked)
    assert plain.headers == (("x-envoy-auth-headers-to-remove", "x-admission-class"),)
    said = Ruling(decision=ADMITTED, request_headers=(("X-Admission-Class", "basic"),))
    assert reply(Dialect.ENVOY, said, REQUEST, parked).headers == said.request_headers


def test_envoy_takes_off_what_only_policies_say(parked: ParkedAnswers) -> None:
    sent, told = Request(path="/", headers={"x-risk-level": "0"}), frozenset({"x-risk-level"})
    plain = reply(Dialect.ENVOY, Ruling(decision=ADMITTED), sent, parked, told)
    assert plain.headers == (("x-envoy-auth-headers-to-remove", "x-risk-level"),)
    said = Ruling(decision=ADMITTED, request_headers=(("x-risk-level", "3"),))
    assert reply(Dialect.ENVOY, said, sent, parked, told).headers == said.request_headers


def test_a_diverted_request_goes_on_with_the_name_of_its_service(parked: ParkedAnswers) -> None:
    ruling = Ruling(decision=Decision(verdict=Verdict.DIVERT, reason="slow", service="slow-queue"))
    answer = reply(Dialect.FORWARD_AUTH, ruling, REQUEST, parked)
    assert (answer.status, answer.headers) == (200, (("x-admission-service", "slow-queue"),))


@pytest.mark.parametrize("dialect", FULL)
def test_a_client_that_waits_gets_the_usual_answer(dialect: Dialect, parked: ParkedAnswers) -> None:
    answer = reply(dialect, WAIT, REQUEST, parked)
    headers = dict(answer.headers)
    # Envoy would take 5xx for a failure of the agent.
    status = 429 if dialect is Dialect.ENVOY else 503
    assert (answer.status, headers["retry-after"], headers["set-cookie"]) == (status, "3", "room=7")
    assert json.loads(answer.body)["code"] == "queued"


def test_nginx_gets_a_status_and_the_name_of_the_answer(parked: ParkedAnswers) -> None:
    own = Answer(status=429, headers=(("content-type", "text/plain"),), body=b"slowly")
    ruling = Ruling(decision=WAIT.decision, answer=own, response_headers=WAIT.response_headers)
    word = reply(Dialect.AUTH_REQUEST, ruling, REQUEST, parked)
    assert (word.status, word.body) == (403, b"")
    name = dict(word.headers)["x-admission-answer"]
    fetched = parked.fetch(name)
    assert fetched is not None
    assert (fetched.status, fetched.body) == (429, b"slowly")
    assert ("set-cookie", "room=7") in fetched.headers
    assert parked.fetch(name) is None


def test_a_request_that_has_no_normal_form_is_refused(parked: ParkedAnswers) -> None:
    assert refused(Dialect.ENVOY, 400, REQUEST, parked).status == 400
    assert refused(Dialect.AUTH_REQUEST, 400, REQUEST, parked).status == 403


def test_parked_answers_are_few_small_and_short_lived() -> None:
    clock = [0.0]
    parked = ParkedAnswers(lambda: clock[0])
    first = parked.park(Answer(status=503))
    for _ in range(MOST_ANSWERS):
        parked.park(Answer(status=503))
    assert len(parked) == MOST_ANSWERS
    assert parked.fetch(first) is None
    for _ in range(40):
        last = parked.park(Answer(status=503, body=b"x" * 1_048_576))
    assert len(parked) < 20
    clock[0] = LASTS_S + 1
    assert parked.fetch(last) is None
    parked.park(Answer(status=503))
    assert len(parked) == 1

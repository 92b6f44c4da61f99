"""Limits that a policy sets on what goes through the proxy."""

from pathlib import Path

from controlplane.domain.admission.asking import Asked
from controlplane.domain.admission.policy import Policy
from controlplane.domain.admission.protection import ProtectionPolicy
from gateway.admission.enforcing import ADMITTED_RULING, Ruling
from gateway.admission.protection import Protection
from gateway.admission.surroundings import Surroundings
from gateway.state.shared import in_memory
from tests.gateway.proxy.site import site

HEAD = b"POST /app HTTP/1.1\r\nhost: x\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"
AROUND = Surroundings(state=in_memory(lambda: 0.0), now_s=lambda: 0.0, agent="a", group="edge")
EDGE = Policy(name="edge", protection=ProtectionPolicy(most_body_bytes=6))
RULES = Protection(EDGE, AROUND)


async def rule(asked: Asked) -> Ruling:
    return await RULES.rule(asked)


async def test_a_body_ends_at_the_limit_of_a_policy_announced_or_not(tmp_path: Path) -> None:
    async with site(tmp_path, rule=rule) as here:
        small = await here.ask(CHUNKED + b"6\r\nabcdef\r\n0\r\n\r\n")
        assert small.startswith(b"HTTP/1.1 200")
        announced = await here.ask(HEAD + b"content-length: 7\r\n\r\nabcdefg")
        assert announced.startswith(b"HTTP/1.1 413")
        creeping = await here.ask(CHUNKED + b"6\r\nabcdef\r\n1\r\ng\r\n0\r\n\r\n")
        assert creeping.startswith(b"HTTP/1.1 413")
        assert b"at most 6 bytes" in creeping
        # What grew too long never ended there.
        assert here.upstream.bytes.count(b"0\r\n\r\n") == 1


async def test_a_header_of_policies_counts_nowhere_when_a_client_sends_it(tmp_path: Path) -> None:
    async def admits(_asked: Asked) -> Ruling:
        return ADMITTED_RULING

    async with site(tmp_path, rule=admits) as here:
        here.proxy.told = lambda: frozenset({"x-level"})
        await here.ask(b"GET /app HTTP/1.1\r\nhost: x\r\nX-Level: vip\r\nx-other: 1\r\n\r\n")
        assert b"x-other: 1" in here.upstream.bytes
        assert b"vip" not in here.upstream.bytes

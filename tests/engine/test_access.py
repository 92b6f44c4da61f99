from dataclasses import dataclass, field

import pytest

from controlplane.domain.access import AccessRole, Permission, Principal
from controlplane.domain.errors import Invalid, NotFound, Refused, Retryable
from controlplane.engine import access as module
from controlplane.engine.access import SECRET, Access, TokenRequest
from tests.fakes.stores import MemoryTokenStore, Outage

ADMIN = Principal(token_id="", name="ann", role=AccessRole.ADMIN)


@dataclass(slots=True)
class Bench:
    time_s: float = 1000.0
    outage: Outage = field(default_factory=Outage)
    store: MemoryTokenStore = field(init=False)
    access: Access = field(init=False)

    def __post_init__(self) -> None:
        self.store = MemoryTokenStore(outage=self.outage)
        self.access = Access(self.store, lambda: self.time_s)

    async def issue(self, role: AccessRole, **binding: str) -> str:
        request = TokenRequest(name="t", role=role, **binding)
        return (await self.access.issue(request, ADMIN, "test"))[1]


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def code_of(bench: Bench, secret: str | None, permission: Permission) -> str:
    with pytest.raises(Refused) as caught:
        await bench.access.check(secret, permission)
    return caught.value.code


async def test_a_secret_has_256_random_bits_and_is_not_stored(bench: Bench) -> None:
    secret = await bench.issue(AccessRole.VIEWER)
    assert SECRET.fullmatch(secret)
    assert secret not in repr(bench.store.tokens)
    assert secret not in repr(bench.store.audit.entries)


@pytest.mark.parametrize("role", AccessRole)
@pytest.mark.parametrize("permission", Permission)
async def test_the_role_table_decides(
    bench: Bench, role: AccessRole, permission: Permission
) -> None:
    secret = await bench.issue(role)
    if permission in module.PERMISSIONS[role]:
        principal = await bench.access.check(secret, permission)
        assert (principal.name, principal.role) == ("t", role)
    else:
        assert await code_of(bench, secret, permission) == "forbidden"


@pytest.mark.parametrize("secret", [None, "", "sbx_short", "x" * 47, "sbx_" + "a" * 43])
async def test_no_and_unknown_secrets_are_unauthenticated(bench: Bench, secret: str | None) -> None:
    assert await code_of(bench, secret, Permission.READ) == "unauthenticated"


async def test_an_expired_token_ends_even_when_it_is_remembered(bench: Bench) -> None:
    request = TokenRequest(name="t", role=AccessRole.VIEWER, expires_s=1010.0)
    _, secret = await bench.access.issue(request, ADMIN, "")
    await bench.access.check(secret, Permission.READ)
    bench.time_s = 1010.0
    assert await code_of(bench, secret, Permission.READ) == "unauthenticated"
    assert not bench.access.knows(secret)


async def test_a_revocation_takes_effect_at_once(bench: Bench) -> None:
    secret = await bench.issue(AccessRole.VIEWER)
    principal = await bench.access.check(secret, Permission.READ)
    assert bench.access.knows(secret)
    await bench.access.revoke(principal.token_id, ADMIN, "lost")
    assert await code_of(bench, secret, Permission.READ) == "unauthenticated"
    assert [entry.action for entry in bench.store.audit.entries] == ["token.issue", "token.revoke"]
    assert bench.store.audit.entries[-1].reason == "lost"


async def test_a_revocation_elsewhere_takes_effect_within_seconds(bench: Bench) -> None:
    secret = await bench.issue(AccessRole.VIEWER)
    principal = await bench.access.check(secret, Permission.READ)
    other = Access(bench.store, lambda: bench.time_s)
    await other.revoke(principal.token_id, ADMIN, "")
    await bench.access.check(secret, Permission.READ)
    bench.time_s += module.FRESH_S
    assert await code_of(bench, secret, Permission.READ) == "unauthenticated"


async def test_known_tokens_go_on_while_the_store_is_away(bench: Bench) -> None:
    known, new = await bench.issue(AccessRole.VIEWER), await bench.issue(AccessRole.VIEWER)
    await bench.access.check(known, Permission.READ)
    bench.outage.away = True
    bench.time_s += 3600.0
    await bench.access.check(known, Permission.READ)
    with pytest.raises(Retryable):
        await bench.access.check(new, Permission.READ)


async def test_a_bound_token_speaks_for_its_node_and_group_only(bench: Bench) -> None:
    secret = await bench.issue(AccessRole.GATEWAY, node="edge-1", group="edge")
    assert (await bench.access.check_node(secret, "edge-1", "edge")).role is AccessRole.GATEWAY
    for node, group in (("edge-2", "edge"), ("edge-1", "core")):
        with pytest.raises(Refused) as caught:
            await bench.access.check_node(secret, node, group)
        assert caught.value.code == "wrong_node"
    free = await bench.issue(AccessRole.GATEWAY)
    await bench.access.check_node(free, "any", "thing")
    viewer = await bench.issue(AccessRole.VIEWER)
    with pytest.raises(Refused):
        await bench.access.check_node(viewer, "edge-1", "edge")


async def test_the_first_token_is_made_once_and_ends_with_the_next_admin(bench: Bench) -> None:
    first = await bench.access.ensure_first()
    assert first is not None
    assert await bench.access.ensure_first() is None
    owner = await bench.access.check(first, Permission.ADMINISTER)
    await bench.access.issue(TokenRequest(name="gw", role=AccessRole.GATEWAY), owner, "")
    await bench.access.check(first, Permission.ADMINISTER)
    await bench.access.issue(TokenRequest(name="me", role=AccessRole.ADMIN), owner, "")
    assert await code_of(bench, first, Permission.ADMINISTER) == "unauthenticated"
    assert await bench.access.ensure_first() is None


async def test_a_start_without_a_usable_admin_token_makes_a_new_one(bench: Bench) -> None:
    request = TokenRequest(name="me", role=AccessRole.ADMIN, expires_s=1001.0)
    await bench.access.issue(request, ADMIN, "")
    assert await bench.access.ensure_first() is None
    bench.time_s = 1002.0
    assert await bench.access.ensure_first() is not None


async def test_the_last_admin_token_stays(bench: Bench) -> None:
    secret = await bench.issue(AccessRole.ADMIN)
    principal = await bench.access.check(secret, Permission.ADMINISTER)
    with pytest.raises(Refused, match="only usable admin token"):
        await bench.access.revoke(principal.token_id, principal, "")
    with pytest.raises(NotFound):
        await bench.access.revoke("nope", principal, "")


@pytest.mark.parametrize(
    "request_",
    [
        TokenRequest(name="", role=AccessRole.VIEWER),
        TokenRequest(name="a b", role=AccessRole.VIEWER),
        TokenRequest(name="a" * 65, role=AccessRole.VIEWER),
        TokenRequest(name="a", role=AccessRole.VIEWER, node="\n"),
        TokenRequest(name="a", role=AccessRole.VIEWER, expires_s=999.0),
        TokenRequest(name="a", role=AccessRole.VIEWER, expires_s=float("nan")),
        TokenRequest(name="a", role=AccessRole.VIEWER, expires_s=1e12),
    ],
)
async def test_a_bad_request_makes_no_token(bench: Bench, request_: TokenRequest) -> None:
    with pytest.raises(Invalid):
        await bench.access.issue(request_, ADMIN, "")
    assert await bench.access.tokens() == []


async def test_what_is_remembered_is_bounded(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED", 2)
    secrets = [await bench.issue(AccessRole.VIEWER) for _ in range(3)]
    for secret in secrets:
        await bench.access.check(secret, Permission.READ)
    assert [bench.access.knows(secret) for secret in secrets] == [False, True, True]

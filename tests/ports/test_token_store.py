"""TokenStore: found by digest, ended once."""

from dataclasses import replace

import pytest

from controlplane.domain.errors import Conflict, NotFound
from tests.ports.conftest import Stores
from tests.ports.examples import entry, token


async def test_found_by_digest(stores: Stores) -> None:
    await stores.tokens.add(token(), entry("token.issue"))
    assert await stores.tokens.by_digest(token().digest) == token()
    assert await stores.tokens.by_digest("e" * 64) is None
    assert [e.action for e in await stores.audit.recent(9)] == ["token.issue"]


async def test_a_token_without_limits(stores: Stores) -> None:
    free = replace(token(), expires_s=None, node=None, group=None, once=True)
    await stores.tokens.add(free, entry())
    assert await stores.tokens.all() == [free]


async def test_by_creation(stores: Stores) -> None:
    second, first = token("a", "a" * 64, created_s=2.0), token("b", "b" * 64, created_s=1.0)
    await stores.tokens.add(second, entry())
    await stores.tokens.add(first, entry())
    assert await stores.tokens.all() == [first, second]


async def test_the_same_id_or_digest_is_a_conflict(stores: Stores) -> None:
    await stores.tokens.add(token("t1", "a" * 64), entry())
    for other in (token("t1", "b" * 64), token("t2", "a" * 64)):
        with pytest.raises(Conflict):
            await stores.tokens.add(other, entry("second"))
    assert len(await stores.audit.recent(9)) == 1


async def test_revoked_stays_with_its_first_end(stores: Stores) -> None:
    await stores.tokens.add(token(), entry())
    await stores.tokens.revoke("t1", 50.0, entry("token.revoke"))
    await stores.tokens.revoke("t1", 60.0, entry("token.revoke"))
    found = await stores.tokens.by_digest(token().digest)
    assert found == replace(token(), revoked_s=50.0)


async def test_revoking_an_unknown_one_is_not_found_and_not_audited(stores: Stores) -> None:
    with pytest.raises(NotFound):
        await stores.tokens.revoke("nobody", 1.0, entry())
    assert await stores.audit.recent(9) == []

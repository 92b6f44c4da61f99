"""What was good last is in force after a restart, and nothing worse takes its place."""

from pathlib import Path

import pytest

from controlplane.domain import canonical
from controlplane.domain.admission.policy import Policy
from controlplane.domain.admission.rate_limit import RateLimitPolicy
from controlplane.domain.admission.section import Received
from controlplane.domain.errors import Invalid
from controlplane.domain.snapshot import PoliciesSection
from gateway.last_good.policy_file import FILE_NAME, policy_file
from gateway.last_good.polling import Fetched
from gateway.last_good.section_keeper import SectionKeeper

LIMIT = Policy(name="limit", rate_limit=RateLimitPolicy())
SECTION = canonical.encode(PoliciesSection(policies=(LIMIT,)))


def fetched(body: bytes = SECTION, revision: int = 7) -> Fetched:
    return Fetched(body=body, tag='"t"', revision=revision)


async def loaded(folder: Path) -> tuple[SectionKeeper[Received], list[Received]]:
    taken: list[Received] = []

    async def take(found: Received) -> None:
        taken.append(found)

    keeper = SectionKeeper[Received]("policies", None, policy_file(folder), take)
    await keeper.load()
    await keeper.run()
    assert not keeper.current
    return keeper, taken


async def test_it_starts_with_what_was_kept(tmp_path: Path) -> None:
    policy_file(tmp_path / "deep").store(fetched())
    keeper, taken = await loaded(tmp_path / "deep")
    assert keeper.revision == 7
    assert [each.policies for each in taken] == [(LIMIT,)]


async def test_nothing_kept_is_nothing_in_force(tmp_path: Path) -> None:
    keeper, taken = await loaded(tmp_path)
    assert (keeper.revision, taken) == (None, [])


@pytest.mark.parametrize("cut", [1, 50, 120])
async def test_a_damaged_file_is_ignored(tmp_path: Path, cut: int) -> None:
    policy_file(tmp_path).store(fetched())
    path = tmp_path / FILE_NAME
    path.write_bytes(path.read_bytes()[:-cut])
    keeper, taken = await loaded(tmp_path)
    assert (keeper.revision, taken) == (None, [])


async def test_what_cannot_be_read_is_not_kept(tmp_path: Path) -> None:
    file = policy_file(tmp_path)
    file.store(fetched())
    with pytest.raises(Invalid):
        file.store(fetched(b"[]"))
    stored = file.read()
    assert stored is not None
    assert (stored.revision, stored.tag) == (7, '"t"')


async def test_a_policy_of_tomorrow_costs_only_itself(tmp_path: Path) -> None:
    body = SECTION.replace(b'"policies":[', b'"policies":[{"name":"new","magic":{}},')
    policy_file(tmp_path).store(fetched(body))
    _, (taken,) = await loaded(tmp_path)
    assert [each.name for each in taken.policies] == ["limit"]
    assert [each.name for each in taken.unreadable] == ["new"]

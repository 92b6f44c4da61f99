"""What an examination found travels with the version."""

from dataclasses import replace

import pytest

from controlplane.domain.features import SCHEMA_DIGEST
from models import storage
from models.errors import ArtifactError
from models.examination import Check, objection
from tests.model_artifacts import artifact

GOOD = Check(code="spread", passed=True, figure=1.1, limit=2.5, message="as noisy as the rows")
BAD = Check(code="level", passed=False, figure=1000.0, limit=4.0, message="1000 times the level")


def test_it_is_kept_and_part_of_the_digest() -> None:
    plain = artifact()
    examined = replace(plain, examination=(GOOD, BAD))
    read = storage.from_bytes(storage.to_bytes(examined), SCHEMA_DIGEST)
    assert read.examination == (GOOD, BAD)
    assert read.digest == examined.digest != plain.digest


def test_every_failed_check_is_an_objection() -> None:
    assert objection(()) == objection((GOOD,)) == ""
    assert objection((GOOD, BAD)) == "level: 1000 times the level"
    assert objection((BAD, BAD)).count("1000 times") == 2


@pytest.mark.parametrize("change", [{"figure": float("nan")}, {"passed": "no"}])
def test_an_impossible_check_is_refused(change: dict[str, object]) -> None:
    bad = replace(BAD, **change)  # type: ignore[arg-type]
    with pytest.raises(ArtifactError):
        storage.from_bytes(storage.to_bytes(replace(artifact(), examination=(bad,))), SCHEMA_DIGEST)

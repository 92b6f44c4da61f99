"""Exit codes and what a person reads when a command fails."""

from pathlib import Path

import pytest

from controlplane.cli import failures
from controlplane.domain import errors

ROOT = Path(__file__).parents[2]
KINDS = list(errors.ControlPlaneError.__subclasses__())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_each_kind_has_its_own_documented_exit_code(
    kind: type[errors.ControlPlaneError],
) -> None:
    code = failures.exit_code(kind("some_code", "words"))
    assert code not in {0, failures.OTHER}
    row = f"| {code} | {kind.__name__} |"
    assert row in (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")


def test_the_exit_codes_differ() -> None:
    assert len(set(failures.EXIT_CODES.values())) == len(KINDS)


def test_an_error_without_a_kind_is_one() -> None:
    assert failures.exit_code(errors.ControlPlaneError("odd", "words")) == 1


def test_a_finding_shows_file_line_and_column() -> None:
    error = errors.Invalid(
        "fleet_invalid",
        "1 finding",
        {"errors": [{"line": 12, "column": 9, "message": "strategy is 'magic'"}]},
    )
    with pytest.raises(errors.Invalid) as caught, failures.in_file("fleet.yaml"):
        raise error
    assert list(failures.lines(caught.value)) == [
        "error: 1 finding [fleet_invalid]",
        "  fleet.yaml:12:9: strategy is 'magic'",
    ]


def test_a_finding_without_a_place_shows_its_subject() -> None:
    error = errors.Invalid(
        "samples_invalid",
        "bad",
        {"errors": [{"index": 3, "message": "no load"}, {"message": "words"}, "odd"]},
    )
    assert list(failures.lines(error))[1:] == ["  sample 3: no load", "  words"]


def test_a_place_is_said_once() -> None:
    faults = [
        {"line": 1, "column": 2, "message": "line 1, column 2: no kind"},
        {"path": "query.plane", "message": "query.plane: unknown"},
    ]
    error = errors.Invalid("bad", "bad", {"errors": faults, "file": "a.yaml"})
    assert list(failures.lines(error))[1] == "  a.yaml:1:2: no kind"
    assert list(failures.lines(errors.Invalid("bad", "bad", {"errors": faults[1:]})))[1] == (
        "  query.plane: unknown"
    )


def test_a_list_of_details_is_read_as_words() -> None:
    error = errors.Refused("mass_removal", "refused", {"items": ["orders", "sale"]})
    assert list(failures.lines(error))[1] == "  items: orders, sale"


def test_other_details_follow_and_empty_ones_do_not(capsys: pytest.CaptureFixture[str]) -> None:
    error = errors.Refused("too_much", "refused", {"limit": 0.3, "force": "--force", "note": ""})
    assert failures.report(error) == 5
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "error: refused [too_much]\n  limit: 0.3\n  force: --force\n"


def test_other_kinds_pass_the_file_unnamed() -> None:
    with pytest.raises(errors.NotFound), failures.in_file("fleet.yaml"):
        raise errors.NotFound("service_not_found", "no such service")

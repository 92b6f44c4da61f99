"""A world's file that is wrong: what, where and which limit, and never a number made of it."""

from pathlib import Path

import pytest

from controlplane.domain.errors import Invalid
from training.simulation.world import load_world, world_names

PLAIN = 'like = "W1"\nname = "mine"\n'


def refusal(folder: Path, content: str | bytes) -> Invalid:
    place = folder / "mine.toml"
    place.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(Invalid) as refused:
        load_world(str(place))
    return refused.value


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("[arrivals]\npeak_rps = nan", "arrivals peak_rps: input should be a finite number"),
        ("[arrivals]\npeak_rps = 1e300", "less than or equal to 1000000000"),
        ("[arrivals]\npeak_rps = -5", "arrivals peak_rps: input should be greater than 0"),
        ("[arrivals]\nrelease_hours = [99]", "arrivals release_hours 1"),
        ("[[centers]]\nservers = 0", "centers 1 servers: input should be greater than"),
        ("[[centers]]\n[[centers]]\nservice_ms = 0", "centers 2 service_ms"),
        ("[[centers]]\nbatch_minutes = 0", "centers 1 batch_minutes"),
        ("[[centers]]\nidle_cpu = 0.99", "idle_cpu must be below full_cpu"),
        ("[operator]\nhold_minutes = 0", "operator hold_minutes"),
        ("[operator]\nhold_minutes = 2.5", "valid integer"),
        ("[operator]\nshares = [0.9, 0.9]", "sum to 1.8, not to 1"),
        ('[operator]\nshares = ["a", 0.5]', "operator shares 1: input should be a valid number"),
        ("[users]\nthink_ms = -4", "users think_ms"),
        ("[users]\nthink_ms = 4\nsleep_ms = 4", "users sleep_ms: unexpected"),
        ("losses = 3", "losses: input should be a dictionary"),
        ("centers = [3, 4]", "centers 1: input should be a dictionary"),
        ("centers = 3", "centers: "),
        ("response_noise = nan", "response_noise: input should be a finite number"),
    ],
)
def test_a_wrong_number_is_told_with_its_place(tmp_path: Path, line: str, words: str) -> None:
    error = refusal(tmp_path, PLAIN + line)
    assert error.code == "world_invalid"
    assert words in error.message
    assert "mine.toml" in error.message


def test_a_loss_has_its_ends_in_order(tmp_path: Path) -> None:
    table = "days_between = 3\nfirst_hour = 9\nlast_hour = 19\nshortest_minutes = 60\n"
    table += "longest_minutes = 30\nleast_left = 0.5\nmost_left = 0.7"
    assert (
        "the shortest above the longest" in refusal(tmp_path, f"{PLAIN}[losses]\n{table}").message
    )


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    message = refusal(tmp_path, PLAIN + "[arrivals]\npeak_rps = 0\nnoise = -1\n").message
    assert "peak_rps" in message
    assert "noise" in message


@pytest.mark.parametrize("content", [b"\xff\xfe\0", "x = [1"])
def test_a_file_that_is_no_toml_is_told(tmp_path: Path, content: str | bytes) -> None:
    assert refusal(tmp_path, content).code == "world_invalid"


def test_worlds_that_are_like_each_other_in_a_ring_end(tmp_path: Path) -> None:
    error = refusal(tmp_path, f'like = "{tmp_path / "mine.toml"}"')
    assert (error.code, "is it a ring?" in error.message) == ("world_invalid", True)


def test_a_world_to_be_like_that_is_not_there_is_named(tmp_path: Path) -> None:
    error = refusal(tmp_path, 'like = "W77"')
    assert (error.code, "no world 'W77'" in error.message) == ("world_unknown", True)


@pytest.mark.parametrize("name", world_names())
def test_the_worlds_of_the_program_are_in_range(name: str) -> None:
    assert load_world(name).name == name

"""More than two centers: rows by name, shares recorded or observed, and the laws from them."""

from pathlib import Path

import numpy as np

from tests.training.importers.files import MAPPING, START_S, made, refusal, rows
from training import site_dataset
from training.importers import importing
from training.site_dataset import SiteDataset

NORTH = MAPPING[MAPPING.rindex("[[centers]]") :].replace("west", "north")
THREE = MAPPING + NORTH


def three(folder: Path, mapping: str = THREE, **files: list[str]) -> SiteDataset:
    data = made(folder, mapping, **{"north": rows(rps=40)} | files).dataset
    assert isinstance(data, SiteDataset)
    return data


def test_three_centers_become_rows_by_name(tmp_path: Path) -> None:
    data = three(tmp_path)
    assert data.centers == ("east", "west", "north")
    np.testing.assert_allclose(data.shares, np.array([[60.0], [60.0], [40.0]]) / 160 * np.ones(4))
    np.testing.assert_allclose(data.series[2].traffic_share, 0.25)
    assert data.response_time_ms.tolist() == [21.0, 22.0, 23.0, 24.0]
    importing.write(data, tmp_path / "rows.csv")
    assert site_dataset.read_csv(tmp_path / "rows.csv").digest() == data.digest()


def test_shares_are_recorded_for_every_center_or_observed(tmp_path: Path) -> None:
    recorded = THREE.replace("cpu_avg", "scheduling_ratio")
    shares = {"east": 50.0, "west": 30.0, "north": 20.0}
    data = three(tmp_path, recorded, **{name: rows(cpu=cpu) for name, cpu in shares.items()})
    np.testing.assert_allclose(data.shares[:, 0], [0.5, 0.3, 0.2])
    partly = MAPPING.replace("cpu_avg", "scheduling_ratio") + NORTH
    np.testing.assert_allclose(three(tmp_path, partly).shares[0], 60 / 160)


def test_facts_and_two_centers_are_as_before(tmp_path: Path) -> None:
    imported = made(tmp_path, THREE, north=rows(rps=40))
    assert importing.facts(imported)["ratio_low"] == 0.375
    pair = made(tmp_path)
    importing.write(pair.dataset, tmp_path / "pair.csv")
    assert (tmp_path / "pair.csv").read_text().startswith("time_s,primary_request_rate_rps")
    assert pair.dataset.time_s[0] == START_S


def test_what_cannot_be_of_many_centers_is_refused(tmp_path: Path) -> None:
    assert "ratio: one number is a split of two" in refusal(tmp_path, f"ratio = 0.5\n{THREE}")
    told = refusal(tmp_path, THREE.replace('"north"', '"east"'))
    assert "mapping.toml:22:1: centers[2].name: two centers have the same name" in told
    assert "a name may not have a ':'" in refusal(tmp_path, THREE.replace('"north"', '"n:1"'))

"""Small files of metrics and mappings for the tests of the importers."""

from collections.abc import Sequence
from pathlib import Path

from controlplane.domain.errors import ControlPlaneError
from training.importers.importing import Imported, import_rows
from training.importers.mapping_file import read_mapping

# 2023-11-14T22:14:00Z, the end of a minute.
START_S = 1_700_000_040
HEADER = "t,rps,ms,cpu"

MAPPING = """
[time]
column = "t"
format = "epoch_s"

[[centers]]
name = "east"
file = "east.csv"
[centers.metrics]
request_rate_rps = "rps"
response_time_ms = "ms"
cpu_avg = { column = "cpu", unit = "percent" }

[[centers]]
name = "west"
file = "west.csv"
[centers.metrics]
request_rate_rps = "rps"
response_time_ms = "ms"
cpu_avg = { column = "cpu", unit = "percent" }
"""


def rows(count: int = 5, rps: float = 60.0, ms: float = 20.0, cpu: float = 40.0) -> list[str]:
    """One row a minute."""
    return [f"{START_S + 60 * at},{rps:g},{ms + at:g},{cpu:g}" for at in range(count)]


def made(folder: Path, mapping: str = MAPPING, **files: Sequence[str]) -> Imported:
    """Import files of these names (`east` is east.csv) with these rows under `HEADER`."""
    for name in ("east", "west"):
        files.setdefault(name, rows())
    for name, lines in files.items():
        (folder / f"{name}.csv").write_text("\n".join([HEADER, *lines]) + "\n")
    (folder / "mapping.toml").write_text(mapping)
    return import_rows(read_mapping(folder / "mapping.toml"), lambda _what, _done: None)


def refusal(folder: Path, mapping: str) -> str:
    """What the mapping file is refused with: the message without the folder."""
    (folder / "mapping.toml").write_text(mapping)
    try:
        read_mapping(folder / "mapping.toml")
    except ControlPlaneError as error:
        return f"[{error.code}] {error.message}".replace(f"{folder}/", "")
    return ""

"""One import: read what a mapping names, align it, and account for it.

Called by `python -m training import`. Reads files and, where a mapping has queries, one Prometheus.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from training import dataset, site_dataset
from training.dataset import Dataset
from training.importers import csv_readings, joining, range_readings
from training.importers.account import Account
from training.importers.mapping import Mapping
from training.importers.recorded import Collection, Tell
from training.importers.times import moment
from training.site_dataset import SiteDataset


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Imported:
    """Training rows, and what became of the rest."""

    dataset: Dataset | SiteDataset
    account: Account


def import_rows(mapping: Mapping, tell: Tell) -> Imported:
    """Read everything and make the rows; `tell` hears how far each file and query is.

    Raises:
        Invalid: a file, a column or an answer that cannot be used, or not one complete row.
        Retryable: the Prometheus is away.
    """
    collection = Collection()
    for center in mapping.centers:
        csv_readings.read_center(center, mapping.table, collection, tell)
    if mapping.ranges is not None:
        names = tuple(center.name for center in mapping.centers)
        range_readings.read_ranges(mapping, names, collection, tell)
    collection.refuse_wrong_units()
    return Imported(dataset=joining.joined(mapping, collection), account=collection.account)


def facts(imported: Imported) -> dict[str, str | int | float | bool]:
    """What was taken and left out, flat; a reason that did not happen is not there."""
    rows, account = imported.dataset, imported.account
    primary = rows.ratio if isinstance(rows, Dataset) else rows.shares[0]
    return {
        "rows": len(rows),
        "first": moment(float(rows.time_s[0])),
        "last": moment(float(rows.time_s[-1])),
        "ratio_low": float(primary.min()),
        "ratio_high": float(primary.max()),
        "mean_response_ms": float(np.mean(rows.response_time_ms)),
        "read": account.rows,
        "missing": account.missing,
        **{str(reason): count for reason, count in sorted(account.counts.items())},
        "digest": rows.digest(),
    }


def write(rows: Dataset | SiteDataset, path: Path) -> None:
    """Write the data set in the format for its number of centers."""
    if isinstance(rows, Dataset):
        dataset.write_csv(rows, path)
    else:
        site_dataset.write_csv(rows, path)

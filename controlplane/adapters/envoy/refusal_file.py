"""Exclusions on disk, so that a restarted control plane does not offer again what was refused.

Called by `plane`. A small JSON file, whole or not there. A file that cannot be read is as none:
then Envoys refuse the same items once more, and keep what they have meanwhile.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import structlog

from controlplane.adapters.envoy.forms import FORMS, kind_of
from controlplane.adapters.envoy.quarantine import Exclusion
from controlplane.domain import canonical
from controlplane.domain.errors import Invalid

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One exclusion; `kept` is canonical JSON, "" for none."""

    subject: str
    refused: str
    words: str
    by: str
    kept: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    exclusions: tuple[_Row, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalFile:
    """Where exclusions are kept; None keeps none."""

    path: Path | None = None

    def load(self) -> tuple[Exclusion, ...]:
        """What an earlier run left."""
        if self.path is None or not self.path.exists():
            return ()
        try:
            rows = canonical.decode(_Rows, self.path.read_bytes())
            return tuple(_exclusion(row) for row in rows.exclusions)
        except (OSError, Invalid, KeyError) as error:
            log.warning("envoy.refusals_unreadable", file=str(self.path), reason=str(error))
            return ()

    def save(self, exclusions: Iterable[Exclusion]) -> None:
        """Write them; a full disk is logged and costs nothing but the memory over a restart."""
        if self.path is None:
            return
        beside = self.path.with_suffix(".new")
        try:
            with beside.open("wb") as file:
                file.write(canonical.encode(_Rows(exclusions=tuple(map(_row, exclusions)))))
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self.path)
        except OSError as error:
            log.warning("envoy.refusals_not_stored", file=str(self.path), reason=str(error))


def _row(one: Exclusion) -> _Row:
    kept = canonical.encode(one.kept).decode() if one.kept is not None else ""
    return _Row(subject=one.subject, refused=one.refused, words=one.words, by=one.by, kept=kept)


def _exclusion(row: _Row) -> Exclusion:
    form = FORMS[kind_of(row.subject)]
    kept = canonical.decode(form, row.kept.encode()) if row.kept else None
    return Exclusion(
        subject=row.subject, refused=row.refused, words=row.words, by=row.by, kept=kept
    )

"""Minute means: raw samples that grew old become part of their minute, in one transaction.

So nothing is lost or counted twice by a kill between, and condensing again finds nothing to do.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Row, Select, delete, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from controlplane.adapters.sql.database import Database
from controlplane.adapters.sql.services import services
from controlplane.adapters.sql.sqlite import Durability
from controlplane.adapters.sql.tables import SAMPLE_MINUTES, SAMPLES
from controlplane.adapters.sql.upsert import insert_or_replace
from controlplane.domain.aggregates import MINUTE_S, Minute, condensed, minute_of
from controlplane.domain.telemetry import Sample

# Rows per transaction. Condensed: the loop needs some 5 ms for them, and a snapshot that wants to
# be stored waits for one transaction at most. Read and dropped: far within a call's deadline.
CONDENSE_ROWS = 500
READ_ROWS = 5_000
PRUNE_ROWS = 10_000
_NAMES = tuple(column.name for column in SAMPLES.c)
_WHOLE: Select[Any] = select(*(SAMPLE_MINUTES.c[name] for name in _NAMES), SAMPLE_MINUTES.c.samples)

Key = tuple[int, str]


class SqlMinuteStore:
    """MinuteStore on SQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def condense(self, before_s: float) -> int:
        """Move raw samples of the minutes before `before_s` into those; how many samples."""
        end_s = minute_of(before_s) * MINUTE_S
        moved = 0
        for service in await self._services(SAMPLES):
            some = CONDENSE_ROWS
            while some >= CONDENSE_ROWS:
                some = await self._condense_some(service, end_s)
                moved += some
        return moved

    async def page(self, service: str, after: tuple[float, str]) -> list[Sample]:
        """The next minutes behind a (time, data centre), in that order; [] at the end."""
        minutes = SAMPLE_MINUTES.c
        query = (
            _WHOLE.where(
                minutes.service == service,
                minutes.minute >= minute_of(after[0]),
                tuple_(minutes.time_s, minutes.datacenter) > after,
            )
            # Times lie in their minutes, so the key's order does most of the sorting.
            .order_by(minutes.minute, minutes.time_s, minutes.datacenter)
            .limit(READ_ROWS)
        )

        async def work(connection: AsyncConnection) -> list[Row[Any]]:
            return list((await connection.execute(query)).all())

        rows = await self._database.read(work)
        # Thousands of rows take longer than the loop may be held up.
        return await asyncio.to_thread(lambda: [_minute(row).sample for row in rows])

    async def prune(self, before_s: float) -> int:
        """Drop minutes that were over before `before_s`, service by service; how many went."""
        pruned = 0
        for service in await self._services(SAMPLE_MINUTES):
            dropped = PRUNE_ROWS
            while dropped >= PRUNE_ROWS:
                dropped = await self._prune_some(service, minute_of(before_s))
                pruned += dropped
        return pruned

    async def _services(self, table: Any) -> list[str]:
        async def names(connection: AsyncConnection) -> list[str]:
            return list((await connection.execute(services(table))).scalars())

        return await self._database.read(names)

    async def _condense_some(self, service: str, end_s: float) -> int:
        raw = SAMPLES.c
        old = (raw.service == service, raw.time_s < end_s)
        query = (
            select(*(raw[name] for name in _NAMES))
            .where(*old)
            .order_by(raw.time_s, raw.datacenter)
            .limit(CONDENSE_ROWS)
        )

        async def work(connection: AsyncConnection) -> int:
            rows = (await connection.execute(query)).all()
            if not rows:
                return 0
            samples = [Sample(**dict(zip(_NAMES, row, strict=True))) for row in rows]
            known = (await connection.execute(_same_minutes(service, samples))).all()
            merged = await asyncio.to_thread(_merged, samples, known)
            await connection.execute(insert_or_replace(connection, SAMPLE_MINUTES), merged)
            last = (samples[-1].time_s, samples[-1].datacenter)
            gone = tuple_(raw.time_s, raw.datacenter) <= last
            await connection.execute(delete(SAMPLES).where(raw.service == service, gone))
            return len(rows)

        return await self._database.write(work, Durability.NORMAL)

    async def _prune_some(self, service: str, minute: int) -> int:
        minutes = SAMPLE_MINUTES.c
        old = (minutes.service == service, minutes.minute < minute)
        numbers = select(minutes.minute).where(*old).order_by(minutes.minute)

        async def work(connection: AsyncConnection) -> int:
            end = await connection.scalar(numbers.offset(PRUNE_ROWS).limit(1))
            some = old if end is None else (*old, minutes.minute <= end)
            return (await connection.execute(delete(SAMPLE_MINUTES).where(*some))).rowcount

        return await self._database.write(work, Durability.NORMAL)


def _same_minutes(service: str, samples: Iterable[Sample]) -> Select[Any]:
    """The minutes of these samples, as far as they are there already."""
    minutes = SAMPLE_MINUTES.c
    numbers = sorted({minute_of(sample.time_s) for sample in samples})
    return _WHOLE.where(minutes.service == service, minutes.minute.in_(numbers))


def _merged(samples: Iterable[Sample], known: Iterable[Row[Any]]) -> list[Mapping[str, object]]:
    """Rows of the minutes that the samples belong to, with what was there before."""
    touched: dict[Key, list[Minute]] = {}
    for sample in samples:
        touched.setdefault(_key(sample), []).append(Minute(sample=sample))
    for minute in map(_minute, known):
        if (key := _key(minute.sample)) in touched:
            touched[key].append(minute)
    return [_row(condensed(parts)) for _, parts in sorted(touched.items())]


def _key(sample: Sample) -> Key:
    return minute_of(sample.time_s), sample.datacenter


def _row(minute: Minute) -> Mapping[str, object]:
    sample = minute.sample
    values = {name: getattr(sample, name) for name in _NAMES}
    return {**values, "minute": minute_of(sample.time_s), "samples": minute.samples}


def _minute(row: Row[Any]) -> Minute:
    values = dict(zip((*_NAMES, "samples"), row, strict=True))
    samples = values.pop("samples")
    return Minute(sample=Sample(**values), samples=samples)

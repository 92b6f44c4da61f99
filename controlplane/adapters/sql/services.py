"""Queries over tables whose rows belong to services and times, in few steps per service.

Used by the stores of decisions and samples. A plain DISTINCT or GROUP BY reads every row, and
there are millions; these jump from service to service along an index that begins with
(service, time_s).
"""

from typing import Any

from sqlalchemy import Column, Table, func, select
from sqlalchemy.sql import Select


def services(table: Table) -> Select[str]:
    """Each service that has a row, by name."""
    first = select(func.min(table.c.service).label("service")).cte("names", recursive=True)
    following = (
        select(func.min(table.c.service)).where(table.c.service > first.c.service).scalar_subquery()
    )
    names = first.union_all(select(following).where(first.c.service.is_not(None)))
    return select(names.c.service).where(names.c.service.is_not(None))


def newest_of_each(table: Table, column: Column[Any]) -> Select[tuple[str, Any]]:
    """(service, the value of `column` in its newest row) of each service."""
    names = services(table).subquery("services")
    newest = (
        select(column)
        .where(table.c.service == names.c.service)
        .order_by(table.c.time_s.desc())
        .limit(1)
        .scalar_subquery()
    )
    return select(names.c.service, newest)

"""The life of a sale: scheduled, open, sold out, ended; and until when its item may be edited.

The phase follows from facts (the time, the opening, the stock), never from a step that somebody
must not miss. The control plane and every gateway ask the same functions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum

from controlplane.domain.admission.flash_sale.policy import FlashSalePolicy
from controlplane.domain.errors import Invalid, Refused

# What a correction names when it takes the whole sale away.
REMOVED = "removed"


class Phase(StrEnum):
    """Where a sale stands.

    `WAITING`: the moment has come, but nobody has brought the purchase token yet: without the
    control plane an opening waits.
    """

    SCHEDULED = "scheduled"
    WAITING = "waiting"
    OPEN = "open"
    SOLD_OUT = "sold_out"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What exists from the opening on, and not before.

    Attributes:
        sale: name of the policy.
        item, opens_at_s: of the sale that was opened: another sale of the same name needs another
            opening.
        token: part of the purchase address, the same for all buyers.
        key: what gateways sign order forms with; no buyer ever sees it.
        opened_at_s: when both were made, by the clock of the control plane.
    """

    sale: str
    item: str
    opens_at_s: float
    token: str
    key: str
    opened_at_s: float

    def __repr__(self) -> str:
        """Without its secrets: values end up in logs and tracebacks."""
        return f"Opening(sale={self.sale!r}, opened_at_s={self.opened_at_s!r})"

    def opens(self, name: str, policy: FlashSalePolicy) -> bool:
        """Whether it is the opening of this sale as it is declared now."""
        mine = (self.sale, self.item, self.opens_at_s)
        return mine == (name, policy.item, policy.opens_at_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is known of a sale beside its policy: whether it was opened, and how many are gone."""

    opened: bool = False
    sold: int = 0


def phase(policy: FlashSalePolicy, standing: Standing, now_s: float) -> Phase:
    """Where a sale stands at a moment.

    The end counts before everything, and an opening counts by the clock of who made it: a gateway
    whose clock is behind serves what the control plane has opened.
    """
    if now_s >= policy.ends_at_s:
        return Phase.ENDED
    if standing.opened:
        return Phase.SOLD_OUT if standing.sold >= policy.stock else Phase.OPEN
    return Phase.WAITING if now_s >= policy.opens_at_s else Phase.SCHEDULED


def may_open(policy: FlashSalePolicy, now_s: float) -> bool:
    """Whether the secrets of a sale may be made: from its moment on, to its end."""
    return policy.opens_at_s <= now_s < policy.ends_at_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A change of a frozen sale that somebody else has looked at.

    Attributes:
        id: its own name, one for each.
        sale: name of the policy.
        fields: what it sets: name -> value as `text_of` writes it; `removed` -> `true` takes the
            sale away.
        author, reviewer: who asked and who agreed, two persons; "" has not been reviewed.
        reason: why it cannot wait.
    """

    id: str
    sale: str
    fields: Mapping[str, str]
    author: str
    reason: str
    reviewer: str = ""


def changed_fields(old: FlashSalePolicy, new: FlashSalePolicy) -> tuple[str, ...]:
    """Names of the fields in which two forms of a sale differ, in their order."""
    return tuple(
        each.name for each in fields(old) if getattr(old, each.name) != getattr(new, each.name)
    )


def require_editable(
    name: str,
    forms: tuple[FlashSalePolicy, FlashSalePolicy | None],
    now_s: float,
    corrections: tuple[Correction, ...] = (),
) -> None:
    """Refuse an edit of a frozen sale that nobody has reviewed.

    Args:
        forms: the sale as it is, and as it shall be; None takes it away.
        corrections: those that were reviewed.

    Raises:
        Refused: `sale_frozen`, with the fields and until when.
    """
    old, new = forms
    if not old.frozen_from_s <= now_s < old.ends_at_s:
        return
    changed = (REMOVED,) if new is None else changed_fields(old, new)
    open_fields = [each for each in changed if not _agreed(name, each, new, corrections)]
    if open_fields:
        raise Refused(
            "sale_frozen",
            f"the sale {name} is frozen from {old.frozen_s:g} s before its opening to its end; "
            f"{', '.join(open_fields)} would change: propose a correction, and let somebody else "
            "review it",
            {"sale": name, "fields": open_fields, "until_s": old.ends_at_s},
        )


def require_known(sale: str, fields_set: Mapping[str, str]) -> None:
    """Refuse a correction of nothing, or of what no sale has.

    Raises:
        Invalid: `correction_invalid`, with the names that there are.
    """
    known = {REMOVED, *(each.name for each in fields(FlashSalePolicy))}
    unknown = sorted(set(fields_set) - known)
    if unknown or not fields_set:
        raise Invalid(
            "correction_invalid",
            f"a correction of the sale {sale} sets fields that it has: "
            f"{', '.join(unknown) or 'none'} given, {', '.join(sorted(known))} there are",
            {"sale": sale, "unknown": unknown},
        )


def require_review(correction: Correction) -> None:
    """Refuse a correction that its own author has reviewed, or that gives no reason.

    Raises:
        Refused: `correction_unreviewed`.
    """
    if not correction.reviewer or correction.reviewer == correction.author:
        raise Refused(
            "correction_unreviewed",
            f"a correction of the sale {correction.sale} is reviewed by somebody other than its "
            "author: ask a second operator",
            {"sale": correction.sale, "author": correction.author},
        )
    if not correction.reason.strip():
        raise Refused(
            "correction_unreviewed",
            f"a correction of the sale {correction.sale} says why: give a reason",
            {"sale": correction.sale},
        )


def _agreed(
    name: str, field: str, new: FlashSalePolicy | None, corrections: tuple[Correction, ...]
) -> bool:
    wanted = "true" if new is None else text_of(getattr(new, field))
    reviewed = (each for each in corrections if each.reviewer not in ("", each.author))
    return any(each.sale == name and each.fields.get(field) == wanted for each in reviewed)


def text_of(value: object) -> str:
    """A field's value as corrections write it: numbers shortest, lists with commas."""
    if isinstance(value, tuple):
        return ",".join(str(each) for each in value)
    if isinstance(value, float):
        return f"{value:.15g}"
    return str(value)

"""/v1/sales: flash sales as they stand, their openings for gateways, corrections of frozen ones."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response, status
from pydantic import Field

from controlplane.api.dependencies import Operator, Services, Viewer, needs
from controlplane.api.wire.values import Items, Reason, Text, Wire, stamp, stamp_or_none
from controlplane.domain.access import Permission, Principal
from controlplane.domain.admission.flash_sale.life import Correction, Phase
from controlplane.domain.errors import Invalid
from controlplane.engine.operations.sales import Sale

router = APIRouter(prefix="/v1", tags=["sales"])

Name = Annotated[str, Path(max_length=100)]
# Nobody but a gateway has a use for a sale's secrets; viewers read configurations, too.
Gateway = Annotated[Principal, Depends(needs(Permission.SUBSCRIBE))]
TIMES = {"opens_at": "opens_at_s", "ends_at": "ends_at_s"}


class SaleOut(Wire):
    """A sale as it stands for the control plane; what is sold, only the shop knows."""

    name: str
    item: str
    stock: int
    phase: Phase
    opens_at: datetime
    ends_at: datetime
    opened_at: datetime | None
    frozen: bool


class OpeningOut(Wire):
    """The secrets of an open sale."""

    sale: str
    item: str
    opens_at_s: float
    token: str
    key: str
    opened_at_s: float


class CorrectionIn(Wire):
    """What a frozen sale shall have instead: names as in the fleet file, values as text."""

    fields: Annotated[dict[Text, Text], Field(min_length=1, max_length=30)]
    reason: Reason


class CorrectionOut(Wire):
    """A correction; `reviewer` is null until somebody else has agreed."""

    id: str
    sale: str
    fields: dict[str, str]
    author: str
    reason: str
    reviewer: str | None


@router.get("/sales")
async def list_sales(services: Services, _caller: Viewer) -> Items[SaleOut]:
    """Every declared sale, by name."""
    return Items(items=[_sale(sale) for sale in services.operations.sales.all()])


@router.get("/sales/{name}")
async def read_sale(services: Services, _caller: Viewer, name: Name) -> SaleOut:
    """One sale."""
    return _sale(services.operations.sales.named(name))


@router.get("/sales/{name}/opening")
async def read_opening(
    services: Services, _caller: Gateway, name: Name, response: Response
) -> OpeningOut:
    """The purchase token and the form key; 425 before the opening, when there are none."""
    opening = await services.operations.sales.opening(name)
    response.headers["Cache-Control"] = "no-store"
    return OpeningOut(
        sale=opening.sale,
        item=opening.item,
        opens_at_s=opening.opens_at_s,
        token=opening.token,
        key=opening.key,
        opened_at_s=opening.opened_at_s,
    )


@router.get("/sales/{name}/corrections")
async def list_corrections(services: Services, _caller: Viewer, name: Name) -> Items[CorrectionOut]:
    """What was proposed for a sale."""
    return Items(items=[_correction(one) for one in services.operations.sales.corrections(name)])


@router.post("/sales/{name}/corrections", status_code=status.HTTP_201_CREATED)
async def propose_correction(
    services: Services, caller: Operator, name: Name, wanted: CorrectionIn
) -> CorrectionOut:
    """Propose a change of a frozen sale."""
    fields = dict(_field(key, value) for key, value in wanted.fields.items())
    made = await services.operations.sales.propose(name, fields, caller, wanted.reason)
    return _correction(made)


@router.post("/sales:corrections/{correction}:approve")
async def approve_correction(
    services: Services, caller: Operator, correction: Name
) -> CorrectionOut:
    """Agree to somebody else's correction; then the fleet file that has it can be applied."""
    return _correction(await services.operations.sales.approve(correction, caller))


def _field(key: str, value: str) -> tuple[str, str]:
    if key not in TIMES:
        return key, value
    try:
        moment = datetime.fromisoformat(value)
        moment_s = moment.timestamp()
    except (ValueError, OverflowError) as error:
        raise _no_time(key) from error
    if moment.tzinfo is None:
        raise _no_time(key)
    return TIMES[key], f"{moment_s:.15g}"


def _no_time(key: str) -> Invalid:
    return Invalid(
        "correction_invalid", f"{key} is a time with its zone, as 2030-12-31T08:00:00Z: correct it"
    )


def _sale(sale: Sale) -> SaleOut:
    return SaleOut(
        name=sale.name,
        item=sale.policy.item,
        stock=sale.policy.stock,
        phase=sale.phase,
        opens_at=stamp(sale.policy.opens_at_s),
        ends_at=stamp(sale.policy.ends_at_s),
        opened_at=stamp_or_none(sale.opened_at_s),
        frozen=sale.frozen,
    )


def _correction(one: Correction) -> CorrectionOut:
    return CorrectionOut(
        id=one.id,
        sale=one.sale,
        fields=dict(one.fields),
        author=one.author,
        reason=one.reason,
        reviewer=one.reviewer or None,
    )

"""POST /v1/samples: metrics come in; a bad sample is a finding in the answer, the rest count."""

import asyncio
import json
from collections.abc import Sequence

import orjson
from fastapi import APIRouter, Request, Response, status
from pydantic import ValidationError

from controlplane.api.dependencies import SampleSender, Services
from controlplane.api.wire.values import SampleIn, Wire, sendable
from controlplane.domain.errors import Invalid
from controlplane.domain.telemetry import Sample
from controlplane.engine.samples.receipts import SampleFinding

MOST_SAMPLES = 10_000
# Nobody sends measurements of an earlier time: such a clock was never set.
FIRST_SAMPLE_S = 946_684_800.0
# What the engine says about names stands in these fields.
FIELDS = {"service_not_found": "service", "cluster_not_found": "datacenter"}
# Digits of an integer that is certainly exact; longer ones are read as floats.
EXACT_DIGITS = 18
# A body above this takes more than 10 ms to check, so it leaves the event loop.
LARGE_BYTES = 64_000
BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["samples"],
                    "properties": {
                        "samples": {
                            "type": "array",
                            "maxItems": MOST_SAMPLES,
                            "items": SampleIn.model_json_schema(),
                        }
                    },
                }
            }
        },
    }
}

router = APIRouter(prefix="/v1", tags=["samples"])

Read = tuple[list[tuple[int, Sample]], list[SampleFinding]]


class FindingOut(Wire):
    """What is wrong with one sample; `index` counts from 0 in the call."""

    index: int
    code: str
    field: str
    message: str


class ReceiptOut(Wire):
    """Answer to one call; `accepted` counts suspicious samples too, which are findings."""

    accepted: int
    findings: list[FindingOut]


@router.post("/samples", status_code=status.HTTP_202_ACCEPTED, openapi_extra=BODY)
async def send_samples(
    request: Request, response: Response, services: Services, _caller: SampleSender
) -> ReceiptOut:
    """Take samples: 202 when all count, 200 when some are findings."""
    body = await request.body()
    now_s = services.instruments.now()
    if len(body) > LARGE_BYTES:
        indexed, malformed = await asyncio.to_thread(_read, body, now_s)
    else:
        indexed, malformed = _read(body, now_s)
    receipt = await services.intake.accept([sample for _, sample in indexed])
    # Engine findings count in what was well-formed; callers count in what they sent.
    found = (*receipt.findings, *receipt.suspicious)
    judged = [(indexed[finding.index][0], finding) for finding in found]
    findings = [*((finding.index, finding) for finding in malformed), *judged]
    services.intake.refuse(malformed)
    if findings:
        response.status_code = status.HTTP_200_OK
    return ReceiptOut(accepted=receipt.accepted, findings=_findings(findings))


def _findings(found: Sequence[tuple[int, SampleFinding]]) -> list[FindingOut]:
    return [
        FindingOut(
            index=index,
            code=one.code,
            field=sendable(one.field or FIELDS.get(one.code, "")),
            message=sendable(one.message),
        )
        for index, one in sorted(found, key=lambda pair: pair[0])
    ]


def _read(body: bytes, now_s: float) -> Read:
    indexed: list[tuple[int, Sample]] = []
    findings: list[SampleFinding] = []
    for index, item in enumerate(_items(body)):
        try:
            sample = SampleIn.model_validate(item).sample(now_s)
        except ValidationError as error:
            findings.append(_malformed(index, item, error))
            continue
        if sample.time_s < FIRST_SAMPLE_S:
            findings.append(_unset_clock(index, sample))
        else:
            indexed.append((index, sample))
    return indexed, findings


def _items(body: bytes) -> list[object]:
    try:
        content = _content(body)
    except (ValueError, RecursionError) as error:
        raise Invalid(
            "samples_unreadable", f"the body is not JSON: {error}; send a list of samples"
        ) from error
    items = content.get("samples") if isinstance(content, dict) else content
    if not isinstance(items, list):
        raise Invalid(
            "samples_unreadable", 'the body must be {"samples": [...]} or a list of samples'
        )
    if len(items) > MOST_SAMPLES:
        raise Invalid(
            "too_many_samples",
            f"the call has {len(items)} samples; the limit is {MOST_SAMPLES}: send several calls",
        )
    return items


def _content(body: bytes) -> object:
    """The JSON of a body; NaN and what is beyond every float are read, so that the one sample that
    has it is judged and the others count."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return json.loads(body.decode(), parse_int=_integer)


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= EXACT_DIGITS else float(digits)


def _unset_clock(index: int, sample: Sample) -> SampleFinding:
    return SampleFinding(
        index=index,
        code="sample_malformed",
        field="time",
        message="time: it is before the year 2000; check the sender's clock and unit (seconds)",
        subject=(sample.service, sample.datacenter),
    )


def _malformed(index: int, item: object, error: ValidationError) -> SampleFinding:
    fault = error.errors(include_url=False)[0]
    field = str(fault["loc"][0])[:80] if fault["loc"] else ""
    message = f"{field}: {fault['msg']}" if field else "a sample must be an object with fields"
    named = item if isinstance(item, dict) else {}
    service, datacenter = named.get("service"), named.get("datacenter")
    subject = ("", "")
    if isinstance(service, str) and isinstance(datacenter, str):
        subject = (service, datacenter)
    return SampleFinding(
        index=index, code="sample_malformed", field=field, message=message, subject=subject
    )

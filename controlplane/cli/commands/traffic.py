"""Commands about what is in force: status, weights, watch."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from controlplane.cli import output
from controlplane.cli.commands import findings
from controlplane.cli.connection import JsonOption, connect

WEIGHTS = "/v1/weights"
SERVICES = "/v1/services"
GATEWAYS = "/v1/gateways"
SOURCES = "/v1/sources"
WATCH = "/v1/watch"
WHOLE = 10_000
# Right after a first `apply` the snapshot is a moment away; later it is answered at once.
FIRST = {"wait": 5}


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(status)
    app.command()(weights)
    app.command()(watch)


def status(context: typer.Context, as_json: JsonOption = False) -> None:
    """Show what is in force and which gateway runs, acknowledged or refused what."""
    client = connect(context)
    gateways = client.whole(GATEWAYS)
    services = client.items(SERVICES)
    sources = client.items(SOURCES)
    standing = client.items(findings.FINDINGS)
    if as_json:
        whole = {"services": services, "sources": sources, "findings": standing}
        output.emit({**whole, **gateways})
        return
    output.facts(
        (
            ("revision", gateways["revision"] or "nothing is published"),
            ("version", output.short(gateways["version"])),
            *((("late cycles", late),) if (late := gateways["late_cycles"]) else ()),
        )
    )
    _show_services(services)
    _show_sources(sources)
    _show_planes(gateways["planes"])
    _show_gateways(gateways["items"])
    if standing:
        print()
        findings.table(standing)


def weights(context: typer.Context, as_json: JsonOption = False) -> None:
    """Show the weights in force, in basis points and as shares."""
    answer = connect(context).get(WEIGHTS, FIRST)
    if as_json:
        output.emit(answer)
        return
    output.table(
        ("SERVICE", "VERSION", "SOURCE REGION", "DATACENTER", "WEIGHT", "SHARE"),
        (
            (s["service"], s["version"], s["source_region"], center, w, output.percent(w / WHOLE))
            for s in answer["weights"]
            for center, w in s["weights"].items()
        ),
    )


def watch(
    context: typer.Context,
    events: Annotated[
        int | None, typer.Option("--events", min=1, help="End after so many events.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Follow snapshots and decisions as they happen, until Ctrl-C."""
    for number, event in enumerate(connect(context).events(WATCH), start=1):
        data = json.loads(event.data)
        if as_json:
            output.emit_line({"id": event.id, "event": event.name, "data": data})
        else:
            print(f"{event.name:<10} {' '.join(_words(data))}", flush=True)
        if number == events:
            return


def _words(data: Mapping[str, Any]) -> Iterator[str]:
    """The simple members of an event as `name=value`."""
    for name, value in data.items():
        if isinstance(value, str | int | float):
            yield f"{name}={value}"


def _show_services(services: Sequence[Mapping[str, Any]]) -> None:
    print()
    output.table(
        ("SERVICE", "STRATEGY", "RUNG", "MODEL", "DATACENTER", "SHARE", "ENDPOINTS", "CPU",
         "RESPONSE ms", "SAMPLE AGE s"),
        (
            (
                s["name"],
                s["strategy"],
                s["ladder"]["rung"],
                output.short(s["model"]),
                c["name"],
                output.percent(c["share"]),
                c["endpoints"],
                output.percent((c["sample"] or {}).get("cpu_avg")),
                output.number((c["sample"] or {}).get("response_time_ms")),
                output.number(c["sample_age_s"]),
            )
            for s in services
            for c in s["datacenters"]
        ),
    )  # fmt: skip


def _show_sources(sources: Sequence[Mapping[str, Any]]) -> None:
    if not sources:
        return
    print()
    output.table(
        ("METRIC SOURCE", "KIND", "OUTCOME", "SAMPLES", "ASKED", "LAST SAMPLE", "URL"),
        (
            (
                s["name"],
                s["kind"],
                s["outcome"],
                s["samples"],
                output.when(s["asked"]),
                output.when(s["answered"]),
                s["url"],
            )
            for s in sources
        ),
    )


def _show_planes(planes: Sequence[Mapping[str, Any]]) -> None:
    print()
    output.table(
        ("DATA PLANE", "STATE", "REVISION", "SINCE", "MESSAGE"),
        (
            (p["plane"], p["state"], p["revision"], output.when(p["since"]), p["message"] or None)
            for p in planes
        ),
    )


def _show_gateways(gateways: Sequence[Mapping[str, Any]]) -> None:
    print()
    output.table(
        ("GATEWAY", "GROUP", "KIND", "CONNECTED", "REVISION", "UP TO DATE", "ACKS", "NACKS"),
        (
            (
                g["name"],
                g["group"],
                g["kind"],
                "yes" if g["connected"] else "no",
                g["revision"],
                "yes" if g["up_to_date"] else "no",
                g["acks"],
                g["nacks"],
            )
            for g in gateways
        ),
    )
    for gateway in gateways:
        if gateway["reason"]:
            print(f"{gateway['name']} is not up to date: {gateway['reason']}")

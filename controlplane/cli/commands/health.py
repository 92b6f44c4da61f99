"""Commands about health: what is well, and an observer that runs here."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from controlplane.cli import output
from controlplane.cli.connection import JsonOption, checked, connect
from controlplane.domain.errors import Invalid

HEALTH = "/v1/health"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(health)
    app.command()(observe)


def health(
    context: typer.Context,
    service: Annotated[str | None, typer.Argument(help="Of one service, each endpoint.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what is well: data centres, services and observers; or every endpoint of a service."""
    found = connect(context).get(HEALTH, {"service": service})
    if as_json:
        output.emit(found)
        return
    if service is not None:
        _show_endpoints(found["services"])
        return
    if found["held"]:
        output.note("too few observers can be believed: nothing changes its state")
    _show_centers(found["datacenters"])
    print()
    _show_services(found["services"])
    if found["observers"]:
        print()
        _show_observers(found["observers"])


def observe(
    context: typer.Context,
    name: Annotated[str, typer.Option("--name", help="Of this observer, as `health` shows it.")],
    command: Annotated[
        list[str] | None,
        typer.Option("--command", help="NAME=PROGRAM ARGUMENTS of a command check; repeat it."),
    ] = None,
) -> None:
    """Probe endpoints from here and report to the control plane until Ctrl-C."""
    from controlplane.observing import ObserveOptions, run

    target = checked(context)
    run(
        ObserveOptions(
            url=target.url,
            name=name,
            token=target.token or "",
            commands=dict(map(_command, command or ())),
        )
    )


def _command(text: str) -> tuple[str, tuple[str, ...]]:
    name, equals, program = text.partition("=")
    words = tuple(shlex.split(program))
    if not (name and equals and words):
        raise Invalid("option_invalid", f"--command is {text!r}; give NAME=PROGRAM ARGUMENTS")
    return name, words


def _show_centers(centers: Sequence[Mapping[str, Any]]) -> None:
    output.table(
        ("DATACENTER", "STATE", "SINCE", "DOWN"),
        (
            (
                one["datacenter"],
                one["state"],
                output.when(one["since"]),
                "everything" if one["down"] else ", ".join(one["down_services"]) or None,
            )
            for one in centers
        ),
    )


def _show_services(services: Sequence[Mapping[str, Any]]) -> None:
    output.table(
        ("SERVICE", "DATACENTER", "STATE", "SINCE", "USABLE", "UNHEALTHY"),
        (
            (
                one["service"],
                place["datacenter"],
                _state(one, place),
                output.when(place["since"]),
                output.percent(place["usable_share"]),
                sum(each["state"] == "unhealthy" for each in _endpoints(place)) or None,
            )
            for one in services
            for place in one["datacenters"]
        ),
    )


def _state(service: Mapping[str, Any], place: Mapping[str, Any]) -> str:
    if service["all_down"]:
        return f"all down: {service['policy']}"
    if place["down"]:
        return "down"
    return "up" if place["usable_share"] == 1 else "impaired"


def _show_observers(observers: Sequence[Mapping[str, Any]]) -> None:
    output.table(
        ("OBSERVER", "STATE", "HEARD", "ENDPOINTS"),
        ((o["name"], o["state"], output.when(o["heard"]), o["endpoints"]) for o in observers),
    )


def _show_endpoints(services: Sequence[Mapping[str, Any]]) -> None:
    output.table(
        ("DATACENTER", "CLUSTER", "ENDPOINT", "STATE", "USABLE", "SINCE", "WHY"),
        (
            (
                place["datacenter"],
                cluster["cluster"] or None,
                each["endpoint"],
                f"{each['state']}, flapping" if each["flapping"] else each["state"],
                "yes" if each["usable"] else "no",
                output.when(each["since"]),
                each["why"] or None,
            )
            for one in services
            for place in one["datacenters"]
            for cluster in place["clusters"]
            for each in cluster["endpoints"]
        ),
    )


def _endpoints(place: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for cluster in place["clusters"]:
        yield from cluster["endpoints"]

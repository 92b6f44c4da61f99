"""The command `envoy bootstrap`: what an Envoy starts with."""

import sys
from typing import Annotated

import typer

from controlplane.cli.target import Target
from controlplane.domain.errors import Invalid

app = typer.Typer(help="Envoy: what one starts with.", no_args_is_help=True)

HIGHEST_PORT = 65_535


@app.callback()
def group() -> None:
    """Envoy: what one starts with."""


@app.command()
def bootstrap(
    context: typer.Context,
    node: Annotated[str, typer.Option(help="The Envoy's id.")],
    group: Annotated[str, typer.Option(help="Its gateway group, as the fleet declares it.")],
    ads: Annotated[
        str, typer.Option(help="Where the control plane serves ADS, host:port.")
    ] = "127.0.0.1:18000",
    agent: Annotated[
        str, typer.Option(help="Where the agent serves its cache, host:port; empty for none.")
    ] = "127.0.0.1:18001",
    admin: Annotated[str, typer.Option(help="Envoy's own admin address, host:port.")] = (
        "127.0.0.1:9901"
    ),
    region: Annotated[str, typer.Option(help="Region that it stands in.")] = "local",
    zone: Annotated[str, typer.Option(help="Zone that it stands in.")] = "gateway",
) -> None:
    """Print the bootstrap file of one Envoy; the file holds the token, so keep it private."""
    from controlplane.adapters.envoy.bootstrap import BootstrapOptions, render

    target = context.find_object(Target)
    sys.stdout.write(
        render(
            BootstrapOptions(
                node=node,
                group=group,
                control_plane=_place(ads, "--ads"),
                agent=_place(agent, "--agent") if agent else None,
                token=(target.token if target is not None else None) or "",
                admin=_place(admin, "--admin"),
                region=region,
                zone=zone,
            )
        )
    )


def _place(text: str, option: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not (host and port.isascii() and port.isdigit() and int(port) <= HIGHEST_PORT):
        raise Invalid("option_invalid", f"{option} is {text!r}; give host:port")
    return host.strip("[]"), int(port)

"""The root of the command line: global options, every command, exit codes.

Installed as `signalbox`; `python -m controlplane` is the same.
"""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from controlplane.cli import connection, failures
from controlplane.cli.commands import (
    alerts,
    audit,
    changes,
    decisions,
    emergency,
    envoy,
    findings,
    fleet,
    health,
    incidents,
    intents,
    jobs,
    models,
    policies,
    processes,
    render,
    replay,
    reports,
    sales,
    samples,
    scenarios,
    token,
    traffic,
    training,
    webhooks,
)
from controlplane.cli.commands.routes import files, gray_release, group, history, life, match
from controlplane.domain.errors import ControlPlaneError

# 128 + SIGINT, as shells report it.
INTERRUPTED = 130

app = typer.Typer(
    name="signalbox",
    help="Learn how response time depends on load, and put the best traffic split on real "
    "data planes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def root(
    context: typer.Context,
    url: Annotated[
        str, typer.Option(envvar="SIGNALBOX_URL", help="Where `signalbox serve` answers.")
    ] = connection.DEFAULT_URL,
    token_file: Annotated[
        Path | None,
        typer.Option(
            envvar="SIGNALBOX_TOKEN_FILE", help="File with the token, else SIGNALBOX_TOKEN."
        ),
    ] = None,
) -> None:
    """Learn how response time depends on load; put the best split on real data planes."""
    context.obj = connection.target(url, token_file)


processes.register(app)
fleet.register(app)
traffic.register(app)
health.register(app)
render.register(app)
audit.register(app)
alerts.register(app)
replay.register(app)
emergency.register(app)
training.register(models.app)
reports.register(models.app)
for part in (life, gray_release, history, match, files):
    part.register(group.app)
app.add_typer(decisions.app, name="decisions")
app.add_typer(findings.app, name="findings")
app.add_typer(samples.app, name="samples")
app.add_typer(token.app, name="token")
app.add_typer(models.app, name="models")
app.add_typer(jobs.app, name="jobs")
app.add_typer(group.app, name="routes")
policies.register(app)
app.add_typer(envoy.app, name="envoy")
app.add_typer(intents.app, name="intents")
app.add_typer(scenarios.app, name="scenarios")
app.add_typer(sales.app, name="sales")
app.add_typer(changes.app, name="changes")
app.add_typer(webhooks.app, name="webhooks")
app.add_typer(incidents.app, name="incidents")


def main() -> None:
    """Run the command line; every error ends with the exit code of its kind (docs/cli.md)."""
    try:
        app()
    except ControlPlaneError as error:
        sys.exit(failures.report(error))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader (`| head`) has what it wanted; nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)

"""Commands that run a process here: serve, demo, gateway, simulate, backtest, dataset import.

The gateway agent and the training tools are programs of their own (`python -m gateway`,
`python -m training`); nothing here imports them. Their options are passed on as they are.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from controlplane.domain.errors import Invalid

PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True}

datasets = typer.Typer(help="Data sets of real metrics.", no_args_is_help=True)


def replace_process(module: str, arguments: Sequence[str]) -> None:
    """Become `python -m module`: signals and the exit code need no passing on."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, _command(module, arguments))


def run_module(module: str, arguments: Sequence[str]) -> int:
    """Run `python -m module` and return its exit code; what it prints goes to standard error."""
    sys.stdout.flush()
    done = subprocess.run(_command(module, arguments), stdout=sys.stderr, check=False)
    return done.returncode


def _command(module: str, arguments: Sequence[str]) -> list[str]:
    """The command of a module; -P, or a caller's folder `models` or `data` would hide ours."""
    return [sys.executable, "-P", "-m", module, *arguments]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(serve)
    app.command()(demo)
    app.command(context_settings=PASS_ON, add_help_option=False)(gateway)
    app.command(context_settings=PASS_ON, add_help_option=False)(simulate)
    app.command(context_settings=PASS_ON, add_help_option=False)(backtest)
    app.add_typer(datasets, name="dataset")


def serve() -> None:
    """Run the control plane until Ctrl-C; settings are SIGNALBOX_... variables."""
    from controlplane import serving, settings

    serving.run(settings.load())


def demo(
    minutes: Annotated[
        float, typer.Option(min=0.1, help="Length of the comparison under live scheduling.")
    ] = 5.0,
    leave: Annotated[
        bool, typer.Option("--exit", help="End after the report; else stay up until Ctrl-C.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option("--json", help="Write the figures to this file as JSON.")
    ] = None,
    directory: Annotated[
        Path | None, typer.Option(help="Keep logs and data here; else they are removed.")
    ] = None,
) -> None:
    """Show everything on one machine: a real Envoy, two data centres, learning, failover."""
    from controlplane.demo.control import ControlFailed
    from controlplane.demo.options import DemoOptions
    from controlplane.demo.processes import ChildFailed
    from controlplane.demo.run import run

    if report is not None and not report.parent.is_dir():
        # Known now, not after minutes of a run whose figures would be lost.
        raise Invalid("option_invalid", f"--json: there is no folder {report.parent}; make it")
    options = DemoOptions(minutes=minutes, leave=leave, report=report, directory=directory)
    try:
        run(options)
    except (ChildFailed, ControlFailed) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error


def gateway(context: typer.Context) -> None:
    """Run the gateway agent beside a proxy (all that follows goes to `python -m gateway`)."""
    replace_process("gateway", context.args)


def simulate(context: typer.Context) -> None:
    """Simulate a month with known truth (all options go to `python -m training simulate`)."""
    replace_process("training", ["simulate", *context.args])


def backtest(context: typer.Context) -> None:
    """Compare strategies in worlds of known truth (all goes to `python -m training backtest`)."""
    replace_process("training", ["backtest", *context.args])


@datasets.command(name="import", context_settings=PASS_ON, add_help_option=False)
def import_data(context: typer.Context) -> None:
    """Make a data set of CSV files or of a Prometheus (all goes to `python -m training import`)."""
    replace_process("training", ["import", *context.args])

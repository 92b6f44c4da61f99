"""How a command of `python -m training` ends: as its parent does, in exit codes, in one line.

Exit codes as docs/cli.md: 2 for input to be corrected, 5 refused, 6 for a source that is away, 130
interrupted.
"""

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from types import FrameType

import typer

from controlplane.domain.errors import ControlPlaneError, Invalid, Refused, Retryable
from models.errors import ArtifactError
from training import display

INVALID, REFUSED, RETRYABLE, INTERRUPTED = 2, 5, 6, 130


def run(command: Callable[[], None]) -> None:
    """Run a command line; SIGTERM stops it like Ctrl-C, an error is one line and an exit code."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        command()
    except ControlPlaneError as error:
        _refuse(error)
    except ArtifactError as error:
        _refuse(Invalid("model_invalid", f"these rows make no model: {error}"))
    except ModuleNotFoundError as error:
        message = (
            f"training needs {error.name}, which is missing: pip install -c constraints.txt "
            "'.[training]' in a checkout of Signalbox"
        )
        _refuse(Invalid("training_not_installed", message))
    except OSError as error:
        # Files that a command writes and reads say so themselves; what is left are temporary ones.
        message = f"{error}: look at rights and room, there and in {tempfile.gettempdir()}"
        _refuse(Invalid("out_unwritable", message))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def with_parent() -> None:
    """End from now on when standard input ends: with the process that started this one."""
    threading.Thread(target=_follow_parent, daemon=True).start()


def _refuse(error: ControlPlaneError) -> None:
    typer.echo(display.plain(f"error: {error.message} [{error.code}]"), err=True)
    codes = {Refused: REFUSED, Retryable: RETRYABLE}
    sys.exit(codes.get(type(error), INVALID))


def _follow_parent() -> None:
    """A parent that is killed cannot stop us; its end of the pipe closes in any case."""
    # Not sys.stdin: its lock, held here, would make the interpreter's own end fail.
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt

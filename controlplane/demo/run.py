"""The play: start everything, commission, schedule live, compare, fail over, report.

Called by `signalbox demo`. Every process that it starts is ended in any case.
"""

import asyncio
import contextlib
import json
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from controlplane.demo import acts
from controlplane.demo.options import DemoOptions
from controlplane.demo.processes import Interrupted, Processes
from controlplane.demo.report import Report, show
from controlplane.demo.screen import Board, Screen
from controlplane.demo.stage import stage
from controlplane.domain.errors import Invalid


def run(options: DemoOptions) -> None:
    """Play the demo; returns when it is over, with nothing left running.

    Raises:
        KeyboardInterrupt: it was interrupted before its report.
        Invalid: the folder for logs and data is not empty.
        ChildFailed: a part ended or did not become ready; the message shows the end of its log.
        ControlFailed: the control plane refused something; the message is its own.
    """
    try:
        with _directory(options) as directory, Processes(directory) as processes:
            asyncio.run(_play(options, processes, directory))
    except (asyncio.CancelledError, Interrupted) as interruption:
        raise KeyboardInterrupt from interruption


@contextlib.contextmanager
def _directory(options: DemoOptions) -> Iterator[Path]:
    if options.directory is not None:
        options.directory.mkdir(parents=True, exist_ok=True)
        if any(options.directory.iterdir()):
            raise Invalid(
                "demo_directory_not_empty",
                f"{options.directory} is not empty and the demo begins with an empty database; "
                "name a new folder",
            )
        yield options.directory
        return
    with tempfile.TemporaryDirectory(prefix="signalbox-demo-") as name:
        yield Path(name)


async def _play(options: DemoOptions, processes: Processes, directory: Path) -> None:
    begun_s = time.time()
    with Screen(Board()) as screen:
        async with stage(options, processes, directory, screen) as ready:
            _cancel_on_signals()
            commissioned, rate_rps = await acts.commission(ready)
            seconds_to_live = time.time() - begun_s
            live = await acts.compare_live(ready, rate_rps)
            outage = await acts.fail_over(ready)
            acks, nacks = await acts.acknowledgements(ready)
            report = Report(
                minutes=options.minutes,
                seconds_to_live=seconds_to_live,
                live=live,
                commissioned=commissioned,
                outage=outage,
                envoy_acks=acks,
                envoy_nacks=nacks,
            )
            show(report, screen)
            if options.report is not None:
                text = json.dumps(report.flat(), indent=2) + "\n"
                await asyncio.to_thread(options.report.write_text, text)
            if not options.leave:
                # Here an interruption is the ordinary end.
                with contextlib.suppress(asyncio.CancelledError):
                    await acts.stay(ready)


def _cancel_on_signals() -> None:
    """Ctrl-C and its like end the acts as a cancellation, so that every act can tidy up.

    Until then `Processes` turns them into `Interrupted`, which also ends a start that waits.
    """
    play = asyncio.current_task()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if play is not None:
            loop.add_signal_handler(number, play.cancel)

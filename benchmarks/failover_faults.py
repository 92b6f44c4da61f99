"""Faults of back ends: how each is done and undone.

Used by `benchmarks.failover`. Packets are lost by rules of nftables where they may be set, else by
a filter on the back ends' sockets.
"""

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from enum import StrEnum

from benchmarks.failover_backend import LOST_PCT, Behavior
from benchmarks.failover_front import Back

TABLE = f"signalbox_failover_{os.getpid()}"


class Fault(StrEnum):
    """What happens to the back ends; those `behind` answer checks as if nothing were wrong."""

    KILL = "kill"
    HANG = "hang"
    LOSS = "loss"
    SLOW = "slow"
    SLOW_BEHIND = "slow-behind"
    ERRORS = "errors"
    ERRORS_BEHIND = "errors-behind"


BEHAVIORS = {
    Fault.SLOW: Behavior.SLOW,
    Fault.SLOW_BEHIND: Behavior.SLOW_BEHIND,
    Fault.ERRORS: Behavior.ERRORS,
    Fault.ERRORS_BEHIND: Behavior.ERRORS_BEHIND,
    Fault.LOSS: Behavior.LOSSY,
}


def has_rules() -> bool:
    """Whether rules of nftables can be set here."""
    return os.geteuid() == 0 and _nft("list tables\n")


def begin(fault: Fault, backs: Sequence[Back]) -> None:
    """Let it happen, now."""
    if fault in (Fault.KILL, Fault.HANG):
        number = signal.SIGKILL if fault is Fault.KILL else signal.SIGSTOP
        for back in backs:
            back.signal(number)
    elif fault is Fault.LOSS and has_rules():
        _nft(_rules([port for back in backs for port in back.ports]))
    else:
        for back in backs:
            back.tell(BEHAVIORS[fault])


async def end(fault: Fault, backs: Sequence[Back]) -> None:
    """Undo it and wait until the back ends answer as before."""
    if fault is Fault.KILL:
        await asyncio.gather(*(back.revive() for back in backs))
    elif fault is Fault.HANG:
        for back in backs:
            back.signal(signal.SIGCONT)
    elif fault is Fault.LOSS and has_rules():
        _nft(f"delete table inet {TABLE}\n")
    else:
        for back in backs:
            await back.told()
            back.tell(Behavior.WELL)
            await back.told()


def _rules(ports: Sequence[int]) -> str:
    listed = ", ".join(map(str, ports))
    lost = f"numgen random mod 100 < {LOST_PCT} drop"
    return (
        f"table inet {TABLE} {{\n chain input {{\n  type filter hook input priority 0;\n"
        f"  tcp dport {{ {listed} }} {lost}\n  tcp sport {{ {listed} }} {lost}\n }}\n}}\n"
    )


def _nft(commands: str) -> bool:
    binary = shutil.which("nft", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if binary is None:
        return False
    done = subprocess.run(
        [binary, "-f", "-"], input=commands.encode(), capture_output=True, check=False
    )
    return done.returncode == 0

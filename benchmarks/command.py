"""The command line that all benchmarks have: `--quick`, and `--json` for figures that are read.

Called by the `main` of each. `--quick` ends within 50 s; `--json` ends the output with one line.
"""

import argparse
import json
import sys
from collections.abc import Mapping


def parser(description: str | None, *, quick: str) -> argparse.ArgumentParser:
    """Both options, for a benchmark that has more of them.

    Args:
        quick: what `--quick` leaves out.
    """
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--quick", action="store_true", help=quick)
    made.add_argument("--json", action="store_true", help="end with one line of JSON")
    return made


def options(description: str | None, *, quick: str) -> argparse.Namespace:
    """What was asked for: `quick` and `json`."""
    return parser(description, quick=quick).parse_args()


def told(words: str) -> None:
    """Say on standard error how far it is, so that whoever waits sees life; no figure."""
    print(words, file=sys.stderr, flush=True)


def end(given: argparse.Namespace, name: str, figures: Mapping[str, float]) -> None:
    """Print the line of figures, if it was asked for."""
    if given.json:
        print(json.dumps({"benchmark": name, "figures": dict(figures)}))

"""What every test shares: the report of the acceptance tests and the soak.

An acceptance test states its line in the first line of its docstring and its figures with
pytest's own `record_property(name, value)`; the report lists line, figures and verdict.
"""

from pathlib import Path

import pytest

SHOWN = tuple(Path(__file__).parent / name for name in ("acceptance", "soak"))
# What misses its limit is marked as an expected failure, with the reason.
VERDICTS = {"passed": "holds", "failed": "FAILS", "skipped": "NOT SHOWN", "xfailed": "MISSES"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and item.path.parent in SHOWN:
            lines = (item.function.__doc__ or item.name).strip().splitlines()
            item.user_properties.append(("line", lines[0]))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    rows = [row for report in _reports(terminalreporter) for row in _rows(report)]
    if rows:
        terminalreporter.section("acceptance")
        for row in rows:
            terminalreporter.write_line(row)


def _reports(terminal: pytest.TerminalReporter) -> list[pytest.TestReport]:
    reports = [report for verdict in VERDICTS for report in terminal.stats.get(verdict, [])]
    errors = [report for report in terminal.stats.get("error", []) if hasattr(report, "when")]
    return [r for r in reports + errors if "line" in dict(getattr(r, "user_properties", ()))]


def _rows(report: pytest.TestReport) -> list[str]:
    figures = dict(report.user_properties)
    line = figures.pop("line")
    outcome = "xfailed" if hasattr(report, "wasxfail") else report.outcome
    head = f"{VERDICTS[outcome]:>9}  {line}"
    return [head, *(f"{'':>9}    {name} = {value}" for name, value in figures.items())]

"""Every code that the source can raise has its row in docs/errors.md, with the right status."""

import ast
import re
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

from controlplane.api.edge import problems
from controlplane.cli.failures import EXIT_CODES, OTHER
from controlplane.domain import errors

ROOT = Path(__file__).parents[2]
TREES = ("controlplane", "gateway", "models", "training")
KINDS = {kind.__name__: kind for kind in problems.STATUS_OF_KIND}
KINDS["ControlPlaneError"] = errors.ControlPlaneError
# Functions that pass a code on to a kind, with the kind and the position of the code.
CARRIERS = {"_at": ("Invalid", 1), "_failure": ("Invalid", 0), "state_after": ("Conflict", 0)}
FINDING = "SampleFinding"
CODE = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| (\S+) \| (\S+) \| (.+) \| (.+) \|$", re.MULTILINE)


def raised() -> Iterator[tuple[str, str]]:
    """(code, kind) of each constructed error; findings have the kind `finding`."""
    for tree in TREES:
        for path in sorted((ROOT / tree).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call):
                    yield from _codes(node)


def _codes(call: ast.Call) -> Iterator[tuple[str, str]]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    name = call.func.id if isinstance(call.func, ast.Name) else name
    kind, position = CARRIERS.get(name, (name if name in KINDS else "", 0))
    if kind and len(call.args) > position:
        yield from _constant(call.args[position], kind)
    if name == FINDING:
        for keyword in call.keywords:
            if keyword.arg == "code":
                yield from _constant(keyword.value, "finding")


def _constant(node: ast.expr, kind: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if CODE.fullmatch(node.value):
            yield node.value, kind
    elif isinstance(node, ast.IfExp):
        yield from _constant(node.body, kind)
        yield from _constant(node.orelse, kind)


def documented() -> dict[tuple[str, str], tuple[str, str]]:
    """(code, kind) -> (HTTP status, exit code) as the table says."""
    rows = ROW.findall((ROOT / "docs" / "errors.md").read_text(encoding="utf-8"))
    table = {(code, kind): (status, exit_) for code, kind, status, exit_, _, _ in rows}
    assert len(table) == len(rows), "a row occurs twice"
    return table


def test_every_code_in_the_source_is_documented() -> None:
    assert sorted(set(raised()) - set(documented())) == []


def test_every_documented_code_is_in_the_source() -> None:
    assert sorted(set(documented()) - set(raised())) == []


def test_the_table_has_the_statuses_and_exit_codes_of_the_program() -> None:
    for (code, kind), (status, exit_) in documented().items():
        if kind == "finding":
            assert (status, exit_) == ("200", "2"), code
            continue
        error = KINDS[kind](code, "words")
        answered = {
            int(problems.status_of(error, conditional=conditional)) for conditional in (False, True)
        }
        assert {int(part) for part in status.split("/")} == answered, code
        assert int(exit_) == EXIT_CODES.get(KINDS[kind], OTHER), code


def test_codes_with_a_status_of_their_own_exist() -> None:
    codes = {code for code, _ in raised()}
    assert set(problems.STATUS_OF_CODE) <= codes
    assert all(isinstance(status, HTTPStatus) for status in problems.STATUS_OF_CODE.values())

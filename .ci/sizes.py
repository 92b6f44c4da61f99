"""Refuse modules, functions and signatures that outgrew their concept.

Called by `make lint` as `python .ci/sizes.py`. Limits: 400 lines a module, 50 lines a function
without its docstring, 5 parameters without self and cls (keyword-only ones count). Exempt from
the parameter limit: functions decorated as an endpoint or a command in controlplane/api,
controlplane/cli and __main__ modules, whose parameters are the wire; and tests, whose parameters
are fixtures.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TREES = ("controlplane", "gateway", "models", "training", "benchmarks", "tests", ".ci")
MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 50
MAX_PARAMETERS = 5
WIRE_DECORATORS = frozenset(
    {"api_route", "callback", "command", "delete", "get", "patch", "post", "put", "websocket"}
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


def findings(path: Path, source: str) -> Iterator[str]:
    """Yield one line for each limit that the module at `path` (relative to the root) breaks."""
    lines = len(source.splitlines())
    if lines > MAX_MODULE_LINES:
        yield f"{path}: {lines} lines, the limit is {MAX_MODULE_LINES}: split it by concept"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, Function):
            yield from _function_findings(path, node)


def _function_findings(path: Path, node: Function) -> Iterator[str]:
    place = f"{path}:{node.lineno}: {node.name}"
    lines = _lines(node)
    if lines > MAX_FUNCTION_LINES:
        yield f"{place}: {lines} lines, the limit is {MAX_FUNCTION_LINES}: name its parts"
    parameters = _parameters(node)
    if parameters > MAX_PARAMETERS and not _is_wire(path, node):
        yield (
            f"{place}: {parameters} parameters, the limit is {MAX_PARAMETERS}:"
            " what travels together is a dataclass"
        )


def _lines(node: Function) -> int:
    assert node.end_lineno is not None
    lines = node.end_lineno - node.lineno + 1
    first = node.body[0]
    if ast.get_docstring(node, clean=False) is not None and first.end_lineno is not None:
        lines -= first.end_lineno - first.lineno + 1
    return lines


def _parameters(node: Function) -> int:
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args]
    if named and named[0].arg in {"self", "cls"}:
        named = named[1:]
    starred = [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    return len(named) + len(arguments.kwonlyargs) + len(starred)


def _is_wire(path: Path, node: Function) -> bool:
    if path.parts[0] == "tests":
        return True
    at_the_edge = path.parts[:2] in {
        ("controlplane", "api"),
        ("controlplane", "cli"),
        ("controlplane", "cli.py"),
    }
    return (at_the_edge or path.name == "__main__.py") and any(
        isinstance(decorator, ast.Call)
        and isinstance(decorator.func, ast.Attribute)
        and decorator.func.attr in WIRE_DECORATORS
        for decorator in node.decorator_list
    )


def main() -> int:
    """Print every finding; return 1 when there is one, else 0."""
    found = [
        line
        for tree in TREES
        for path in sorted((ROOT / tree).rglob("*.py"))
        for line in findings(path.relative_to(ROOT), path.read_text(encoding="utf-8"))
    ]
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

"""Refuse modules, functions and signatures that outgrew their concept.

Called by `make lint` as `python .ci/sizes.py`. Limits: 400 lines a module, 50 lines a function
without its docstring, 5 parameters without self and cls (keyword-only ones count). Exempt from
the parameter limit: endpoints and commands in controlplane/api, controlplane/cli and __main__
modules, whose parameters are the wire (`@router.get(...)` above the function, or
`app.command(...)(function)`); and tests, whose parameters are fixtures.
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
    tree = ast.parse(source)
    wire = _wire_functions(tree) if _is_edge(path) else set()
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield from _length_findings(path, node)
            if node not in wire and path.parts[0] != "tests":
                yield from _parameter_findings(path, node)


def _length_findings(path: Path, node: Function) -> Iterator[str]:
    lines = _lines(node)
    if lines > MAX_FUNCTION_LINES:
        yield (
            f"{path}:{node.lineno}: {node.name}: {lines} lines, the limit is"
            f" {MAX_FUNCTION_LINES}: name its parts"
        )


def _parameter_findings(path: Path, node: Function) -> Iterator[str]:
    parameters = _parameters(node)
    if parameters > MAX_PARAMETERS:
        yield (
            f"{path}:{node.lineno}: {node.name}: {parameters} parameters, the limit is"
            f" {MAX_PARAMETERS}: what travels together is a dataclass"
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


def _is_edge(path: Path) -> bool:
    at_the_edge = path.parts[:2] in {
        ("controlplane", "api"),
        ("controlplane", "cli"),
    }
    return at_the_edge or path.name == "__main__.py"


def _wire_functions(tree: ast.Module) -> set[Function]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    registered = {
        argument.id
        for call in calls
        if _registers(call.func)
        for argument in call.args
        if isinstance(argument, ast.Name)
    }
    return {
        node
        for node in ast.walk(tree)
        if isinstance(node, Function)
        and (node.name in registered or any(map(_registers, node.decorator_list)))
    }


def _registers(expression: ast.expr) -> bool:
    return (
        isinstance(expression, ast.Call)
        and isinstance(expression.func, ast.Attribute)
        and expression.func.attr in WIRE_DECORATORS
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

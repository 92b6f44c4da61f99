"""A route as commands tell it: where it stands, how its gray release goes, what meets it."""

from collections.abc import Iterator, Mapping
from typing import Any

from controlplane.cli import output


def tell(answer: Mapping[str, Any], as_json: bool) -> None:
    """Print what a change made of a route, and what it has to do with others."""
    if as_json:
        output.emit(answer)
        return
    show(answer["route"])
    for conflict in answer["conflicts"]:
        output.note(f"note: {conflict['message']}")
    if not answer["changed"]:
        output.note("no difference")


def show(route: Mapping[str, Any]) -> None:
    """Print where a route stands, and how its gray release goes."""
    if route["life"] == "new":
        output.note(f"nothing is kept of route {route['id']}")
        return
    gray = route["gray"]
    output.facts(
        (
            ("route", route["id"]),
            ("life", route["life"]),
            *_changed(route),
            *(
                ()
                if gray is None
                else (
                    ("gray", step(gray)),
                    ("since", output.when(gray["since"])),
                    ("verdict", f"{gray['verdict'] or 'wait'}: {gray['reason'] or 'just begun'}"),
                )
            ),
        )
    )


def _changed(route: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Of what is on its way or retired; the history tells it of what is full."""
    if route["author"]:
        yield "author", route["author"]
        yield "changed", output.when(route["changed"])


def step(gray: Mapping[str, Any]) -> str:
    """The step that a gray release stands at, as `user 5.0 % (1 of 3)`."""
    now = gray["steps"][gray["step"]]
    part = " ".join(now["gateways"]) or output.percent(now["share"])
    return f"{gray['by']} {part} ({gray['step'] + 1} of {len(gray['steps'])})"

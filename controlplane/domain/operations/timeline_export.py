"""An incident's timeline as Markdown, to be read in the review and kept beside it.

The API gives the same as JSON.
"""

from collections.abc import Callable, Sequence

from controlplane.domain.operations.incidents import Incident
from controlplane.domain.operations.timeline import Entry

# Marks that would be markup, an entry's words being those of a sender.
_ESCAPED = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_{}[]<>#|~"} | {"\n": " "})


def markdown(incident: Incident, entries: Sequence[Entry], when: Callable[[float], str]) -> str:
    """The whole incident as one document.

    Args:
        when: a time (UTC epoch seconds) as text.
    """
    end = "still open" if incident.closed_s is None else when(incident.closed_s)
    lines = [
        f"# {_plain(incident.title)}",
        "",
        f"- incident: {incident.name}",
        f"- opened: {when(incident.opened_s)} by {_plain(incident.author)}",
        f"- closed: {end}",
        f"- entries: {len(entries)}",
        "",
        "| time | what | where | who |",
        "|---|---|---|---|",
        *(
            f"| {when(one.time_s)} | {one.kind}: {_plain(one.what)} | {_plain(one.subject)} "
            f"| {_plain(one.who) or '-'} |"
            for one in entries
        ),
    ]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    return text.translate(_ESCAPED)

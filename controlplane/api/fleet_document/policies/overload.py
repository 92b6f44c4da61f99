"""The kind `overload`: declared reads, when an upstream is protected, and how."""

from controlplane.api.fleet_document.policies.specs import listing, short_text, spec
from controlplane.api.fleet_document.reading import Place, choice, integer, number, text_of
from controlplane.domain.admission.overload.policy import (
    LONGEST_PATH,
    Alone,
    OverloadPolicy,
    Read,
)


def template(place: Place) -> str:
    """A path with parameters."""
    value = text_of(place)
    if value is None or not value.startswith("/") or len(value) > LONGEST_PATH:
        place.report("a path, as /shows/{show}/seats")
        return "/"
    return value


read = spec(Read, {"path": template, "query": listing(short_text), "method": short_text})
overload = spec(
    OverloadPolicy,
    {
        "reads": listing(read),
        "threshold": integer(0, 1_000_000_000),
        "window_s": number(1.0, 3_600.0),
        "lifetime_s": number(0.05, 3_600.0),
        "carried_s": number(0.0, 86_400.0),
        "token_s": number(0.05, 300.0),
        "wait_s": number(0.0, 60.0),
        "stale_s": number(0.0, 86_400.0),
        "most_waiting": integer(0, 100_000),
        "most_answer_bytes": integer(1, 67_108_864),
        "most_bytes": integer(1, 17_179_869_184),
        "alone": choice(Alone),
        "alone_share": number(0.001, 1.0),
    },
)

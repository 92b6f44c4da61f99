"""The kind `session_queue`: how many sessions are served at once, and how the others wait."""

from controlplane.api.fleet_document.policies.specs import listing, short_text, spec
from controlplane.api.fleet_document.reading import Place, choice, integer, number, switch, text_of
from controlplane.domain.admission.session_queue.policy import (
    LIMITS,
    LONGEST_KEYS,
    Alone,
    Gate,
    SessionQueuePolicy,
)

WHOLE = ("initial_size", "least_size", "most_size", "ticket_s", "most_waiting")


def key_set(place: Place) -> str:
    """A JWK set as text; what stands in it is looked at where it is used."""
    value = text_of(place)
    if value is None or len(value) > LONGEST_KEYS:
        place.report(f"a JWK set as a text of at most {LONGEST_KEYS} characters")
        return ""
    return value


session_queue = spec(
    SessionQueuePolicy,
    {
        **{
            name: integer(int(low), int(high)) if name in WHOLE else number(low, high)
            for name, low, high in LIMITS
        },
        "gate": choice(Gate),
        "finish_paths": listing(short_text),
        "bound_to_source": switch,
        "alone": choice(Alone),
        "keys": key_set,
        "revoked": listing(short_text),
        "title": short_text,
    },
)

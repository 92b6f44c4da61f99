"""The kind `regional_overflow`: load, form of messages, and which station is of which region."""

from controlplane.api.fleet_document.policies.specs import listing, short_text, spec
from controlplane.api.fleet_document.reading import choice, integer, name, number, switch
from controlplane.domain.admission.regional_overflow.policy import (
    MOST_MESSAGE_BYTES,
    Framing,
    FramingKind,
    RegionalOverflowPolicy,
    StationForm,
    StationGroup,
    StationId,
)

NUMBER = integer(0, 1 << 62)

framing = spec(
    Framing,
    {
        "kind": choice(FramingKind),
        "delimiter": short_text,
        "length_bytes": integer(1, 4),
        "counts_itself": switch,
        "fixed_bytes": integer(1, MOST_MESSAGE_BYTES),
        "most_bytes": integer(1, MOST_MESSAGE_BYTES),
    },
)
station_id = spec(
    StationId,
    {
        "form": choice(StationForm),
        "separator": short_text,
        "index": integer(0, 1_000),
        "offset": integer(0, MOST_MESSAGE_BYTES),
        "bytes": integer(1, 64),
    },
)
stations = spec(
    StationGroup,
    {"region": name, "prefixes": listing(short_text), "first": NUMBER, "last": NUMBER},
)
regional_overflow = spec(
    RegionalOverflowPolicy,
    {
        "alpha": number(0.0, 1.0),
        "connection_limit": integer(1, 1_000_000),
        "critical_load": number(0.01, 2.0),
        "return_load": number(0.01, 2.0),
        "tick_s": number(0.1, 60.0),
        "default_region": name,
        "replies": switch,
        "reply_s": number(0.05, 600.0),
        "redirect": short_text,
        "framing": framing,
        "station_id": station_id,
        "stations": listing(stations),
    },
)

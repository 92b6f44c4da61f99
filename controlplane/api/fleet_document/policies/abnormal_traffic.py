"""The kind `abnormal_traffic`: how clients are told apart, rules that score, and levels of risk."""

from controlplane.api.fleet_document.conditions import functions
from controlplane.api.fleet_document.policies.specs import listing, short_text, spec
from controlplane.api.fleet_document.reading import choice, integer, name, number
from controlplane.domain.admission.abnormal_traffic.policy import (
    MOST_SCORE,
    AbnormalTrafficPolicy,
    RiskLevel,
    ScoreRule,
    Signal,
)
from controlplane.domain.admission.asking import Verdict

BOUND = number(-1e12, 1e12)

abnormal_traffic = spec(
    AbnormalTrafficPolicy,
    {
        "client": listing(short_text),
        "window_s": number(1.0, 3_600.0),
        "hold_s": number(0.0, 86_400.0),
        "rules": listing(
            spec(
                ScoreRule,
                {
                    "name": name,
                    "score": integer(-MOST_SCORE, MOST_SCORE),
                    "signal": choice(Signal),
                    "at_least": BOUND,
                    "at_most": BOUND,
                    "requests": integer(1, 1_000_000),
                    "when": functions,
                },
            )
        ),
        "levels": listing(
            spec(
                RiskLevel,
                {
                    "at_least": integer(1, MOST_SCORE),
                    "verdict": choice(Verdict),
                    "service": name,
                },
            )
        ),
        "login_routes": listing(name),
        "open_routes": listing(name),
        "order_routes": listing(name),
        "header": short_text,
    },
)

"""The match functions that come with Signalbox: the registry that everything uses by default."""

import hashlib
import re
from collections.abc import Callable, Mapping

from controlplane.domain.routing.expressions import as_bytes
from controlplane.domain.routing.matching.conditions import Predicate, of_condition
from controlplane.domain.routing.matching.functions import Arguments, MatchFunction, Registry
from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.route import WHOLE, Condition, TextMatchType

_TOKEN = r"[a-z0-9][a-z0-9-]{0,62}"
_SHARE = r"[0-9]{1,4}|10000"

# Family -> what stands in the user agent, in any case.
FAMILIES: Mapping[str, str] = {
    "android": "android",
    "bot": "bot|crawl|spider|curl/|wget/|python|scrapy|headless|java/|okhttp|go-http-client",
    "ios": "iphone|ipad|ipod",
    "mini-program": "miniprogram",
    "wechat": "micromessenger",
}


def _risk_level(arguments: Arguments) -> tuple[Condition, ...]:
    low, high = arguments["at_least"], arguments["at_most"]
    digits = "".join(str(level) for level in range(int(low), int(high) + 1))
    # Nothing is neither space nor something else.
    expression = f"[{digits}]" if digits else r"[^\s\S]"
    return _header(arguments["header"], expression)


def _user_agent_family(arguments: Arguments) -> tuple[Condition, ...]:
    return _header("user-agent", f"(?i).*({FAMILIES[arguments['family']]}).*")


def _language(arguments: Arguments) -> tuple[Condition, ...]:
    return _header("accept-language", f"(?i){arguments['first']}([-,;].*)?")


def _referring_host(arguments: Arguments) -> tuple[Condition, ...]:
    host = re.escape(arguments["host"])
    return _header("referer", f"(?i)https?://{host}(:[0-9]+)?(/.*)?")


def _header(name: str, expression: str) -> tuple[Condition, ...]:
    kind = TextMatchType.REGULAR_EXPRESSION
    return (Condition(name=name, type=kind, value=expression),)


def _all_of(make: Callable[[Arguments], tuple[Condition, ...]]) -> Callable[[Arguments], Predicate]:
    """The predicate of a function that is nothing but plain conditions."""

    def made(arguments: Arguments) -> Predicate:
        predicates = [of_condition(condition) for condition in make(arguments)]
        return lambda request: all(holds(request) for holds in predicates)

    return made


def _hashed_share(arguments: Arguments) -> Predicate:
    name, low, high = arguments["header"], int(arguments["low"]), int(arguments["high"])

    def holds(request: Request) -> bool:
        value = request.headers.get(name)
        if value is None:
            return False
        first = int.from_bytes(hashlib.sha256(as_bytes(value)).digest()[:8], "big")
        return low <= first * WHOLE >> 64 < high

    return holds


PROVIDED: Registry = {
    "hashed_share": MatchFunction(
        description="The hash of a header is in a part of all, in ten-thousandths.",
        arguments={"header": None, "low": "0", "high": None},
        allowed={"header": _TOKEN, "low": _SHARE, "high": _SHARE},
        predicate=_hashed_share,
    ),
    "language": MatchFunction(
        description="The language that the caller names first.",
        arguments={"first": None},
        allowed={"first": r"[a-z]{2,3}"},
        predicate=_all_of(_language),
        lowered=_language,
    ),
    "referring_host": MatchFunction(
        description="The caller comes from a page of a host.",
        arguments={"host": None},
        allowed={"host": r"[a-z0-9][a-z0-9.-]{0,252}"},
        predicate=_all_of(_referring_host),
        lowered=_referring_host,
    ),
    "risk_level": MatchFunction(
        description="A header that a risk engine sets has a level, 0 to 9, in a range.",
        arguments={"header": "x-risk-level", "at_least": None, "at_most": "9"},
        allowed={"header": _TOKEN, "at_least": "[0-9]", "at_most": "[0-9]"},
        predicate=_all_of(_risk_level),
        lowered=_risk_level,
    ),
    "user_agent_family": MatchFunction(
        description="The user agent belongs to a family.",
        arguments={"family": None},
        allowed={"family": "|".join(sorted(FAMILIES))},
        predicate=_all_of(_user_agent_family),
        lowered=_user_agent_family,
    ),
}

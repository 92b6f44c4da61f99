"""What is remembered of one client: counts over a sliding window in six parts, in bounded memory.

Different paths are counted by linear counting (Whang et al., 1990): a path sets one of 256 bits,
and z bits left at zero mean 256 * ln(256 / z) paths, within a tenth up to about 500.
"""

import hashlib
import math
from dataclasses import dataclass, replace

from controlplane.domain.admission.abnormal_traffic.policy import AbnormalTrafficPolicy
from controlplane.domain.admission.asking import Asked

PARTS = 6
BITS = 256
FAILED = frozenset({401, 403})


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A sixth of the window; `number` counts sixths since time 0, `paths` is a set of bits."""

    number: int
    requests: int = 0
    failed_logins: int = 0
    orders: int = 0
    paths: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One client.

    Attributes:
        parts: of the window, oldest first.
        since_s: its first request after a pause of a whole window.
        opened_s: its first request of an opening route; None is never.
        took_s: from there to its first order; None when one of them is missing.
        blind: it has ordered without having opened.
        level: the highest that it has reached, held until `held_s`.
    """

    since_s: float
    parts: tuple[Part, ...] = ()
    opened_s: float | None = None
    took_s: float | None = None
    blind: bool = False
    level: int = 0
    held_s: float = -math.inf


def seen(policy: AbnormalTrafficPolicy, client: Client | None, asked: Asked) -> Client:
    """The client with one more request."""
    now_s = asked.now_s
    if client is None or _forgotten(policy, client, now_s):
        client = Client(since_s=now_s)
    elif not _window(policy, client, now_s):
        # After a pause its rate begins anew; what it has opened, and its level, do not.
        client = replace(client, since_s=now_s)
    order = asked.route in policy.order_routes
    part = _newest(policy, client, now_s)
    part = replace(
        part,
        requests=part.requests + 1,
        orders=part.orders + order,
        paths=part.paths | 1 << _bit(asked.request.path),
    )
    client = _with(policy, client, part, now_s)
    if asked.route in policy.open_routes and client.opened_s is None:
        client = replace(client, opened_s=now_s)
    if not order:
        return client
    if client.opened_s is None:
        return replace(client, blind=True)
    took_s = max(0.0, now_s - client.opened_s) if client.took_s is None else client.took_s
    return replace(client, took_s=took_s)


def answered(
    policy: AbnormalTrafficPolicy, client: Client, asked: Asked, status: int, now_s: float
) -> Client:
    """The client after the upstream's answer, which tells whether a login has failed."""
    if asked.route not in policy.login_routes or status not in FAILED:
        return client
    part = _newest(policy, client, now_s)
    return _with(policy, client, replace(part, failed_logins=part.failed_logins + 1), now_s)


def totals(policy: AbnormalTrafficPolicy, client: Client, now_s: float) -> Part:
    """The counts of the whole window."""
    parts = _window(policy, client, now_s)
    paths = 0
    for part in parts:
        paths |= part.paths
    return Part(
        number=0,
        requests=sum(part.requests for part in parts),
        failed_logins=sum(part.failed_logins for part in parts),
        orders=sum(part.orders for part in parts),
        paths=paths,
    )


def different(paths: int) -> float:
    """How many different paths a set of bits stands for."""
    zeros = max(1, BITS - paths.bit_count())
    return BITS * math.log(BITS / zeros)


def _forgotten(policy: AbnormalTrafficPolicy, client: Client, now_s: float) -> bool:
    """Whether it was silent for longer than anything is held."""
    newest = max((part.number for part in client.parts), default=0)
    silent_s = now_s - (newest + 1) * policy.window_s / PARTS
    return client.held_s <= now_s and silent_s > max(policy.window_s, policy.hold_s)


def _number(policy: AbnormalTrafficPolicy, now_s: float) -> int:
    return math.floor(now_s * PARTS / policy.window_s)


def _window(policy: AbnormalTrafficPolicy, client: Client, now_s: float) -> tuple[Part, ...]:
    newest = _number(policy, now_s)
    return tuple(part for part in client.parts if newest - PARTS < part.number <= newest)


def _newest(policy: AbnormalTrafficPolicy, client: Client, now_s: float) -> Part:
    number = _number(policy, now_s)
    return next((part for part in client.parts if part.number == number), Part(number=number))


def _with(policy: AbnormalTrafficPolicy, client: Client, part: Part, now_s: float) -> Client:
    others = (one for one in _window(policy, client, now_s) if one.number != part.number)
    return replace(client, parts=(*others, part))


def _bit(path: str) -> int:
    return hashlib.blake2b(path.encode("utf-8", "surrogatepass"), digest_size=1).digest()[0]

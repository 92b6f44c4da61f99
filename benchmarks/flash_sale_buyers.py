"""Ten thousand buyers of one sale, as cheap as Python can have them: raw protocols, callbacks.

Run as a process of its own by `benchmarks.flash_sale`, which tells it what to do on standard input
and reads what came of it from standard output. Buyers come over lines that are kept open, as from
an edge proxy that spreads them over the nodes; an order has a line of its own, because it waits.
"""

import asyncio
import json
import random
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Any, cast

import uvloop

LINES = 16
AGAIN_S = 0.05
PRESS_WITHIN_S = 0.3
DEADLINE_S = 10.0

Took = Callable[[int, bytes], None]


class Line(asyncio.Protocol):
    """One connection to a node; answers come in the order of what was asked."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._asked: deque[Took] = deque()
        self._came = b""

    @property
    def up(self) -> bool:
        """Whether it can be asked."""
        return self._transport is not None

    def ask(self, request: bytes, took: Took) -> None:
        """Send a request; `took` gets status and the whole answer, or 0 when the line is gone."""
        if self._transport is None:
            took(0, b"")
            return
        self._asked.append(took)
        self._transport.write(request)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        asked, self._asked = self._asked, deque()
        for took in asked:
            took(0, b"")

    def data_received(self, data: bytes) -> None:
        came = self._came + data
        while (head := came.find(b"\r\n\r\n")) >= 0:
            at = came.index(b"Content-Length: ") + 16
            end = head + 4 + int(came[at : came.index(b"\r\n", at)])
            if len(came) < end:
                break
            answer, came = came[:end], came[end:]
            self._asked.popleft()(int(answer[9:12]), answer)
        self._came = came


class Crowd:
    """All buyers, and what became of them."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self.sale: str = told["sale"]
        self.ports: list[int] = told["ports"]
        self.buyers: int = told["buyers"]
        self.presses: int = told["presses"]
        self.over_s: float = told["over_s"]
        self.opens_at_s: float = told["opens_at_s"]
        # No sale's node in between: every buyer sends the shop one order.
        self.direct: bool = told.get("direct", False)
        self.loop = asyncio.get_running_loop()
        self.lines: dict[int, list[Line]] = {port: [] for port in self.ports}
        self.idle: dict[int, list[Line]] = {port: [] for port in self.ports}
        self.purchase = b""
        self.answers: Counter[str] = Counter()
        self.accepted: dict[str, str] = {}
        self.waits_ms: list[float] = []
        self.last_s = 0.0
        self.open = self.buyers * self.presses
        self.done = asyncio.Event()

    async def connect(self) -> None:
        """Open all lines before the sale."""
        for port, lines in self.lines.items():
            for _ in range(LINES):
                lines.append(await self.line(port))

    async def line_of_order(self, port: int) -> Line:
        """A line to a node on which nobody waits for an order."""
        idle = self.idle[port]
        while idle:
            line = idle.pop()
            if line.up:
                return line
        return await self.line(port)

    async def line(self, port: int) -> Line:
        """A line to a node."""
        _, line = await self.loop.create_connection(Line, "127.0.0.1", port)
        return line

    async def run(self) -> None:
        """Let everybody come, and wait until everybody has an answer."""
        shift_s = self.loop.time() - time.time()
        began_s = self.opens_at_s + shift_s
        # So that the last press comes before the time is over.
        over_s = self.over_s - PRESS_WITHIN_S
        for number in range(self.buyers):
            comes_s = began_s + over_s * number / self.buyers
            buyer = Buyer(self, number)
            self.loop.call_at(comes_s, buyer.buy_directly if self.direct else buyer.look)
        async with asyncio.timeout(
            self.over_s + DEADLINE_S + max(0.0, self.opens_at_s - time.time())
        ):
            await self.done.wait()

    def pick(self, number: int) -> Line | None:
        """A line of the buyer's node, or of the next one that can be asked."""
        for step in range(len(self.ports)):
            lines = self.lines[self.ports[(number + step) % len(self.ports)]]
            line = lines[number // len(self.ports) % LINES]
            if line.up:
                return line
        return None

    def settled(self, outcome: str, asked_s: float) -> None:
        """One press was answered."""
        now_s = self.loop.time()
        self.answers[outcome] += 1
        self.waits_ms.append((now_s - asked_s) * 1_000)
        self.last_s = time.time() - self.opens_at_s
        self.open -= 1
        if self.open == 0:
            self.done.set()


class Buyer:
    """One buyer: the script object once, then the button as often as it is pressed."""

    __slots__ = ("crowd", "number", "orders", "user")

    def __init__(self, crowd: Crowd, number: int) -> None:
        self.crowd = crowd
        self.number = number
        self.user = b"u%d" % number
        self.orders = 0

    def look(self) -> None:
        """Fetch the script object, as the page does."""
        self._ask(b"GET /sales/%b/script.js" % self.crowd.sale.encode(), self._looked)

    def _looked(self, status: int, answer: bytes) -> None:
        crowd = self.crowd
        if not crowd.purchase:
            _, found, rest = answer.partition(b'"purchase":"')
            if found:
                crowd.purchase = rest.partition(b'"')[0]
        if status == 0 or not crowd.purchase:
            crowd.answers["looked_again"] += 1
            crowd.loop.call_later(AGAIN_S, self.look)
            return
        # Who has the address presses, whatever the script object says by now.
        self.press()
        for _ in range(crowd.presses - 1):
            crowd.loop.call_later(PRESS_WITHIN_S * random.random(), self.press)

    def press(self) -> None:
        """Ask for a form."""
        asked_s = self.crowd.loop.time()
        target = b"GET %b/form" % self.crowd.purchase

        def took(status: int, answer: bytes) -> None:
            if status == 200:
                self.orders += 1
                if self.orders == 1:
                    ticket = answer.partition(b'"ticket":"')[2].partition(b'"')[0]
                    self.crowd.loop.create_task(self._order(ticket, asked_s))
                else:
                    self.crowd.settled("form_again", asked_s)
            elif status in (0, 404):
                # Its node has died, or has not heard of the opening yet.
                self.crowd.answers["line_lost" if status == 0 else "not_open_here"] += 1
                self.crowd.loop.call_later(AGAIN_S, self.press)
            else:
                self.crowd.settled(_outcome(answer), asked_s)

        self._ask(target, took)

    def buy_directly(self) -> None:
        """Send the shop an order as a node would."""
        asked_s = self.crowd.loop.time()
        user, item = self.user.decode(), self.crowd.sale
        order = {"sale": item, "item": item, "orders": [{"id": f"{item}-{user}", "user": user}]}

        def took(status: int, answer: bytes) -> None:
            outcome = json.loads(answer.partition(b"\r\n\r\n")[2])["orders"][0]["outcome"]
            if outcome == "accepted":
                self.crowd.accepted[f"{item}-{user}"] = user
            self.crowd.settled(outcome, asked_s)

        line = self.crowd.lines[self.crowd.ports[0]][self.number % LINES]
        body = json.dumps(order).encode()
        kind = b"Content-Type: application/json\r\n"
        line.ask(self._request(b"POST /orders", body, kind), took)

    async def _order(self, ticket: bytes, asked_s: float) -> None:
        crowd = self.crowd
        body = b'{"ticket":"%b"}' % ticket
        target = b"POST %b/order" % crowd.purchase
        for turn in range(100):
            status, answer = await self._sent(self._request(target, body), turn)
            outcome = _outcome(answer) if status else "line_lost"
            if outcome in ("line_lost", "busy", "pending", "not_here"):
                crowd.answers[f"{outcome}_order"] += 1
                await asyncio.sleep(AGAIN_S)
                continue
            if outcome == "accepted":
                order = json.loads(answer.partition(b"\r\n\r\n")[2])["order"]
                crowd.accepted[order] = self.user.decode()
            break
        crowd.settled(outcome, asked_s)

    async def _sent(self, request: bytes, turn: int) -> tuple[int, bytes]:
        port = self.crowd.ports[(self.number + turn) % len(self.crowd.ports)]
        future: asyncio.Future[tuple[int, bytes]] = self.crowd.loop.create_future()
        try:
            line = await self.crowd.line_of_order(port)
        except OSError:
            return 0, b""
        line.ask(request, lambda status, answer: future.set_result((status, answer)))
        answered = await future
        self.crowd.idle[port].append(line)
        return answered

    def _ask(self, target: bytes, took: Took) -> None:
        line = self.crowd.pick(self.number)
        if line is None:
            took(0, b"")
        else:
            line.ask(self._request(target), took)

    def _request(self, target: bytes, body: bytes = b"", kind: bytes = b"") -> bytes:
        length = kind + (b"Content-Length: %d\r\n" % len(body) if body else b"")
        head = b"%b HTTP/1.1\r\nHost: sale\r\nCookie: sid=%b\r\n%b\r\n"
        return head % (target, self.user, length) + body


def _outcome(answer: bytes) -> str:
    return answer.partition(b'"outcome":"')[2].partition(b'"')[0].decode() or "unreadable"


async def buy() -> None:
    """Do what standard input says and tell what came of it."""
    crowd = Crowd(json.loads(sys.stdin.readline()))
    await crowd.connect()
    print("ready", flush=True)
    try:
        await crowd.run()
    except TimeoutError:
        crowd.last_s = float("inf")
    waits_ms = sorted(crowd.waits_ms) or [0.0]
    told = {
        "buyers": crowd.buyers,
        "answers": crowd.answers,
        "accepted": crowd.accepted,
        "all_answered_s": crowd.last_s,
        "unanswered": crowd.open,
        "wait_ms_p50": waits_ms[len(waits_ms) // 2],
        "wait_ms_p99": waits_ms[int(0.99 * (len(waits_ms) - 1))],
    }
    print(json.dumps(told), flush=True)


def run() -> None:
    """As a process of its own."""
    uvloop.run(buy())

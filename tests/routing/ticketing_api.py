"""A ticketing API of realistic size as OpenAPI: 2,000 paths, the same from the same seed.

    python -m tests.routing.ticketing_api > data/routes/ticketing-openapi.yaml

Paths have 4 to 8 segments, a fifth of them with parameters, like those of a railway's site: areas,
resources in them, items, their parts, and actions on these.
"""

import random
import sys
from collections.abc import Iterator

SEED = 5
PATHS = 2_000

AREAS = (
    "passport", "tickets", "orders", "payments", "refunds", "changes", "waitlist", "passengers",
    "members", "stations", "trains", "seats", "meals", "invoices", "notices", "gates", "groups",
    "insurance", "luggage", "support",
)  # fmt: skip
RESOURCES = (
    "accounts", "sessions", "captchas", "queries", "schedules", "prices", "stops", "carriages",
    "reservations", "drafts", "contracts", "receipts", "vouchers", "points", "levels", "contacts",
    "documents", "devices", "messages", "subscriptions", "calendars", "quotas", "transfers",
    "routes",
)  # fmt: skip
PARTS = (
    "items", "history", "status", "details", "attachments", "notes", "limits", "rules",
    "preferences", "summary",
)  # fmt: skip
ACTIONS = (
    "submit", "confirm", "cancel", "check", "init", "query", "resend", "lock", "release", "export",
)  # fmt: skip
READING = (("get",), ("get", "head"))
CHANGING = (("get", "post"), ("get", "put", "delete"), ("get", "patch"), ("get", "delete"))


def paths(count: int = PATHS, seed: int = SEED) -> dict[str, tuple[str, ...]]:
    """Path -> its methods, in the order of the paths."""
    chance = random.Random(seed)
    found: dict[str, tuple[str, ...]] = {}
    while len(found) < count:
        found.update(_family(chance))
    chosen = sorted(chance.sample(sorted(found), count))
    return {path: found[path] for path in chosen}


def _family(chance: random.Random) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Paths that belong together: a list, an item, parts of both, actions on these."""
    area, resource = chance.choice(AREAS), chance.choice(RESOURCES)
    version = chance.choice(("v1", "v1", "v2"))
    collection = f"/otn/{version}/{area}/{resource}"
    yield collection, chance.choice((*READING, ("get", "post")))
    for action in chance.sample(ACTIONS, 2):
        yield f"{collection}/{action}", chance.choice((("post",), ("get",), ("get", "post")))
    part = chance.choice(PARTS)
    yield f"{collection}/{part}", chance.choice(READING)
    for action in chance.sample(ACTIONS, 2):
        yield f"{collection}/{part}/{action}/{chance.choice(('web', 'app', 'gate'))}", ("post",)
    item = f"{collection}/{{{resource.removesuffix('s')}Id}}"
    if chance.random() < 0.5:
        yield item, chance.choice(CHANGING)
        yield f"{item}/{part}", chance.choice(READING)
        inner = f"{item}/{part}/{{{part.removesuffix('s')}No}}"
        yield f"{inner}/{chance.choice(ACTIONS)}", ("post",)


def document(count: int = PATHS, seed: int = SEED) -> str:
    """The description as YAML."""
    lines = [
        "openapi: 3.0.3",
        "info: {title: Ticketing, version: '2030.1'}",
        "servers: [{url: https://tickets.example}]",
        "paths:",
    ]
    for path, methods in paths(count, seed).items():
        lines.append(f"  {path}:")
        names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
        if names:
            lines.append("    parameters:")
            lines += [
                f"      - {{name: {name}, in: path, required: true, schema: {{type: string}}}}"
                for name in names
            ]
        lines += [
            f"    {method}: {{tags: [tickets], responses: {{default: {{description: answer}}}}}}"
            for method in methods
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(document())

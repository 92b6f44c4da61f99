"""An intent and a forecast as people read them. Called by the commands about intents."""

from collections.abc import Mapping
from typing import Any

from controlplane.cli import output


def show(intent: Mapping[str, Any], as_json: bool) -> None:
    """Print one intent, and the command that takes it back."""
    if as_json:
        output.emit(intent)
        return
    output.facts(
        (
            ("intent", intent["id"]),
            ("target", target_words(intent["target"])),
            *((("preset", _preset(intent["preset"])),) if intent.get("preset") else ()),
            ("state", intent["state"]),
            ("ended as", intent["ending"]),
            ("author", intent["author"]),
            ("reason", intent["reason"] or None),
            ("since", output.when(intent["created"])),
            ("expires", output.when(intent["expires"])),
            ("reserves", ", ".join(intent["joining"]) or None),
            ("limits", ", ".join(f"{s}: {_limit(o)}" for s, o in intent["limits"].items()) or None),
            ("revision", intent["published"] or None),
        )
    )
    for one in intent["progress"]:
        late = f", waiting for {', '.join(one['waiting'])}" if one["waiting"] else ""
        print(f"{one['plane']}: {one['done']} of {one['nodes']} gateways have it{late}")
    if intent["ending"] is None:
        output.note(f"take it back: signalbox intents undo {intent['id']}")


def show_forecast(forecast: Mapping[str, Any], as_json: bool) -> None:
    """Print what an intent would do."""
    if as_json:
        output.emit(forecast)
        return
    objection = forecast["objection"]
    print(f"refused: {objection['message']}" if objection else f"verdict: {forecast['verdict']}")
    if forecast["joining"]:
        print(f"reserves that join: {', '.join(forecast['joining'])}")
    for service, one in forecast["limits"].items():
        print(f"limited first: {service}: {_limit(one)}")
    for load in forecast["loads"]:
        if load["admitted_rps"] is not None:
            expected, admitted = (output.number(load[f"{x}_rps"]) for x in ("expected", "admitted"))
            print(f"{load['service']}: of {expected} requests/s {admitted} are let through")
    unknown = [load["service"] for load in forecast["loads"] if load["expected_rps"] is None]
    if unknown:
        print(f"load not known, room not judged: {', '.join(unknown)} (no fresh samples)")
    print()
    output.table(
        ("SERVICE", "DATACENTER", "NOW", "THEN", "SESSIONS THAT MOVE"),
        (
            (
                move["service"],
                center,
                output.percent(share),
                output.percent(move["after"].get(center, 0.0)),
                move["sessions"],
            )
            for move in forecast["moves"]
            for center, share in move["before"].items()
        ),
    )
    print()
    output.table(
        ("DATACENTER", "POOL", "CAPACITY", "USE NOW", "USE THEN"),
        (
            (
                pool["datacenter"],
                pool["pool"],
                output.number(pool["capacity"]),
                output.percent(pool["before"]),
                output.percent(pool["after"]),
            )
            for pool in forecast["pools"]
        ),
    )


def target_words(target: Mapping[str, str]) -> str:
    """What an intent is about: each named part, or `fleet`."""
    return " ".join(f"{kind}/{name}" for kind, name in target.items() if name) or "fleet"


def _preset(one: Mapping[str, Any]) -> str:
    """What it is and its numbers; the status is a block's alone."""
    return f"{_limit(one)} {one['status']}" if one["name"] == "block" else _limit(one)


def _limit(one: Mapping[str, Any]) -> str:
    words = [one["name"]]
    words += [f"{one['concurrent']} at once"] if one["concurrent"] else []
    words += [f"{one['waiting']} waiting"] if one["waiting"] else []
    words += [f"{one['rate_rps']:g}/s"] if one["rate_rps"] else []
    return " ".join(words)

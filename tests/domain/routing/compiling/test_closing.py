"""Guards that a plane cannot compare close their places."""

from controlplane.domain.findings import Observation
from controlplane.domain.routing.compiling.closing import closing
from controlplane.domain.routing.compiling.selection import Selection
from controlplane.domain.routing.route import FixedResponse, Route
from controlplane.domain.routing.whitelist import Whitelist


def lost(route_id: str, code: str = "route_not_expressible") -> Observation:
    return Observation(
        code=code, subject=f"route/{route_id}", message="m", held="the route is left out"
    )


def test_what_keeps_somebody_out_refuses_everybody() -> None:
    asked = Route(id="asked", service="web", authentication=("keys",))
    wall = Route(id="wall", response=FixedResponse(status=403), gateways=("edge",))
    routes = (
        asked,
        wall,
        Route(id="open", service="web"),
        Route(id="told", response=FixedResponse(status=200)),
        Route(id="elsewhere", response=FixedResponse(), gateways=("inner",)),
    )
    whitelist = Whitelist(id="w", hosts=("x",))
    notes = (*(lost(route.id) for route in routes), lost("whitelist/w"))
    kept = (Route(id="kept", service="web"),)
    found = closing(Selection(routes=kept, notes=notes), routes, (whitelist,), "edge")
    assert found.closed == {"asked", "wall", "whitelist/w"}
    assert [route.id for route in found.routes] == ["kept", "asked", "wall", "whitelist/w"]
    told = {note.subject: note.held for note in found.notes}
    assert told["route/asked"] == "everybody gets 403 at its host, path and methods"
    assert told["route/open"] == "the route is left out"


def test_what_is_harmless_closes_nothing() -> None:
    wall = Route(id="wall", response=FixedResponse(status=403))
    for code in ("route_path_never_matches", "route_action_refused"):
        found = closing(Selection(routes=(), notes=(lost("wall", code),)), (wall,), (), "edge")
        assert found.closed == frozenset()

"""The rules of one host as a matcher tree.

Called by `configuration`. Envoy's prefix map finds the longest key by raw prefix in time that does
not grow with the number of rules (`compiling.prefix_keys` says which rules stand at which
key). A list of routes is final: when none of it matches, Envoy does not go back to a shorter key. A
matcher in place of a list is not final: where it does not match, the next shorter key is asked.

Envoy does not check clusters that a matcher tree names (it acknowledges and answers 503), so a
rule for a service that is not in the snapshot must not get in here.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from envoy.config.route.v3 import route_components_pb2 as route_pb2
from xds.type.matcher.v3 import matcher_pb2

from controlplane.adapters.envoy.delegates import ListMatcher, OnMatch, header, header_is, whole
from controlplane.adapters.envoy.packing import extension
from controlplane.adapters.envoy.routing.tables import Table
from controlplane.adapters.envoy.routing.targets import of_targets
from controlplane.domain.routing.compiling.grouped_lists import Grouped, grouped
from controlplane.domain.routing.compiling.prefix_keys import Key, keys

Listed: TypeAlias = Callable[[Sequence[int]], OnMatch]


def matcher(table: Table, messages: Mapping[str, route_pb2.Route]) -> matcher_pb2.Matcher:
    """The tree.

    Args:
        messages: by id of the rule.
    """
    tree = matcher_pb2.Matcher.MatcherTree(input=header(":path"))
    entries = tree.prefix_match_map.map
    routes = [rule.route for rule in table]

    def listed(places: Sequence[int]) -> OnMatch:
        found = [messages[routes[n].id] for n in places]
        return OnMatch(action=extension("route", route_pb2.RouteList(routes=found)))

    for key in keys(routes):
        if key.hands_on:
            found = _for_own_paths(key, listed(key.rules))
        else:
            found = _asked(grouped(routes, key.rules), listed)
        entries[key.text].CopyFrom(found)
    return matcher_pb2.Matcher(matcher_tree=tree)


def _asked(rules: Grouped, listed: Listed) -> OnMatch:
    """Final like a list: what is in no group gets the rest."""
    rest = listed(rules.rest)
    if not rules.groups:
        return rest
    matchers = [
        ListMatcher.FieldMatcher(
            predicate=header_is(":path", whole(of_targets(group.patterns))),
            on_match=_asked(group.inside, listed),
        )
        for group in rules.groups
    ]
    return OnMatch(
        matcher=matcher_pb2.Matcher(matcher_list=ListMatcher(matchers=matchers), on_no_match=rest)
    )


def _for_own_paths(key: Key, listed: OnMatch) -> OnMatch:
    """What stands at a key for its own paths; the others are handed on to the next shorter key."""
    behind = r"(?:\?.*)?" if key.whole else "(?:[/?].*)?"
    own = header_is(":path", whole(f"{re.escape(key.text)}{behind}"))
    field = ListMatcher.FieldMatcher(predicate=own, on_match=listed)
    return OnMatch(matcher=matcher_pb2.Matcher(matcher_list=ListMatcher(matchers=[field])))

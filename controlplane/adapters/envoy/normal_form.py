"""The normal form of paths before any rule sees them: `matching.normalization` in Envoy.

Called by `listeners` and `configuration`. Envoy's own normalization reads some paths otherwise: it
takes a backslash for a slash and `..;` for `..`, escapes what no path may have, keeps lower-case
escapes and broken ones. So each table of routes first asks whether the path is in normal form, at
the cost of one regular expression. One that is not, or that is long, gets a route that switches a
script on, which is `normalized` line by line; it answers what has no normal form, and marks what
it has read, for the table to be asked again. All other requests do not know of the script.

Must never let a path pass that the script failed on: what is left on that route is answered 400.
The route also switches on what guards routes, because Envoy chooses filters by the first route
that it finds, which is this one.
"""

from envoy.config.route.v3 import route_components_pb2 as route_pb2
from envoy.extensions.filters.http.lua.v3 import lua_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as manager_pb2,
)
from xds.type.matcher.v3 import matcher_pb2, string_pb2

from controlplane.adapters.envoy.callers import GUARD
from controlplane.adapters.envoy.delegates import (
    ListMatcher,
    OnMatch,
    Predicate,
    all_of,
    any_of,
    header_is,
    negated,
    switch_on,
    whole,
)
from controlplane.adapters.envoy.packing import extension, packed
from controlplane.domain.routing.matching.normalization import LONGEST_PATH

# Characters of a path in normal form, with a dot and without; escapes of the others, never of a
# slash, a backslash or a control character.
_PLAIN = "A-Za-z0-9_~!$&'()*+,;=:@-"
_ESCAPE = "%(?:2[0-9A-C]|3[A-F]|40|5[BDE]|60|7[B-D]|[89A-F][0-9A-F])"
_ANY = f"(?:[.{_PLAIN}]|{_ESCAPE})"
_NO_DOT = f"(?:[{_PLAIN}]|{_ESCAPE})"
# Neither `.` nor `..`.
_SEGMENT = rf"(?:{_NO_DOT}{_ANY}*|\.{_NO_DOT}{_ANY}*|\.\.{_ANY}+)"
NORMAL = rf"/(?:{_SEGMENT}(?:/{_SEGMENT})*/?)?(?:\?.*)?"
# Paths of 500 characters, which the script counts exactly. Each host has a program of its own, so
# that no more is counted than what ordinary paths have.
LONG = r"[!->@-~]{500}\C*"
FILTER = "normal-form"
# Set by the script; listeners take it from what comes in, and tables from what goes out.
READ_HEADER = "x-signalbox-path-read"

SCRIPT = f"""\
local function unescaped(digits)
  local byte = #digits == 2 and tonumber(digits, 16)
  if not byte or byte < 32 or byte == 127 or byte == 47 or byte == 92 then error("escape") end
  local character = string.char(byte)
  if character:find("^[A-Za-z0-9._~-]$") then return character end
  return "%" .. digits:upper()
end

local function without_dot_segments(path)
  local kept, last = {{}}, ""
  for segment in (path:sub(2) .. "/"):gmatch("([^/]*)/") do
    last = segment
    if segment == ".." then
      kept[#kept] = nil
    elseif segment ~= "." then
      kept[#kept + 1] = segment
    end
  end
  if last == "." or last == ".." then kept[#kept + 1] = "" end
  return "/" .. table.concat(kept, "/")
end

local function normalized(path)
  if path:find("^/") == nil or path:find("[^A-Za-z0-9._~!$&'()*+,;=:@/%%-]") then error("path") end
  path = path:gsub("%%(%x?%x?)", unescaped)
  if path:find("/.", 1, true) then path = without_dot_segments(path) end
  return (path:gsub("//+", "/"))
end

function envoy_on_request(handle)
  local target = handle:headers():get(":path")
  if target == nil then return end
  local path, query = target:match("^([^?]*)(.*)$")
  if #path > {LONGEST_PATH} then
    return handle:respond({{[":status"] = "414"}}, "the path is too long")
  end
  local known, normal = pcall(normalized, path)
  if not known then
    return handle:respond({{[":status"] = "400"}}, "the path cannot be read in one way only")
  end
  if normal ~= path then handle:headers():replace(":path", normal .. query) end
  handle:headers():replace("{READ_HEADER}", "1")
end
"""


def normal_form_filter() -> manager_pb2.HttpFilter:
    """The HTTP filter; it stands before every other, and does nothing until a route says so."""
    script = lua_pb2.Lua()
    script.default_source_code.inline_string = SCRIPT
    return manager_pb2.HttpFilter(name=FILTER, typed_config=packed(script), disabled=True)


def read_first(table: OnMatch | None) -> matcher_pb2.Matcher:
    """A table that is asked for paths in normal form only; None finds no route for them."""
    reading = OnMatch(action=extension("route", _reading()))
    found = matcher_pb2.Matcher(
        matcher_list=ListMatcher(
            matchers=[ListMatcher.FieldMatcher(predicate=_unread(), on_match=reading)]
        )
    )
    if table is not None:
        found.on_no_match.CopyFrom(table)
    return found


def _unread() -> Predicate:
    odd = any_of(
        [negated(header_is(":path", whole(NORMAL))), header_is(":path", whole(LONG))],
    )
    return all_of([odd, negated(header_is(READ_HEADER, string_pb2.StringMatcher(exact="1")))])


def _reading() -> route_pb2.Route:
    message = route_pb2.Route(match=route_pb2.RouteMatch(prefix=""))
    message.direct_response.status = 400
    for name in (FILTER, GUARD):
        switch_on(message, name)
    return message

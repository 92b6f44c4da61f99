"""The normal form of paths before any rule sees them: `matching.normalization` in Envoy.

Called by `listeners`. Envoy's own normalization reads some paths otherwise: it takes a backslash
for a slash and `..;` for `..`, escapes what no path may have, keeps lower-case escapes and broken
ones. So a path that is in normal form already passes, at the cost of one regular expression, and
every other goes through a script that is `normalized` line by line. One that has no normal form is
answered there. Must never let a path pass that the script failed on.
"""

from envoy.extensions.filters.http.lua.v3 import lua_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as manager_pb2,
)

from controlplane.adapters.envoy.delegates import all_of, header_is, http_filter, negated, whole
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
# RE2 counts to 1,000, and a program may have 5,000 instructions; the script counts exactly.
LONG = ".{1000}" * 4 + ".*"

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
end
"""


def normal_form_filter() -> manager_pb2.HttpFilter:
    """The HTTP filter; it stands before every other."""
    script = lua_pb2.Lua()
    script.default_source_code.inline_string = SCRIPT
    normal = header_is(":path", whole(NORMAL))
    long = header_is(":path", whole(LONG))
    passes = all_of([normal, negated(long)])
    return http_filter("normal-form", "envoy.filters.http.lua", script, passes)

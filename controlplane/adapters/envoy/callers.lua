-- Who asks, and whether this route is for them.
--
-- `callers.py` puts data in front: WORDS, POLICIES and GRANTS. A route carries what it wants in
-- its metadata. Whatever goes wrong in here refuses the request, because an error in a script would
-- let it through.

local bit = require("bit")
local band, bor, bxor, bnot = bit.band, bit.bor, bit.bxor, bit.bnot
local ror, rshift, lshift, tobit, tohex = bit.ror, bit.rshift, bit.lshift, bit.tobit, bit.tohex

-- SHA-256 (FIPS 180-4): Envoy offers scripts no digest, and keys are known by theirs.
local K = {
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}

local function word(number)
  local high, low = rshift(number, 16), band(number, 65535)
  return string.char(rshift(high, 8), band(high, 255), rshift(low, 8), band(low, 255))
end

local function block(state, text, at)
  local w = {}
  for i = 1, 16 do
    local a, b, c, d = string.byte(text, at + 4 * i - 4, at + 4 * i - 1)
    w[i] = bor(lshift(a, 24), lshift(b, 16), lshift(c, 8), d)
  end
  for i = 17, 64 do
    local x, y = w[i - 15], w[i - 2]
    local s0 = bxor(ror(x, 7), ror(x, 18), rshift(x, 3))
    local s1 = bxor(ror(y, 17), ror(y, 19), rshift(y, 10))
    w[i] = tobit(w[i - 16] + s0 + w[i - 7] + s1)
  end
  local a, b, c, d, e, f, g, h = unpack(state)
  for i = 1, 64 do
    local s1 = bxor(ror(e, 6), ror(e, 11), ror(e, 25))
    local choice = bxor(band(e, f), band(bnot(e), g))
    local t1 = tobit(tobit(h + s1) + tobit(choice + K[i]) + w[i])
    local s0 = bxor(ror(a, 2), ror(a, 13), ror(a, 22))
    local majority = bxor(band(a, b), band(a, c), band(b, c))
    h, g, f, e, d, c, b, a = g, f, e, tobit(d + t1), c, b, a, tobit(t1 + tobit(s0 + majority))
  end
  local added = { a, b, c, d, e, f, g, h }
  for i = 1, 8 do state[i] = tobit(state[i] + added[i]) end
end

local function sha256(text)
  local state = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
  }
  local rest = (55 - #text) % 64
  local padded = text .. "\128" .. string.rep("\0", rest) .. word(0) .. word(8 * #text)
  for at = 1, #padded, 64 do block(state, padded, at) end
  local digits = {}
  for i = 1, 8 do digits[i] = tohex(state[i]) end
  return table.concat(digits)
end

local function of_cookie(headers, name)
  for pair in string.gmatch(headers:get("cookie") or "", "[^;]+") do
    local key, value = string.match(pair, "^%s*([^=]-)%s*=%s*(.-)%s*$")
    if key == name then return value end
  end
end

local function of_query(headers, name)
  local query = string.match(headers:get(":path") or "", "%?([^#]*)")
  for pair in string.gmatch(query or "", "[^&]+") do
    local key, value = string.match(pair, "^([^=]*)=(.*)$")
    if key == name then return value end
  end
end

local function of_header(headers, name)
  -- Two of them could be read in two ways.
  if headers:getNumValues(name) == 1 then return headers:get(name) end
end

local PARTS = { header = of_header, cookie = of_cookie, query_param = of_query }

-- Rows of fields between tabs: as one text, because a function may have 65,536 constants only.
local function rows(text)
  return string.gmatch(text, "[^\n]+")
end

local function fields(row)
  local found = {}
  for field in string.gmatch(row .. "\t", "(.-)\t") do found[#found + 1] = field end
  return found
end

local function credentials(text)
  local found = {}
  for row in rows(text) do
    local kind, value, consumer = unpack(fields(row))
    found[kind] = found[kind] or {}
    found[kind][value] = consumer
  end
  return found
end

local function grants(text)
  local found = {}
  for row in rows(text) do
    local consumer, ids, labels = unpack(fields(row))
    local grant = { every = ids == "" and labels == "", routes = {} }
    for id in string.gmatch(ids, "[^ ]+") do grant.routes[id] = true end
    for name, value in string.gmatch(labels, "([^=\f]+)=([^\f]*)") do
      grant.labels = grant.labels or {}
      grant.labels[name] = value
    end
    found[consumer] = found[consumer] or {}
    table.insert(found[consumer], grant)
  end
  return found
end

for _, policy in pairs(POLICIES) do policy.known = credentials(policy.credentials) end
local OF_CONSUMERS = grants(GRANTS)

local function consumer_of(policy, kind, value)
  local known = policy.known[kind]
  return known and known[value]
end

-- A digest takes up to a tenth of a millisecond. Only keys that are known are kept, so nobody can fill it.
local digests = {}

local METHODS = {}

function METHODS.api_key(handle, policy)
  local key = PARTS[policy.part](handle:headers(), policy.carrier)
  if key == nil or key == "" or #key > 256 then return nil end
  local digest = digests[key] or sha256(key)
  local consumer = consumer_of(policy, "key_sha256", digest)
  if consumer then digests[key] = digest end
  return consumer
end

local function has_claim(held, wanted)
  if type(held) ~= "table" then return held == wanted end
  for _, value in pairs(held) do
    if value == wanted then return true end
  end
  return false
end

function METHODS.jwt(handle, policy)
  local tokens = handle:streamInfo():dynamicMetadata():get("envoy.filters.http.jwt_authn")
  local claims = tokens and tokens[policy.name]
  if claims == nil then return nil end
  for name, wanted in pairs(policy.claims) do
    if not has_claim(claims[name], wanted) then return nil end
  end
  local value = claims[policy.consumer_claim]
  return type(value) == "string" and consumer_of(policy, "claim", value) or policy.otherwise
end

-- A certificate was checked against the authorities of the host that the handshake named, so it
-- says nothing to another host on the same connection.
local function names_host(handle, server)
  local authority = string.lower(handle:headers():get(":authority") or "")
  return server ~= "" and string.lower(server) == string.gsub(authority, ":%d+$", "")
end

function METHODS.client_certificate(handle, policy)
  local info = handle:streamInfo()
  local tls = info:downstreamSslConnection()
  if tls == nil or not tls:peerCertificatePresented() or not tls:peerCertificateValidated() then
    return nil
  end
  if not names_host(handle, info:requestedServerName()) then return nil end
  local found = consumer_of(policy, "fingerprint", tls:sha256PeerCertificateDigest())
    or consumer_of(policy, "subject", tls:subjectPeerCertificate())
  if found then return found end
  for _, names in ipairs({ tls:uriSanPeerCertificate(), tls:dnsSansPeerCertificate() }) do
    for _, name in ipairs(names) do
      found = found or consumer_of(policy, "san", name)
    end
  end
  return found or policy.otherwise
end

local function covers(grant, route)
  if grant.every or grant.routes[route:get("id")] then return true end
  if grant.labels == nil then return false end
  local labels = route:get("labels") or {}
  for name, value in pairs(grant.labels) do
    if labels[name] ~= value then return false end
  end
  return true
end

local function granted(consumer, route)
  for _, grant in ipairs(OF_CONSUMERS[consumer] or {}) do
    if covers(grant, route) then return true end
  end
  return false
end

-- A refusal (status, challenges), or nil with consumer and policy; nil alone on an open route.
local function decide(handle)
  local route = handle:metadata()
  local wanted = route:get("authentication")
  if wanted == nil then return nil end
  local status, challenges = 403, {}
  for _, name in ipairs(wanted) do
    local policy = POLICIES[name]
    if policy then challenges[#challenges + 1] = policy.challenge end
  end
  if #challenges > 0 then status = 401 end
  for _, name in ipairs(wanted) do
    local policy = POLICIES[name]
    local consumer = policy and METHODS[policy.method](handle, policy)
    if consumer and granted(consumer, route) then return nil, consumer, name end
    if consumer then status = 403 end
  end
  return status, table.concat(challenges, ", ")
end

local function refuse(handle, status, challenges)
  local headers = { [":status"] = tostring(status), ["content-type"] = "text/plain" }
  if status == 401 then headers["www-authenticate"] = challenges end
  handle:respond(headers, WORDS[status])
end

function envoy_on_request(handle)
  local whole, status, first, policy = pcall(decide, handle)
  if not whole then
    handle:logErr("callers: " .. tostring(status))
    refuse(handle, 503)
  elseif status then
    refuse(handle, status, first)
  elseif first then
    -- The guard behind this script lets nobody pass without it.
    handle:streamInfo():dynamicMetadata():set("callers", "consumer", first)
    handle:headers():replace("x-consumer", first)
    handle:headers():replace("x-consumer-policy", policy)
  end
end

-- http-request lua.sluice: asks the service about a request. An allowed one continues, with the fields for the response in
-- variables; any other gets the answer of the service.

-- Header fields that rules have as keys: "x-api-key" for the key header:x-api-key.
local KEYS = {}

local TIMEOUT_MS = 1500

-- A CORS preflight has neither credentials nor a body. Anything else with its fields counts as an ordinary request.
local NOT_IN_PREFLIGHTS = { "authorization", "cookie", "content-type", "content-length", "transfer-encoding" }

-- Of HAProxy itself, without an answer of the service.
local ABSENT = { [502] = true, [503] = true, [504] = true }

local function is_preflight(txn)
  if txn.f:method() ~= "OPTIONS" then
    return false
  end
  for _, name in ipairs(NOT_IN_PREFLIGHTS) do
    if txn.f:req_fhdr_cnt(name) > 0 then
      return false
    end
  end
  return true
end

local function pass_on(headers, txn, name)
  if txn.f:req_fhdr_cnt(name) > 0 then
    headers[name] = { txn.f:req_fhdr(name) }
  end
end

-- The service gets only these fields, so that no field of a client passes for one of HAProxy.
local function fields_about(txn)
  local headers = {
    ["x-forwarded-for"] = { txn.f:src() },
    ["x-original-uri"] = { txn.f:url() },
    ["x-original-method"] = { txn.f:method() },
  }
  if is_preflight(txn) then
    pass_on(headers, txn, "origin")
    pass_on(headers, txn, "access-control-request-method")
  end
  for _, name in ipairs(KEYS) do
    pass_on(headers, txn, name)
  end
  return headers
end

local function deny(txn, status, answer)
  local reply = txn:reply()
  reply:set_status(status)
  for _, name in ipairs({ "content-type", "cache-control", "retry-after", "ratelimit", "ratelimit-policy" }) do
    local values = answer.headers and answer.headers[name]
    if values then
      reply:add_header(name, values[0])
    end
  end
  reply:set_body(answer.body or "")
  txn:done(reply)
end

core.register_action("sluice", { "http-req" }, function(txn)
  local answer = core.httpclient():get({
    url = "http://sluice/auth",
    dst = "abns@sluice",
    headers = fields_about(txn),
    timeout = TIMEOUT_MS,
  })
  local headers = answer.headers or {}
  if not headers["x-sluice-answered"] then
    -- Anything but an absent service is a request that could not be sent, such as one with long fields.
    if not answer.status or ABSENT[answer.status] then
      txn:set_var("txn.sluice_absent", true)
    else
      deny(txn, 400, {})
    end
  elseif answer.status == 200 then
    if headers["ratelimit"] then
      txn:set_var("txn.sluice_ratelimit", headers["ratelimit"][0])
      txn:set_var("txn.sluice_ratelimit_policy", headers["ratelimit-policy"][0])
    end
  else
    deny(txn, answer.status, answer)
  end
end)

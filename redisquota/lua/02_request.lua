-- The request, as package redisquota writes it.

local argument = 0

local function text()
  argument = argument + 1
  return ARGV[argument]
end

local function number()
  argument = argument + 1
  return tonumber(ARGV[argument])
end

local request = {
  member = text(),
  serial = number(),
  leave = text() == '1',
  slot_life = number(),
  horizon = number(),
  hold = number(),
  keep = number(), -- for how long an unused bucket is remembered
  know = number(), -- for how long an inactive member is
  ahead = number(), -- how far the last slot is of which the member knows
  since = number(), -- how long ago it sent its latest request that was answered
  set = text() == '1', -- the member knows that the server's clock was set
  answered = number(), -- the serial of that request
  life = number(), -- of the bucket, for which the member has told all; 0 if there is none
  sharing = number(), -- as how many members had the bucket, as far as it knows; 0 if it does not
  channel = text(),
  bucket = text(),
  described = text(), -- the quotas, as people write them
}
local slot_life, horizon = request.slot_life, request.horizon -- slot_life may become longer, see 06_state.lua
local near = math.floor(horizon / 20) -- slots that are no farther ahead are in order
local steps = 0 -- how often something that is ahead was looked at
local most_steps = 5000 -- of a call, some two milliseconds: then nothing more comes back, and no more slots are handed out
local now, last -- the instant of the call, and the latest slot: see there

-- The keys. They are on the same node of a cluster, and all are declared.
local key = { state = KEYS[1], active = KEYS[2], members = KEYS[3], holes = KEYS[4], said = KEYS[5] }

-- The quotas by which the member asks; those of the bucket, and their ledgers, are in the files that follow.
local asked = {}
for i = 1, number() do
  asked[i] = {
    kind = text(),
    tag = text(), -- a ledger can become that of another quota with the same
    n = number(),
    per = number(),
    burst = number(),
    debt = number(), -- 1 or 0
    cell = number(), -- what is so soon after the first of a cell joins it; of a log, -1: slot_life
  }
end

-- costs returns one of each quota.
local function costs()
  local c = {}
  for i = 1, #asked do
    c[i] = number()
  end
  return c
end

-- list returns what one returns, as often as there are.
local function list(one)
  local all = {}
  for i = 1, number() do
    all[i] = one()
  end
  return all
end

request.hand = costs()
request.more = costs()
request.back = list(function()
  return { slot = number(), cost = costs() }
end)
request.outage = text() == '1'
request.goes_on = text() == '1' -- it sends its part while it cannot call
request.release = text() == '1'
request.new = text() == '1' -- as far as its user knows
request.standstill = number() -- for how long a claim waits for one token
request.look = text() == '1' -- then nothing is written
request.own = list(function()
  return { from = number(), cost = costs() }
end)
request.asks = number() -- how many; most often there is more to do than for the first of them
local before_asks = argument
argument = argument + request.asks * (2 + #asked)
request.statements = list(function()
  return { id = text(), remaining = number(), known = text() == '1', reset = number(), doubt = number(), rest = text() }
end)

-- ask returns the i-th of the asks.
local function ask_of(i)
  argument = before_asks + (i - 1) * (2 + #asked)
  return { count = number(), within = number(), cost = costs() }
end

request.learned = text() -- of the server, as Limiters read it; empty if there is nothing new

-- What is remembered of the bucket as a whole, read; and the ledgers of its quotas.

local kinds = { bucket = bucket, log = log, clock = clock, estimate = estimate }

local fields = { 'bucket', 'lists' }
for i = 1, #quotas do
  fields[i + 2] = 'q' .. i
end
local ledgers = read('HMGET', key.state, unpack(fields))
local version = 3 -- of what is written here; another one is of another release, and no use
local state = {}
local n = ledgers[1] and numbers(ledgers[1]) or {}
if n[1] == version and #n == 14 then
  state = { now = n[2], last = n[3], hold = n[4], renewed = n[5], places = n[6], holes = n[7], said = n[8], late = n[9], born = n[10], learn = n[11], before = n[12], span = n[13], fresh = n[14] == 1 }
end

-- Time does not run back: if the clock was set back it stands still until that is made
-- up for. If it was set back further, or forward, what is remembered is of no use. Members say how long it
-- was since they asked: more cannot have passed.
local off = 2 * second -- so much may a call be on its way
local time = redis.call('TIME')
now = time[1] * second + time[2]
local lost = not state.now or math.max(state.last, state.hold) > now + 2 * ages or state.learn > now + ages or state.now > now + off
local record = not lost and read('HGET', key.members, request.member) or '' -- see 08_members.lua
local called = tonumber((string.match(record, '^%d+ %d+ %d+ (%d+) '))) -- when the member asked last
lost = lost or called and request.since > 0 and now - called > request.since + off
-- Who was answered before the bucket was said to be new knows better, as long as that matters.
lost = lost or not called and state.fresh and request.since > now - state.born and now - state.born <= request.know
if lost then
  state = {
    now = now, last = now + horizon, hold = 0, renewed = 0, places = 0, holes = 0, said = 0, late = 0, before = 0, span = now,
    born = now, learn = now + horizon,
    fresh = request.new and not ledgers[1] and request.since <= 0,
  }
end
now = math.max(now, state.now)
local learn = state.learn -- nothing is handed out before
local fresh = state.fresh -- a member said that the bucket is new

-- first is how long after t one token is to be there, if all is assumed to be used up to then.
local function first(t)
  return request.standstill > 0 and math.max(request.standstill - (t - now), 0) or ages
end

-- Late is the longest that any member has asked for lately: in this span and in the one before it.
if now - state.span >= 2 * second then
  state.before = now - state.span < 4 * second and state.late or 0
  state.late, state.span = 0, now
end
state.late = math.max(state.late, late)
local longest = math.max(state.late, state.before)
for _, q in ipairs(quotas) do
  if q.kind == 'clock' or q.kind == 'estimate' then
    longest = math.min(longest, math.floor(q.per / 2))
  end
end
late = math.max(late, longest)

last = state.last
local hold = state.hold -- until when nothing goes
local renew = now - state.renewed > 3600 * second -- whether to have the keys live on

-- follow has the late of a ledger be that of the slots which are handed out from now on. It rises at once, and falls when
-- the slots have expired that may be used for longer; of a log, when they have left it.
local function follow(q)
  if q.falls > 0 and now >= q.falls then
    q.late, q.falls = q.to, 0
  end
  if late >= q.late or q.kind == 'clock' or q.kind == 'estimate' then
    q.late, q.falls = late, 0
  elseif q.falls == 0 or late > q.to then
    q.falls, q.to = math.max(now, last) + q.late + (q.kind == 'log' and q.per or 0), late
  end
end

for i, q in ipairs(quotas) do
  setmetatable(q, { __index = kinds[q.kind] })
  -- What a text of the state begins with: whose ledger it is, and which slots it does not know.
  local text = not lost and ledgers[i + 2] or ''
  local known = string.sub(text, 1, #q.tag + 1) == q.tag .. ' '
  if known then
    local all = numbers(string.sub(text, #q.tag + 2))
    if #all >= 4 and #all < 1000 then
      q.since, q.late, q.falls, q.to = all[1], all[2], all[3], all[4]
      all = { unpack(all, 5) }
      follow(q)
      q:set()
      known = not q:read(all)
    else
      known = false
    end
  end
  if not known then
    q.late, q.falls, q.to = late, 0, 0
    q:set()
    q.since = math.max(now + horizon, last)
    if lost and fresh then
      q.since = 0
      q:empty()
    else
      q:drain(q.since, first(q.since))
    end
    renew = true
  end
end

local function write_quota(q)
  return string.format('%s %.0f %.0f %.0f %.0f ', q.tag, q.since, q.late, q.falls, q.to) .. table.concat(q:write(), ' ')
end

-- charge takes a slot from all ledgers.
local function charge(slot, cost)
  for i, q in ipairs(quotas) do
    if cost[i] > 0 then
      q:take(now, slot, cost[i])
    end
  end
end

-- forget has a cost at a slot be as if it had never been.
local function forget(slot, cost)
  for i, q in ipairs(quotas) do
    if cost[i] > 0 and slot >= q.since then
      q:give(now, slot, cost[i])
    end
  end
end

-- passed reports whether a cost at a slot to come would be of no use if it were as if it had never been.
local function passed(slot, cost)
  for i, q in ipairs(quotas) do
    if cost[i] > 0 and q:passed(now, slot) then
      return true
    end
  end
  return false
end

-- work is the time in which a cost comes back, of all quotas the longest.
local function work(cost)
  local longest = 0
  for i, q in ipairs(quotas) do
    if cost[i] > 0 then
      longest = math.max(longest, scale(q.per, math.min(cost[i], most), q.n))
    end
  end
  return longest
end

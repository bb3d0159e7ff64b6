-- The ledgers of the quotas, read.

local kinds = { bucket = bucket, log = log, clock = clock, estimate = estimate }

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

-- grants is what a quota grants at once, at most.
local function grants(q)
  if q.kind ~= 'bucket' then
    return q.n
  end
  return q.debt and most or q.burst
end

for i, q in ipairs(quotas) do
  setmetatable(q, { __index = kinds[q.kind] })
  q.allows = grants(q) -- to who asks
  tighten(q, i)
  q.limit = grants(q)
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

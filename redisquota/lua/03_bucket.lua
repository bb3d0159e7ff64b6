-- A TokenBucket: the instant at which it is full, and its peaks; and the slots that are not soon, far,
-- before which there may be others. Of those that are soon, no later one is before order.
--
-- A peak is what was missing from a full bucket right before a slot was taken, as the time
-- in which it comes back. Had an earlier slot not been, so much more would have been there
-- at most: of what comes back of it, the rest would have spilled over. Only those matter
-- after which none was smaller.

local bucket = { peaks = 32, most = 64, few = 16 } -- how many peaks, and slots in far, are remembered; of those that are not very far

-- comeback is how long n tokens take to come back.
local function comeback(q, n)
  return scale(q.refill, math.min(n, most), q.n)
end

function bucket.set(q)
  q.refill = q.per
  q.tolerance = comeback(q, q.burst) - q.late
  if q.tolerance < comeback(q, 1) then
    q.refill = q.per + scale(q.per, q.late, math.max(q.per, second))
    q.tolerance = comeback(q, 1)
  end
end

function bucket.read(q, state)
  if #state < 3 then
    return true -- somebody else may have written it
  end
  q.full, q.order, q.at, q.missing, q.far = state[1], state[2], {}, {}, {}
  local far = math.min(state[3], bucket.most, math.floor((#state - 3) / 2)) -- somebody else may have written it
  for i = 1, far do
    q.far[i] = { at = state[2 + 2 * i], n = state[3 + 2 * i] }
  end
  for i = 4 + 2 * far, #state - 1, 2 do
    q.at[#q.at + 1], q.missing[#q.missing + 1] = state[i], state[i + 1]
  end
end

function bucket.write(q)
  local state = { whole(q.full), whole(q.order), whole(#q.far) }
  for _, f in ipairs(q.far) do
    state[#state + 1] = whole(f.at)
    state[#state + 1] = whole(f.n)
  end
  for i = 1, #q.at do
    state[#state + 1] = whole(q.at[i])
    state[#state + 1] = whole(q.missing[i])
  end
  return state
end

-- emptied returns until when nothing is left, for all that was handed out.
function bucket.emptied(q)
  local full = q.full
  for _, f in ipairs(q.far) do
    full = math.max(full, f.at) + comeback(q, f.n)
  end
  return full - q.tolerance
end

-- start has the bucket be empty at t, if more is in it then, but for a token that comes first so soon. All slots are before t.
function bucket.start(q, t, first)
  if t > math.max(q:emptied(), q.since) then
    if #q.far > 0 then
      q.order, q.far = math.max(q.order, q.far[#q.far].at), {}
    end
    q.full = math.max(q.full, t + q.tolerance - q:sooner(first))
    q.since, last = math.max(q.since, t), math.max(last, t)
  end
end

-- sooner is how much sooner a token comes back, that comes first so soon.
function bucket.sooner(q, first)
  return math.max(comeback(q, 1) - first, 0)
end

function bucket.empty(q)
  q.full, q.order, q.at, q.missing, q.far = 0, 0, {}, {}, {}
end

function bucket.drain(q, t, first)
  q:empty()
  q.full = t + q.tolerance - q:sooner(first)
end

-- ahead is how long before the bucket is full n may go.
function bucket.ahead(q, n)
  if q.debt == 1 then
    n = math.min(n, q.burst)
  end
  return q.tolerance - comeback(q, n)
end

function bucket.when(q, t, n)
  local full, order = q.full, q.order
  for k = 1, #q.far + 1 do
    steps = steps + 1
    local s, f = math.max(t, order, full - q:ahead(n)), q.far[k]
    if not f or s <= f.at and q:bears(math.max(full, s) + comeback(q, n), k) then
      return s
    end
    order = f.at
    full = math.max(full, order) + comeback(q, f.n)
  end
end

-- bears reports whether the slots in far from the k-th on remain right if the bucket is full again at full,
-- before them.
function bucket.bears(q, full, k)
  for i = k, #q.far do
    steps = steps + 1
    local f = q.far[i]
    if f.at < full - q:ahead(f.n) then
      return false
    end
    full = math.max(full, f.at) + comeback(q, f.n)
  end
  return true
end

-- count charges a slot of a bucket that does not bind, whose debt would grow without bound. It leaves the bucket empty at most, after the last such slot, and
-- nothing comes back of it.
function bucket.count(q, slot, n)
  if slot <= q.since then
    return -- a bucket that is empty has paid for all before
  end
  q:settle(slot)
  slot = math.max(slot, q.order)
  q.full = math.max(q.full, math.min(math.max(q.full, slot) + comeback(q, n), slot + q.tolerance))
  q.at, q.missing, q.order = { slot + 1 }, { 0 }, slot
end

function bucket.take(q, now, slot, n)
  if not q.binds then
    return q:count(slot, n)
  end
  local ahead = slot - now
  if ahead > near and #q.far < bucket.few or ahead > 2 * horizon and #q.far < bucket.most then
    q:settle(now + near)
    local i = #q.far + 1
    while i > 1 and q.far[i - 1].at > slot do
      i = i - 1
    end
    table.insert(q.far, i, { at = slot, n = n })
    return
  end
  q:settle(slot)
  q:charge(slot, n)
  q:settle(now + near)
end

-- settle has the slots in far up to t be in order.
function bucket.settle(q, t)
  while q.far[1] and q.far[1].at <= t do
    local f = table.remove(q.far, 1)
    q:charge(f.at, f.n)
  end
end

-- own charges what went, or goes, without a slot that is known. A bucket that is empty has paid for all before.
function bucket.own(q, now, at, n)
  if at <= q.since then
    return
  elseif at > now then
    q:take(now, at, n)
  else
    q:settle(now)
    q.full = math.max(q.full, math.min(math.max(q.full, at) + comeback(q, n), now + q.tolerance))
  end
end

-- release leaves the bucket empty, and what went before does not come back beside that.
function bucket.release(q, t)
  q:settle(t)
  local empty = math.max(t, q.order)
  if q.full > empty + q.tolerance then
    q.full = empty + q.tolerance
    q.at, q.missing = { empty }, { 0 }
  end
end

function bucket.left()
  return 0
end

-- owe charges what goes now, whatever is there.
function bucket.owe(q, now, n)
  if not q.binds then
    return q:count(now, n)
  end
  q:settle(now) -- what went before is charged before
  q:charge(math.max(now, q.order), n)
end

function bucket.charge(q, slot, n)
  local missing = math.max(q.full - slot, 0)
  while #q.at > 0 and q.missing[#q.at] >= missing do
    table.remove(q.at)
    table.remove(q.missing)
  end
  if q.at[#q.at] ~= slot then -- of one instant, the first is the least
    q.at[#q.at + 1], q.missing[#q.missing + 1] = slot, missing
  end
  if #q.at > bucket.peaks then
    q:merge()
  end
  q.full = math.min(math.max(q.full, slot) + comeback(q, n), 4 * ages)
  q.order = math.max(q.order, slot)
end

-- merge makes one of the two peaks that differ least for their size, by which rather too
-- little comes back.
function bucket.merge(q)
  local least, ratio
  for i = 1, #q.at - 1 do
    local r = q.missing[i + 1] / math.max(q.missing[i], 0.001)
    if not ratio or r < ratio then
      least, ratio = i, r
    end
  end
  q.missing[least + 1] = q.missing[least]
  table.remove(q.at, least)
  table.remove(q.missing, least)
end

-- passed reports whether what comes back of a slot to come is of no use there: see slot.Ledger.
function bucket.passed(q, _, slot)
  return slot <= q.order
end

function bucket.give(q, now, slot, n)
  local i = 1
  while q.far[i] do
    local f = q.far[i]
    local part = f.at == slot and math.min(n, f.n) or 0
    f.n, n = f.n - part, n - part
    if f.n == 0 then
      table.remove(q.far, i)
    else
      i = i + 1
    end
  end
  if n == 0 then
    return
  end
  local first = #q.at + 1
  while first > 1 and q.at[first - 1] > slot do
    first = first - 1
  end
  local d = math.min(comeback(q, n), q.full - now, q.missing[first] or ages)
  if d <= 0 then
    return
  end
  q.full = q.full - d
  local at, missing = {}, {}
  for i = 1, #q.at do
    local m = q.missing[i]
    if i >= first then
      m = m - d
      while #at > 0 and missing[#at] >= m do
        table.remove(at)
        table.remove(missing)
      end
    end
    at[#at + 1], missing[#missing + 1] = q.at[i], m
  end
  q.at, q.missing = at, missing
end

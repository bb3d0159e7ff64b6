-- A TokenBucket: the instant at which it is full, and its peaks; and the slots that are not soon, far,
-- before which there may be others. Of those that are soon, no later one is before order.
--
-- A peak is what was missing from a full bucket right before a slot was taken, as the time
-- in which it comes back. Had an earlier slot not been, so much more would have been there
-- at most: of what comes back of it, the rest would have spilled over. Only those matter
-- after which none was smaller.
--
-- If too many slots are far, those that are near together are there as one, between which nothing is handed out. To what is before and
-- after them, they are as one at the instant at: if the bucket is full again at full before it, then work after the later of full and
-- at. If full is tolerance after bears at most, they remain right; and those after them too if it is at most all_bear.

local bucket = { peaks = 32, most = 32 } -- how many peaks, and slots in far, are remembered

-- comeback is how long n tokens take to come back.
local function comeback(q, n)
  if q.asked_of ~= n then
    q.asked_of, q.answer = n, scale(q.refill, math.min(n, most), q.n) -- most often for the same again
  end
  return q.answer
end

function bucket.set(q)
  q.refill, q.asked_of = q.per, nil
  q.tolerance = comeback(q, q.burst) - q.slot_life
  if q.tolerance < comeback(q, 1) then
    q.refill, q.asked_of = q.per + scale(q.per, q.slot_life, math.max(q.per, second)), nil
    q.tolerance = comeback(q, 1)
  end
end

-- follow: what may have gone late up to now has the server's bucket be full again at full + slot_life. That stays as it was where slot_life becomes
-- shorter; and where it becomes longer, if the burst bears it.
function bucket.follow(q)
  local shorter = q.was_slot_life - q.slot_life
  if shorter == 0 then
    return
  end
  q:settle(now)
  if shorter > 0 or q.refill == q.per then
    q.full = math.max(q.full + shorter, math.min(q.full, now))
  end
end

-- one returns a slot.
function bucket.one(q, at, n)
  local work = comeback(q, n)
  return { first = at, last = at, n = n, at = at, work = work, bears = at - (q.debt == 1 and comeback(q, math.min(n, q.burst)) or work) }
end

-- as_one has a slot be one of several. If its debt is above the burst it bears less than alone, by the rest of the debt: so it is right
-- whatever the burst is later.
local function as_one(f)
  if not f.several then
    f.several, f.bears = true, f.at - f.work
  end
end

-- pace has slots that are there as one take as long as at another rate. All of them take as long for each token: else nobody knew by how
-- much each of them becomes slower or faster. The last of them may be all that is slower, or the first all that is faster.
local function pace(f, work)
  if work > f.work then
    f.bears = math.max(f.bears - (work - f.work), f.first - work)
  else
    f.at = math.min(f.at + (f.work - work), f.last)
  end
  f.work = work
end

-- full_after returns when the bucket is full again after slots in far, if before them it was to be full at an instant.
local function full_after(f, full)
  return math.min(math.max(full, f.at) + f.work, f.last + ages)
end

-- link notes what all slots in far bear, from the k-th on: of so many that are unlinked that is not known.
function bucket.link(q, k)
  steps = steps + q.unlinked - k
  local later = q.far[q.unlinked + 1]
  for i = q.unlinked, k, -1 do
    local f = q.far[i]
    local all = f.bears + q.tolerance
    if later and later.all_bear - f.work < all then
      all = later.all_bear - f.work
    end
    f.all_bear, later = all, f
  end
  q.unlinked = k - 1
end

function bucket.read(q, state)
  if #state < 3 then
    return true -- somebody else may have written it
  end
  q.full, q.order, q.at, q.missing, q.far = state[1], state[2], {}, {}, {}
  local i, far = 4, math.min(state[3], bucket.most)
  while #q.far < far and i + 2 <= #state do
    local f = q:one(state[i], math.min(math.max(state[i + 1], 1), most))
    f.several = state[i + 2] > 0
    if f.several then
      local work = f.work
      f.last, f.at, f.work = f.first + state[i + 2] - 1, f.first + (state[i + 3] or 0), math.min(state[i + 5] or work, ages)
      f.bears = f.first - (state[i + 4] or 0)
      pace(f, work)
      i = i + 3
    end
    q.far[#q.far + 1] = f
    i = i + 3
  end
  q.unlinked = #q.far
  for k = i, #state - 1, 2 do
    q.at[#q.at + 1], q.missing[#q.missing + 1] = state[k], state[k + 1]
  end
end

function bucket.write(q)
  local state, n = { q.full, q.order, #q.far }, 3
  for _, f in ipairs(q.far) do
    state[n + 1], state[n + 2], state[n + 3] = f.first, f.n, 0
    n = n + 3
    if f.several then
      state[n], state[n + 1], state[n + 2], state[n + 3] = f.last - f.first + 1, f.at - f.first, f.first - f.bears, f.work
      n = n + 3
    end
  end
  for i = 1, #q.at do
    state[n + 1], state[n + 2] = q.at[i], q.missing[i]
    n = n + 2
  end
  return state
end

-- emptied returns until when nothing is left, for all that was handed out.
function bucket.emptied(q)
  local full = q.full
  for _, f in ipairs(q.far) do
    full = full_after(f, full)
  end
  return full - q.tolerance
end

-- room is how much may go at t.
function bucket.room(q, t)
  local d = math.min(math.max(t - q:emptied(), 0), q.tolerance)
  local n = scale(d, q.n, q.refill)
  return comeback(q, n) > d and n - 1 or n
end

-- start has the bucket be empty at t, if more is in it then, but for a token that comes first so soon. All slots are before t.
function bucket.start(q, t, first)
  if t > math.max(q:emptied(), q.since) then
    if #q.far > 0 then
      q.order, q.far, q.unlinked = math.max(q.order, q.far[#q.far].last), {}, 0
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
  q.full, q.order, q.at, q.missing, q.far, q.unlinked = 0, 0, {}, {}, {}, 0
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

-- when goes on where it was the last time, if it is asked for as much: before that there was no room, and nothing has come back since.
function bucket.when(q, t, n)
  local from = q.walked
  if not from or from.n ~= n or from.t > t then
    from = { n = n, t = t, k = 1, full = q.full, order = q.order }
    q.walked = from
  end
  local k, full, order, work, ahead = from.k, from.full, from.order, comeback(q, n), q:ahead(n)
  while true do
    steps = steps + 1
    local s, f = math.max(t, order, full - ahead), q.far[k]
    if k <= q.unlinked then
      q:link(k)
    end
    if not f or s <= f.first and math.max(full, s) + work <= f.all_bear then
      return s
    end
    k, full, order = k + 1, full_after(f, full), f.last
    if from.t == t then -- else what it passes over may have room sooner
      from.k, from.full, from.order = k, full, order
    end
  end
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
  slot = math.max(slot, q.order) -- what own tells of may be before
  if slot - now <= near or not q:remember(slot, n) then
    q:settle(slot)
    slot = math.max(slot, q.order)
    q:charge(slot, slot, comeback(q, n))
  end
  while q.far[1] and q.far[1].last - now <= near do
    q:settle(q.far[1].first)
  end
end

-- remember has a slot be one of those in far, and reports whether it is: not if it is between some that are there as one.
function bucket.remember(q, slot, n)
  local far, i = q.far, #q.far + 1
  while i > 1 and far[i - 1].last > slot do
    i = i - 1
  end
  if far[i] and far[i].first < slot then
    return false
  end
  if q.walked and i < q.walked.k then
    q.walked = nil
  end
  table.insert(far, i, q:one(slot, math.min(n, most)))
  q.unlinked = math.max(q.unlinked + 1, i)
  local apart = math.max(near, 1)
  while #q.far > bucket.most do
    q:join(apart)
    apart = 2 * apart
  end
  return true
end

-- join has slots in far that are so near together be there as one.
function bucket.join(q, apart)
  local joined = {}
  steps = steps + 2 * #q.far
  for _, f in ipairs(q.far) do
    local o = joined[#joined]
    if o and f.last - o.first < apart then
      as_one(o)
      as_one(f)
      pace(o, math.max(o.work, scale(f.work, o.n, f.n)))
      pace(f, math.max(f.work, scale(o.work, f.n, o.n)))
      o.last, o.n = f.last, math.min(o.n + f.n, most)
      o.at, o.bears = math.max(o.at, f.at - o.work), math.min(o.bears, f.bears - o.work)
      o.work = math.min(o.work + f.work, ages)
    else
      joined[#joined + 1] = f
    end
  end
  q.far, q.walked, q.unlinked = joined, nil, #joined
end

-- settle has the slots in far up to t be in order, and those that are there as one with them.
function bucket.settle(q, t)
  while q.far[1] and q.far[1].first <= t do
    local f = table.remove(q.far, 1)
    q.unlinked = math.max(q.unlinked - 1, 0)
    q:charge(f.at, f.last, f.work)
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
  local at = math.max(now, q.order)
  q:charge(at, at, comeback(q, n))
end

-- note notes how much is missing from a full bucket, right before a slot.
function bucket.note(q, at, missing)
  at = math.max(at, q.at[#q.at] or 0)
  while #q.at > 0 and q.missing[#q.at] >= missing do
    table.remove(q.at)
    table.remove(q.missing)
  end
  if q.at[#q.at] ~= at then -- of one instant, the first is the least
    q.at[#q.at + 1], q.missing[#q.missing + 1] = at, missing
  end
  if #q.at > bucket.peaks then
    q:merge()
  end
end

-- charge charges slots up to last, which are as one at an instant.
function bucket.charge(q, at, last, work)
  q.walked = nil
  q:note(last, math.max(q.full - at, 0))
  q.full = math.min(math.max(q.full, at) + work, last + ages)
  q.order = math.max(q.order, last)
end

-- merge makes one of the two peaks that differ least for their size, by which rather too
-- little comes back.
function bucket.merge(q)
  steps = steps + bucket.peaks / 2
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

-- change has what is to be read have as many tokens be there as by the numbers before, but no more than the burst of now: so nobody gains by a
-- quota that changes to and fro. As many may be there as if all had gone as late as it may. The numbers change at an instant up to which all slots
-- that are soon are handed out: nothing that comes back before it is known.
function bucket.change(q)
  local n, per, burst, slot_life = q.n, q.per, q.burst, q.slot_life
  if n == q.was_n and per == q.was_per and burst == q.was_burst then
    return
  end
  q.n, q.per, q.burst, q.slot_life = q.was_n, q.was_per, q.was_burst, q.was_slot_life
  q:set()
  if not q:read(q.ledger) then
    q:settle(now) -- what went is charged at the rate of before
    local refill, t, full = q.refill, math.max(now, q.order, q.since), q.full
    local most, may_go_late = q.burst, q.slot_life
    if refill > q.per then
      most, may_go_late = 1, 0
    end
    q.n, q.per, q.burst = n, per, burst
    q:set()
    local function rescaled(missing)
      return scale(scale(math.max(missing, 0), q.refill, refill), q.was_n, n)
    end
    local missing = full > 0 and rescaled(full - t + may_go_late) or 0
    q.full = t + q.tolerance + math.max(missing - comeback(q, most), -comeback(q, burst))
    for i = 1, #q.missing do
      q.missing[i] = rescaled(q.missing[i])
    end
    q:note(t + 1, math.min(rescaled(full - t), math.max(q.full - t, 0))) -- what it could not hold, or cannot any more, is gone
    q.ledger = q:write()
  end
  q.n, q.per, q.burst, q.slot_life = n, per, burst, slot_life
end

-- passed: whether slots in far that are there as one remain right with what comes back of one of them is not known.
function bucket.passed(q, _, slot)
  steps = steps + #q.far
  for _, f in ipairs(q.far) do
    if f.several and f.first <= slot and slot <= f.last then
      return true
    end
  end
  return slot <= q.order
end

-- give: of slots in far that are there as one, the last ones may be all that are sooner for it.
function bucket.give(q, now, slot, n)
  q:settle(now)
  steps = steps + #q.far + #q.at
  for i = #q.far, 1, -1 do
    local f = q.far[i]
    if f.first <= slot and slot <= f.last then
      local part = math.min(n, f.n)
      n = n - part
      if f.n > part and f.several then
        f.n = f.n - part
        pace(f, comeback(q, f.n))
      elseif f.n > part then
        q.far[i] = q:one(slot, f.n - part)
      else
        table.remove(q.far, i)
      end
      q.unlinked = math.min(math.max(q.unlinked, i), #q.far)
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

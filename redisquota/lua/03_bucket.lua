-- A TokenBucket: the instant at which it is full, and its peaks. While a slot is so far ahead
-- that the bucket is full again before, the same of what is before that slot: early, until turn.
--
-- A peak is what was missing from a full bucket right before a slot was taken, as the time
-- in which it comes back. Had an earlier slot not been, so much more would have been there
-- at most: of what comes back of it, the rest would have spilled over. Only those matter
-- after which none was smaller.

local bucket = { peaks = 32 } -- how many are remembered

-- comeback is how long n tokens take to come back.
local function comeback(q, n)
  return scale(q.refill, math.min(n, most), q.n)
end

function bucket.set(q)
  q.refill = q.per
  q.tolerance = comeback(q, q.burst) - late
  if q.tolerance < comeback(q, 1) then
    q.refill = q.per + scale(q.per, late, math.max(q.per, second))
    q.tolerance = comeback(q, 1)
  end
end

-- busy is a time in which a bucket is not full, read from a state that has n numbers of it from the
-- i-th on.
function bucket.busy(state, i, n)
  local b = { full = state[i] or 0, at = {}, missing = {} }
  for k = i + 1, i + n - 2, 2 do
    b.at[#b.at + 1], b.missing[#b.missing + 1] = state[k], state[k + 1]
  end
  return b
end

-- print appends a busy to a state.
function bucket.print(state, b)
  state[#state + 1] = whole(b.full)
  for i = 1, #b.at do
    state[#state + 1], state[#state + 2] = whole(b.at[i]), whole(b.missing[i])
  end
end

function bucket.read(q, state)
  q.turn = state[1]
  if q.turn == 0 then
    q.busy = bucket.busy(state, 2, #state - 1)
    return
  end
  q.early = bucket.busy(state, 3, state[2])
  q.busy = bucket.busy(state, 3 + state[2], #state - 2 - state[2])
end

function bucket.write(q)
  local state = { whole(q.turn) }
  if q.turn > 0 then
    state[2] = whole(1 + 2 * #q.early.at)
    bucket.print(state, q.early)
  end
  bucket.print(state, q.busy)
  return state
end

function bucket.drain(q, t)
  q.turn, q.busy = 0, bucket.busy({ t + q.tolerance }, 1, 1)
end

-- last returns the last slot; 0 if there was none.
function bucket.last(b)
  return b.at[#b.at] or 0
end

function bucket.when(q, t, n)
  local d = comeback(q, n)
  local ahead = q.debt and comeback(q, math.min(n, q.burst)) or d
  if t < q.turn then
    local s = math.max(t, bucket.last(q.early), q.early.full + ahead - q.tolerance)
    if math.max(q.early.full, s) + d <= q.turn then
      return s
    end
  end
  return math.max(t, bucket.last(q.busy), q.busy.full + ahead - q.tolerance)
end

function bucket.take(q, now, slot, n)
  local d = comeback(q, n)
  if slot < q.turn then
    return bucket.charge(q.early, slot, d)
  elseif q.turn <= now then
    q.turn, q.early = 0, nil
    if slot > math.max(now, q.busy.full) then
      q.turn, q.early, q.busy = slot, q.busy, bucket.busy({}, 1, 1)
    end
  end
  bucket.charge(q.busy, slot, d)
end

-- owe charges what goes now, whatever is there.
function bucket.owe(q, now, n)
  local d = comeback(q, n)
  if now >= q.turn then
    return bucket.charge(q.busy, math.max(now, bucket.last(q.busy)), d)
  end
  bucket.charge(q.early, math.max(now, bucket.last(q.early)), d)
  d = math.max(q.early.full - q.turn, 0)
  q.early.full = q.early.full - d
  q.busy.full = math.min(q.busy.full + d, 4 * ages) -- peaks are too small now, by which too little comes back
end

function bucket.charge(b, slot, work)
  local missing = math.max(b.full - slot, 0)
  while #b.at > 0 and b.missing[#b.at] >= missing do
    table.remove(b.at)
    table.remove(b.missing)
  end
  if b.at[#b.at] ~= slot then -- of one instant, the first is the least
    b.at[#b.at + 1], b.missing[#b.missing + 1] = slot, missing
  end
  if #b.at > bucket.peaks then
    bucket.merge(b)
  end
  b.full = math.min(math.max(b.full, slot) + work, 4 * ages)
end

-- merge makes one of the two peaks that differ least for their size, by which rather too
-- little comes back.
function bucket.merge(b)
  local least, ratio
  for i = 1, #b.at - 1 do
    local r = b.missing[i + 1] / math.max(b.missing[i], 0.001)
    if not ratio or r < ratio then
      least, ratio = i, r
    end
  end
  b.missing[least + 1] = b.missing[least]
  table.remove(b.at, least)
  table.remove(b.missing, least)
end

function bucket.give(q, now, slot, n)
  local b = slot < q.turn and q.early or q.busy
  local first = #b.at + 1
  while first > 1 and b.at[first - 1] > slot do
    first = first - 1
  end
  local d = math.min(comeback(q, n), b.full - now, b.missing[first] or ages)
  if d <= 0 then
    return
  end
  b.full = b.full - d
  local at, missing = {}, {}
  for i = 1, #b.at do
    local m = b.missing[i]
    if i >= first then
      m = m - d
      while #at > 0 and missing[#at] >= m do
        table.remove(at)
        table.remove(missing)
      end
    end
    at[#at + 1], missing[#missing + 1] = b.at[i], m
  end
  b.at, b.missing = at, missing
end

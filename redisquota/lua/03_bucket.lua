-- A TokenBucket: the instant at which it is full, and its peaks.
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

function bucket.read(q, state)
  q.full, q.at, q.missing = state[1], {}, {}
  for i = 2, #state - 1, 2 do
    q.at[i / 2], q.missing[i / 2] = state[i], state[i + 1]
  end
end

function bucket.write(q)
  local state = { whole(q.full) }
  for i = 1, #q.at do
    state[2 * i], state[2 * i + 1] = whole(q.at[i]), whole(q.missing[i])
  end
  return state
end

function bucket.drain(q, t)
  q.full, q.at, q.missing = t + q.tolerance, {}, {}
end

function bucket.when(q, t, n)
  if q.debt then
    n = math.min(n, q.burst)
  end
  return math.max(t, q.full + comeback(q, n) - q.tolerance)
end

function bucket.take(q, slot, n)
  local missing = math.max(q.full - slot, 0)
  while #q.at > 0 and q.missing[#q.at] >= missing do
    table.remove(q.at)
    table.remove(q.missing)
  end
  if q.at[#q.at] ~= slot then -- of one instant, the first is the least
    q.at[#q.at + 1], q.missing[#q.missing + 1] = slot, missing
  end
  if #q.at > bucket.peaks then
    bucket.merge(q)
  end
  q.full = math.min(math.max(q.full, slot) + comeback(q, n), 4 * ages)
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

function bucket.give(q, now, slot, n)
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

-- A window of what went in the last Per: SlidingLog, SlidingWindow, FixedWindow. In the
-- state is how much is in it; its cells are in a sorted set of their own, by their last
-- slot, so that one call reads and writes few of them, however many there are.

local log = { chunk = 16 } -- how many cells are read at a time

function log.set(q)
  q.span = q.per + late -- what was sent up to late has left Per before what is sent on time
end

-- get returns the i-th cell of those that there were, oldest first, and of new ones behind them.
function log.get(q, i)
  while i > #q.cells and q.unread do
    local texts = redis.call('ZRANGE', q.key, #q.cells, #q.cells + log.chunk - 1)
    for _, t in ipairs(texts) do
      q.cells[#q.cells + 1] = log.parse(q, t)
    end
    if #texts < log.chunk then
      q.unread = false
      for _, c in ipairs(q.added) do
        q.cells[#q.cells + 1] = c
      end
    end
  end
  return q.cells[i]
end

-- parse returns the cell of a text, and the same for the same.
function log.parse(q, t)
  if t and not q.known[t] then
    local n = numbers(t)
    q.known[t] = { first = n[1], last = n[1] + n[2], count = n[3], was = t }
  end
  return q.known[t]
end

-- newest returns the last cell that is not empty; nil if there is none.
function log.newest(q)
  if q.unread and #q.added == 0 then
    local i, c = 0
    repeat
      i = i - 1
      c = log.parse(q, redis.call('ZRANGE', q.key, i, i)[1])
    until not c or c.count > 0
    return c
  end
  local all = q.unread and q.added or q.cells
  for i = #all, 1, -1 do
    if all[i].count > 0 then
      return all[i]
    end
  end
end

function log.add(q, first, last, count)
  local c = { first = first, last = last, count = count }
  q.known[c] = c
  local to = q.unread and q.added or q.cells
  to[#to + 1] = c
end

function log.read(q, state)
  q.used = state[1]
  q.cells, q.oldest, q.added, q.known, q.unread = {}, 1, {}, {}, true
  q.created = not log.get(q, 1)
  return q.created and q.used > 0 -- then it is lost
end

function log.write(q)
  return { whole(q.used) }
end

function log.flush(q)
  if q.wipe then
    redis.call('DEL', q.key)
  end
  local changed = {}
  for _, c in pairs(q.known) do
    c.score = c.last
    c.text = nil
    if c.count > 0 then
      c.text = string.format('%.0f:%.0f:%.0f', c.first, c.last - c.first, c.count)
    end
    changed[#changed + 1] = c
  end
  replace(q.key, changed)
end

function log.drain(q, t)
  q.used, q.cells, q.oldest, q.added, q.known, q.unread = 0, {}, 1, {}, {}, false
  q.wipe = true
  for k = 1, 10 do
    local number, at = math.floor(q.n * k / 10), t - q.span + math.ceil(q.per * k / 10)
    local newest = q.cells[#q.cells]
    if newest and newest.last == at then
      newest.count = newest.count + number - q.used
    elseif number > q.used then
      log.add(q, at, at, number - q.used)
    end
    q.used = number
  end
end

-- when looks for the cell with which enough has left.
function log.when(q, t, n)
  local excess, i = q.used + n - q.n, q.oldest
  while excess > 0 do
    local c = log.get(q, i)
    if not c then
      return t + q.span -- not reached: n is at most q.n
    end
    if c.count >= excess then
      return math.max(t, c.last + q.span)
    end
    excess = excess - c.count
    i = i + 1
  end
  return t
end

function log.take(q, slot, n)
  local c = log.get(q, q.oldest)
  while c and slot >= c.last + q.span do
    q.used = q.used - c.count
    c.count = 0
    q.oldest = q.oldest + 1
    c = log.get(q, q.oldest)
  end
  n = math.min(n, most)
  q.used = math.min(q.used + n, 2 * most)
  c = log.newest(q)
  if c and slot - c.first <= q.cell then
    c.last, c.count = slot, c.count + n
  else
    log.add(q, slot, slot, n)
  end
end

-- give comes before each take of the same call: all that counts is in the sorted set, or
-- was drained.
function log.give(q, _, slot, n)
  if q.wipe then
    return
  end
  local c = log.parse(q, redis.call('ZRANGEBYSCORE', q.key, whole(slot), '+inf', 'LIMIT', 0, 1)[1])
  if c and c.first <= slot then
    n = math.min(n, c.count)
    c.count, q.used = c.count - n, q.used - n
  end
end

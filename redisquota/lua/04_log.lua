-- A window of what went in the last Per: SlidingLog, SlidingWindow, FixedWindow. In the
-- state is how much is in it, and the slot that no later one is before: those that are soon are
-- in order, so that what has left when they come need not be remembered. Its cells are in a sorted
-- set of their own, by their last slot, so that one call reads and writes few of them, however many
-- there are. That set is a key, which the server may evict alone: so all that counts is in the state as well, in a few parts, each
-- of which has its first slot, its last one, and how much.

local log = {
  chunk = 16, -- how many cells are read at a time
  most_left = 400, -- how many cells that have left one call looks at, of all logs together, but for those whose room it needs
  looks = 0, -- at how many of each log: see 08_places.lua
  coarse = 1000, -- in how many parts of Per it is known when something went for which no slot was handed out
  most_parts = 4, -- of those that are beyond, the nearest are there as one
}

function log.set(q)
  q.width = math.min(q.cell >= 0 and q.cell or q.slot_life, math.max(math.floor(q.per / 100), second / 50)) -- of a cell
  q.long = math.floor(q.per / 2) -- of a part, at the most
  q.span = q.per + q.slot_life -- what was sent up to late has left Per before what is sent on time
end

-- ends returns when a cell leaves whose last slot is at an instant: where slot_life becomes shorter, when it has at the latest.
function log.ends(q, slot)
  if q.falls == 0 then
    return slot + q.span
  end
  return math.min(slot + q.span, math.max(q.falls, slot + q.per + q.to))
end

-- get returns the i-th cell of all, oldest first. Those that were there are read as they are needed;
-- new ones are in added until their place is reached.
function log.get(q, i)
  while i > #q.cells and q.unread do
    local texts = read('ZRANGE', q.key, q.fetched, q.fetched + log.chunk - 1)
    q.fetched = q.fetched + #texts
    q.unread = #texts == log.chunk
    for _, t in ipairs(texts) do
      local c = log.parse(q, t)
      while q.added[1] and q.added[1].last < c.first do
        q.cells[#q.cells + 1] = table.remove(q.added, 1)
      end
      q.cells[#q.cells + 1] = c
    end
    while not q.unread and q.added[1] do
      q.cells[#q.cells + 1] = table.remove(q.added, 1)
    end
  end
  return q.cells[i]
end

-- find returns which of cells in their order is the first that ends at an instant or after it. It looks beside the one that it found the last time, and then in growing
-- steps: what is asked for in order takes two of them.
local function find(cells, at)
  local low, high, step = 1, #cells + 1, 0
  local i = math.min(cells.found or 1, high - 1)
  while low < high do
    steps = steps + 1
    if cells[i].last < at then
      low, i = i + 1, i + 1 + step
    else
      high, i = i, i - 1 - step
    end
    step = 2 * step + 1
    if i < low or i >= high then
      i = math.floor((low + high) / 2)
    end
  end
  cells.found = low
  return low
end

-- sort_in puts a cell among those that are known, in the order of their last slots.
local function sort_in(q, c)
  table.insert(q.sorted, find(q.sorted, c.last), c)
end

local function within(n)
  return n and math.min(tonumber(n) or 2 ^ 53, 2 ^ 53) or 0
end

-- parse returns the cell of a text, and the same for the same.
function log.parse(q, t)
  if t and not q.known[t] then
    local first, width, count = string.match(t, '^(%d+):(%d+):(%d+)$')
    first, width, count = within(first), within(width), within(count) -- somebody else may have written it
    q.known[t] = { first = first, last = first + width, count = count, was = t, was_first = first, was_last = first + width, was_count = count }
    sort_in(q, q.known[t])
    steps = steps + 3
  end
  return q.known[t]
end

-- stored returns the first cell that is not empty of those that there were, from the i-th on, in
-- steps; nil if there is none.
function log.stored(q, i, step)
  while i >= 0 do
    local c = log.parse(q, redis.call('ZRANGE', q.key, i, i)[1])
    if not c or c.count > 0 then
      return c
    end
    i = i + step
  end
end

-- read_after has all cells after t be known, and the one before them, which is the edge.
function log.read_after(q, t)
  if q.after and q.after <= t then
    return
  end
  for _, text in ipairs(redis.call('ZRANGEBYSCORE', q.key, '(' .. whole(t), '+inf')) do
    log.parse(q, text)
  end
  q.after, q.edge = t, log.stored(q, redis.call('ZCOUNT', q.key, '-inf', whole(t)) - 1, -1)
end

-- around returns the cell that a slot is in or after, and the one which ends at it or after it: nil if
-- there is none.
function log.around(q, slot)
  local tail = q.tail -- the last of all, if it is known
  if tail and tail.last <= slot then
    return tail, tail.last == slot and tail or nil
  elseif q.unread and not (q.after and q.after < slot and (not q.edge or q.edge.count > 0)) then
    steps = steps + 8 -- the server looks for it
    local i = redis.call('ZCOUNT', q.key, '-inf', '(' .. whole(slot))
    log.stored(q, i - 1, -1)
    log.stored(q, i, 1)
  end
  local all, i = q.sorted, find(q.sorted, slot)
  while all[i] and all[i].count == 0 do
    table.remove(all, i) -- it has left
  end
  while i > 1 and all[i - 1].count == 0 do
    i = i - 1
    table.remove(all, i)
  end
  q.tail = not all[i] and all[i - 1] or tail
  return all[i - 1], all[i]
end

-- add puts a cell into its place.
function log.add(q, first, last, count)
  local c = { first = first, last = last, count = count }
  q.known[c] = c
  sort_in(q, c)
  local to = q.cells
  if q.unread and (not to[1] or to[#to].last < first) then
    to = q.added
  end
  local i = find(to, last)
  while to[i] and to[i].first <= last do
    i = i + 1 -- that one has left
  end
  table.insert(to, i, c)
  if q.tail and q.tail.last <= last then
    q.tail = c
  end
end

function log.read(q, state)
  if #state < 3 then
    return true -- somebody else may have written it
  end
  q.used, q.order = state[1], state[2]
  q.parts, q.assumed = {}, {}
  local i, first = 4, 0
  while #q.parts < math.min(state[3], log.most_parts) and i + 2 <= #state do
    first = first + state[i]
    q.parts[#q.parts + 1] = { first = first, last = first + state[i + 1], count = state[i + 2] }
    i = i + 3
  end
  for k = i, #state - 1, 2 do
    q.assumed[#q.assumed + 1] = { at = state[k], count = state[k + 1] }
  end
  q.cells, q.oldest, q.added, q.known, q.unread, q.fetched, q.put_to = {}, 1, {}, {}, true, 0, 0
  q.sorted = {}
  q.created = not log.get(q, 1)
  if q.created and q.used > 0 then
    q:restore()
  end
end

-- restore has the parts be the cells, since these are lost. All of a part leaves with its last slot: so nothing counts for a shorter time.
function log.restore(q)
  q.unread, q.used, q.wipe = false, 0, true -- wipe, since somebody else may have put something there
  for _, p in ipairs(q.parts) do
    log.add(q, p.first, p.last, p.count)
    q.used, q.put_to = q.used + p.count, math.max(q.put_to, p.last)
  end
end

function log.write(q)
  while q.parts[1] and q.parts[1].last + q.span <= now do
    table.remove(q.parts, 1) -- it has left
  end
  local state, n, first = { q.used, q.order, #q.parts }, 3, 0
  for _, p in ipairs(q.parts) do
    state[n + 1], state[n + 2], state[n + 3] = p.first - first, p.last - p.first, p.count
    n, first = n + 3, p.first
  end
  for _, a in ipairs(q.assumed) do -- also when it has left: Per may become longer
    state[n + 1], state[n + 2] = a.at, a.count
    n = n + 2
  end
  return state
end

-- count has so much more at an instant be in the parts.
function log.count(q, at, n)
  local all, long = q.parts, q.long
  local i = #all
  while i > 0 and all[i].first > at do
    i = i - 1
  end
  local before, after = all[i], all[i + 1]
  if before and at <= math.max(before.last, before.first + long) then
    before.last, before.count = math.max(before.last, at), before.count + n
  elseif after and after.last - at <= long then
    after.first, after.count = at, after.count + n
  else
    table.insert(all, i + 1, { first = at, last = at, count = n })
    if #all > log.most_parts then
      q:join_parts()
    end
  end
end

-- join_parts has the two parts be one that are the shortest together.
function log.join_parts(q)
  local all, at = q.parts, 2
  for i = 3, #all do
    if all[i].last - all[i - 1].first < all[at].last - all[at - 1].first then
      at = i
    end
  end
  local later = table.remove(all, at)
  all[at - 1].last, all[at - 1].count = later.last, all[at - 1].count + later.count
end

-- discount has so much less be in the part that an instant is in, and, as far as there is less in that, in those before it.
function log.discount(q, at, n)
  for i = #q.parts, 1, -1 do
    local p = q.parts[i]
    if p.first <= at then
      local gone = math.min(n, p.count)
      n, p.count = n - gone, p.count - gone
      if p.count == 0 then
        table.remove(q.parts, i)
      end
    end
  end
end

function log.flush(q)
  if q.wipe then
    redis.call('DEL', q.key)
  end
  local changed = {}
  for _, c in pairs(q.known) do
    if c.count == 0 or c.count ~= c.was_count or c.first ~= c.was_first or c.last ~= c.was_last then
      c.score = c.last
      c.text = c.count > 0 and string.format('%.0f:%.0f:%.0f', c.first, c.last - c.first, c.count) or nil
      changed[#changed + 1] = c
    end
  end
  replace(q.key, changed)
end

-- clear forgets all cells.
function log.clear(q)
  q.used, q.cells, q.oldest, q.added, q.known, q.unread, q.put_to = 0, {}, 1, {}, {}, false, 0
  q.sorted, q.tail, q.after, q.edge, q.top = {}, nil, nil, nil, 0
  q.parts = {}
  q.wipe = true
end

function log.empty(q)
  q:clear()
  q.order, q.assumed = 0, {}
end

function log.drain(q, t, first)
  q:empty()
  local function assume(back, number)
    local at = t - q.span + back
    local newest, n = q.cells[#q.cells], math.max(number - q.used, 0)
    if newest and newest.last == at then
      newest.count = newest.count + n
      q.assumed[#q.assumed].count = newest.count
    elseif n > 0 then
      log.add(q, at, at, n)
      q.assumed[#q.assumed + 1] = { at = at, count = n }
    end
    if n > 0 then
      q:count(at, n)
    end
    q.used = q.used + n
  end
  local d = math.max(first, 1)
  while d < q.per / 10 do
    assume(d, math.max(scale(d, q.n, q.per) - 1, 1))
    d = d * 2
  end
  for k = 1, 10 do
    assume(math.ceil(q.per * k / 10), math.floor(q.n * k / 10))
  end
end

-- drop has n at an instant, or what there is of it, not count. It returns the cell of that instant, of which the next one may go, too.
function log.drop(q, at, n, c)
  if not c or c.count == 0 then
    c = select(2, log.around(q, at))
  end
  if not c or c.first > at then
    return nil
  end
  local gone = math.min(n, c.count)
  c.count, q.used = c.count - gone, q.used - gone
  q:discount(at, gone)
  if c.count == 0 and c == q.tail then
    q.tail = nil
  end
  return c
end

-- trust: all that went was told.
function log.trust(q)
  for _, a in ipairs(q.assumed) do
    q:drop(a.at, a.count)
  end
  q.assumed = {}
end

-- release: of what is beyond n, the latest goes. A cell of which a part is still to come does not count as gone: that part is handed out for when
-- what came before has left. Alone it has no more than n either.
function log.release(q, t, n)
  q:trust()
  q:purge(t)
  local _, later = log.later(q, t)
  local excess = q.used - later - n
  local _, straddles = log.around(q, t)
  if straddles and straddles.first <= t and straddles.last > t then
    excess = excess - straddles.count
    q:drop(straddles.last, math.max(straddles.count - n, 0))
  end
  while excess > 0 do
    local before, c = log.around(q, t)
    if not c or c.last > t then
      c = before
    end
    if not c then
      return -- somebody else has written here
    end
    local part = math.min(c.count, excess)
    q:drop(c.last, part)
    excess = excess - part
  end
end

-- own puts what a member says in the place of what was assumed, the oldest first: nobody can have used more than n.
function log.own(q, now, at, n)
  if at + q.span <= now then
    return
  end
  local rest = n
  while q.assumed[1] and rest > 0 and at <= q.since and at + q.span > q.since do
    local a = q.assumed[1]
    local part = math.min(a.count, rest)
    a.cell = q:drop(a.at, part, a.cell)
    rest, a.count = rest - part, a.count - part
    if a.count == 0 then
      table.remove(q.assumed, 1)
    end
  end
  q:join(at, n)
end

-- left says no more than there is: of many cells that have left, some may count until a later call looks at them.
function log.left(q, now)
  return math.max(q.n - q.used + q:gone(now, 0), 0)
end

-- newest returns an instant that the last slot of no cell is after.
function log.newest(q)
  if not q.top then
    local c = log.parse(q, redis.call('ZRANGE', q.key, -1, -1)[1])
    q.top = c and c.last or 0
  end
  return math.max(q.top, q.put_to)
end

-- later returns the cells after t, in their order, and how much is in them.
function log.later(q, t)
  local all, sum = {}, 0
  if q.unread then
    if t >= log.newest(q) then
      return all, sum
    end
    q:read_after(t)
  end
  for i = find(q.sorted, t), #q.sorted do
    steps = steps + 1
    local c = q.sorted[i]
    if c.count > 0 and c.first > t then
      all[#all + 1], sum = c, sum + c.count
    end
  end
  return all, sum
end

-- stop has the walk through cells end at the i-th, since a call has no steps left, so that it hands out no slot any more. It returns when to
-- ask again, at t or later: when the cells up to there have left.
function log.stop(q, t, i)
  local c = log.get(q, i)
  q.stopped = true
  return math.max(t, c and c.last + q.span or t)
end

-- go_on has the next call begin with the cells after those that this one has read and that have left.
function log.go_on(q)
  q:purge(now, #q.cells)
end

-- leaves returns when, at t or later, so much has left, or when to ask again.
function log.leaves(q, t, excess)
  local i = q.oldest
  while excess > 0 do
    local c = log.get(q, i)
    if not c then
      q.used = q.used - excess -- somebody else has written here: what is in no cell has left
      return t
    end
    if c.count >= excess then
      return math.max(t, q:ends(c.last))
    elseif steps > most_steps then
      return log.stop(q, t, i)
    end
    steps = steps + 1
    excess = excess - c.count
    i = i + 1
  end
  return t
end

-- gone returns how much has left at t, or less than that but enough, or less since the call has no steps left,
-- and the cell up to which that is: it goes on with what had left at an instant before.
function log.gone(q, t, enough, sum, i)
  sum, i = sum or 0, i or q.oldest
  local c = log.get(q, i)
  while c and q:ends(c.last) <= t and (i <= log.looks or sum < enough and steps <= most_steps) do
    steps = steps + 1
    sum = sum + c.count
    i = i + 1
    c = log.get(q, i)
  end
  if c and i > log.looks and q:ends(log.newest(q)) <= t then
    sum = q.used
  end
  return sum, i
end

-- bears returns t if those later ones from the k-th on remain right with n at t, or the first for which
-- it is too much, or when to ask again. So much is in all cells before.
function log.bears(q, t, later, k, before, n)
  local ends, gone, oldest = q:ends(t), nil, nil
  for i = k, #later do
    steps = steps + 1
    local c = later[i]
    if c.first >= ends then
      break
    end
    before = before + c.count
    gone, oldest = log.gone(q, c.first, before + n - q.n, gone, oldest)
    if before - gone + n > q.n then
      return steps > most_steps and log.stop(q, t, oldest) or c.last
    end
  end
  return t
end

function log.when(q, t, n)
  t = math.max(t, q.order)
  local later, sum = log.later(q, t)
  local k = 1
  while true do
    while later[k] and later[k].first <= t do
      sum = sum - later[k].count
      k = k + 1
    end
    local s = log.leaves(q, t, q.used - sum + n - q.n)
    if s > t then
      t = s -- some that are later may not be then
    else
      t = log.bears(q, t, later, k, q.used - sum, n)
      if t == s then
        return t
      end
    end
  end
end

function log.take(q, now, slot, n)
  local left = now
  if slot - now <= near then
    left, q.order = slot, math.max(q.order, slot)
  end
  q:purge(left)
  q:put(slot, n)
end

-- purge has the cells that have left at t not count. All of them are forgotten at once; of many that are not all, a call looks at some, or at those that
-- it knows, and at those whose room it needs, while it has steps left.
function log.purge(q, t, known)
  local looks = known or log.looks
  local c = log.get(q, q.oldest)
  while c and t >= c.last + q.span do
    if q.oldest > looks then
      if t >= log.newest(q) + q.span then
        q:clear()
        return
      elseif q.used <= q.n or steps > most_steps then
        return
      end
    end
    q.used = q.used - c.count
    c.count = 0
    q.oldest = q.oldest + 1
    c = log.get(q, q.oldest)
  end
end

-- put charges n at a slot. If that need not be known to the instant, it joins what is so near, before or after it: so however much
-- goes without slots, there are no more than two such cells in so long.
function log.put(q, slot, n, near)
  n = math.min(n, most)
  q.used = math.min(q.used + n, 2 * most)
  q.put_to = math.max(q.put_to, slot)
  q:count(slot, n)
  local before, after = log.around(q, slot)
  if after and after.first <= slot then
    after.count = after.count + n
  elseif before and slot - before.first <= math.max(q.width, near or 0) then
    before.last, before.count = slot, before.count + n
  elseif near and after and after.last - slot <= math.max(q.width, near) then
    after.first, after.count = slot, after.count + n
  else
    log.add(q, slot, slot, n)
  end
end

-- join charges what went without a slot.
function log.join(q, at, n)
  q:put(at, n, math.floor(q.per / log.coarse))
end

function log.owe(q, now, n)
  q.order = math.max(now, q.order)
  q:purge(q.order)
  q:join(q.order, n)
end

-- passed: a cell counts from its first slot until long after its last one. Slots that joined the cell, or an earlier one, may have left no
-- room for this one.
function log.passed(q, _, slot)
  if slot <= q.order or q.used <= q.n then
    return slot <= q.order
  end
  local later, sum = log.later(q, slot)
  return log.leaves(q, slot, q.used - sum - q.n) > slot or log.bears(q, slot, later, 1, q.used - sum, 0) > slot or q.stopped
end

-- give comes before each take of the same call: all that counts is in the sorted set, or
-- was drained, or is restored.
function log.give(q, _, slot, n)
  if q.wipe then
    return
  end
  local c = log.parse(q, redis.call('ZRANGEBYSCORE', q.key, whole(slot), '+inf', 'LIMIT', 0, 1)[1])
  if c and c.first <= slot then
    n = math.min(n, c.count)
    c.count, q.used = c.count - n, q.used - n
    q:discount(slot, n)
  end
end

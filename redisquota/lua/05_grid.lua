-- Windows of the clock: ClockWindow counts what is in one, EstimatedWindow also what was in
-- the one before it. There are no slots in the last moments of one, since what is sent
-- late is sent in the same window.

local function tick(q, t)
  return t - math.fmod(t, q.per)
end

-- clear returns t, or, if it is in the last moments of a window, the beginning of the next.
local function clear(q, t)
  local finish = tick(q, t) + q.per
  if t + q.slot_life < finish then
    return t, true
  end
  return finish, false
end

-- grid is what both have in common. What was handed out in order is counted in w: no slot that is handed out later is before its last. The
-- other slots are in far, before which there may be others. If there are too many of them, those of one window that are near together
-- are there as one, between which nothing is handed out.
local grid = { set = function() end, most = 32 } -- how many are in far

function grid.read(q, state)
  local i = #q.names + 3
  if #state < i then
    return true
  end
  q.w, q.far = {}, {}
  for k, name in ipairs(q.names) do
    q.w[name] = state[k]
  end
  q.assumed = { start = state[i - 2], current = state[i - 1], previous = state[i] }
  for k = i + 1, math.min(#state - 2, i + 3 * grid.most), 3 do
    q.far[#q.far + 1] = { first = state[k], last = state[k + 1], n = state[k + 2] }
  end
end

function grid.write(q)
  local state = {}
  for _, name in ipairs(q.names) do
    state[#state + 1] = q.w[name]
  end
  local n = #state + 3
  state[n - 2], state[n - 1], state[n] = q.assumed.start, q.assumed.current, q.assumed.previous
  for _, f in ipairs(q.far) do
    state[n + 1], state[n + 2], state[n + 3] = f.first, f.last, f.n
    n = n + 3
  end
  return state
end

-- own puts what a member says in the place of what was assumed.
function grid.own(q, now, at, n)
  q.walked = nil
  local start, a, of = tick(q, at), q.assumed, nil
  if start == a.start then
    of = 'current'
  elseif start == a.start - q.per then
    of = 'previous'
  end
  if of then
    local part = math.min(a[of], n)
    a[of], n = a[of] - part, n - part
  end
  local w, name = q.w, q.names[2]
  if n == 0 then
    return
  elseif start > w.start then
    q:take(now, at, n)
  elseif start == w.start then
    w[name] = math.min(w[name] + n, most)
  elseif start == w.start - q.per and w.previous then
    w.previous = math.min(w.previous + n, most)
  end
end

-- forget_assumed has what was assumed, and nobody has told, not count. Some of that may have come back as what went.
local function forget_assumed(q)
  q.walked = nil
  local a, w, name = q.assumed, q.w, q.names[2]
  local previous = w.previous or 0
  if w.start == a.start then
    w[name] = math.max(w[name] - a.current, 0)
    previous = previous - a.previous
  elseif w.start == a.start + q.per then
    previous = previous - a.current
  end
  w.previous = w.previous and math.max(previous, 0)
  q.assumed = { start = 0, current = 0, previous = 0 }
end

-- trust: all that went was told.
function grid.trust(q)
  forget_assumed(q)
  if q.w.last == q.since then -- nothing came after what was assumed
    q.w.last = math.min(q.w.last, math.max(now, q.w.start))
  end
end

function grid.release(q, _, n)
  forget_assumed(q)
  local w, name = q.w, q.names[2]
  w[name] = math.min(w[name], n)
  w.previous = w.previous and math.min(w.previous, n)
end

-- left is nothing if there are slots in a later window.
function grid.left(q, now)
  local start, used = tick(q, now), 0
  if q.w.start > start then
    return 0
  elseif q.w.start == start then
    used = q.w[q.names[2]] + (q.w.previous or 0)
  elseif q.w.previous and q.w.start == start - q.per then
    used = q.w.current
  end
  for _, f in ipairs(q.far) do
    if f.first >= start + q.per then
      return 0
    end
    used = used + f.n
  end
  return math.max(q.n - used, 0)
end

local function copy(w)
  local c = {}
  for name, value in pairs(w) do
    c[name] = value
  end
  return c
end

-- when goes on where it was the last time, if it is asked for as much: before that there was no room, and nothing has come back since.
function grid.when(q, t, n)
  local from = q.walked
  if not from or from.n ~= n or from.t > t then
    from = { n = n, t = t, k = 1, before = q.w, own = false }
    q.walked = from
  elseif from.t < t then
    from = { k = from.k, before = from.before, own = false } -- what it passes over may have room sooner
  end
  while true do
    steps = steps + 4 -- of one of a bucket
    local k, before = from.k, from.before
    local s, f = q:after(before, t, n), q.far[k]
    if not f or s <= f.first and q:bears(before, s, n, k) then
      return s
    end
    if not from.own then
      from.before, from.own = copy(before), true
    end
    q:charge(from.before, f.last, f.n)
    from.k = k + 1
  end
end

-- after returns when n may go after what was handed out before, not before t.
function grid.after(q, before, t, n)
  local free
  t = math.max(t, before.last)
  repeat
    t, free = clear(q, q:first(before, t, n))
  until free
  return t
end

-- bears reports whether the slots in far from the k-th on remain right if n are handed out at s, before them.
function grid.bears(q, before, s, n, k)
  local matters = tick(q, s) + q.per * (before.previous and 2 or 1) -- until when n matter
  if q.far[k].first >= matters then
    return true
  end
  local w = copy(before)
  q:charge(w, s, n)
  for i = k, #q.far do
    steps = steps + 4 -- of one of a bucket
    local f = q.far[i]
    if f.first >= matters then
      return true
    elseif f.n > q.n or q:first(w, f.first, f.n) > f.first then
      return false
    end
    q:charge(w, f.last, f.n)
  end
  return true
end

function grid.take(q, now, slot, n)
  local from = q.walked
  local passed = from and q.far[from.k - 1]
  if passed and slot == passed.last then
    q:charge(from.before, slot, n) -- it joins that
  elseif passed and slot < passed.last then
    q.walked = nil
  end
  slot = math.max(slot, q.w.last)
  local soon = math.min(now + near, tick(q, now) + q.per - 1)
  if slot <= soon or not q:remember(slot, n) then
    q:settle(slot)
    q:charge(q.w, math.max(slot, q.w.last), n)
  end
  q:settle(soon)
end

local function join(f, slot, n)
  f.last, f.n = math.max(f.last, slot), math.min(f.n + n, most)
end

-- join has slots in far that are near together be remembered as one.
function grid.join(q)
  local apart = {}
  for _, f in ipairs(q.far) do
    local o = apart[#apart]
    if o and f.last - o.first < near and f.last < tick(q, o.first) + q.per then
      join(o, f.last, f.n)
    else
      apart[#apart + 1] = f
    end
  end
  q.far, q.walked = apart, nil
end

-- remember has a slot be one of those in far, and reports whether it is.
function grid.remember(q, slot, n)
  if #q.far == grid.most then
    q:join()
  end
  local i = #q.far + 1
  while i > 1 and q.far[i - 1].first > slot do
    i = i - 1
  end
  local f = q.far[i - 1]
  if f and slot <= f.last then
    join(f, slot, n)
  elseif #q.far == grid.most then
    return false
  else
    table.insert(q.far, i, { first = slot, last = slot, n = math.min(n, most) })
  end
  return true
end

-- settle has the slots in far up to t be in order.
function grid.settle(q, t)
  while q.far[1] and q.far[1].first <= t do
    q.walked = nil
    local f = table.remove(q.far, 1)
    q:charge(q.w, math.max(f.last, q.w.last), f.n)
  end
end

function grid.owe(q, now, n)
  q.walked = nil
  q:settle(now)
  q:charge(q.w, math.max(now, q.w.last), n)
end

function grid.give(q, now, slot, n)
  q.walked = nil
  for i, f in ipairs(q.far) do
    if f.first <= slot and slot <= f.last then
      f.n = f.n - math.min(n, f.n)
      if f.n == 0 then
        table.remove(q.far, i)
      end
      return
    end
  end
  q:forget(q.w, now, slot, n)
end

-- passed: whether slots in far that are remembered as one remain right with what comes back of one of them, or in an estimate of one
-- before them, is not known.
function grid.passed(q, _, slot)
  for _, f in ipairs(q.far) do
    if f.first < f.last and slot <= f.last and (slot >= f.first or q.w.previous) then
      return true
    end
  end
  return slot < q.w.last
end

local clock = setmetatable({ names = { 'start', 'used', 'last' } }, { __index = grid })

function clock.empty(q)
  q.far, q.w = {}, { start = 0, used = 0, last = 0 }
  q.assumed = { start = 0, current = 0, previous = 0 }
end

-- drain leaves one over, if it would come too late.
function clock.drain(q, t, first)
  local start = tick(q, t)
  q.far, q.w = {}, { start = start, used = scale(q.n, t - start, q.per), last = t }
  if q.w.used == q.n and first < start + q.per - t then
    q.w.used = q.w.used - 1
  end
  q.assumed = { start = start, current = q.w.used, previous = q.n }
end

function clock.running(q, w, t)
  return w.used > 0 and t < w.start + q.per
end

function clock.first(q, w, t, n)
  if clock.running(q, w, math.max(t, w.last)) and n > math.max(q.n - w.used, 0) then
    return w.start + q.per
  end
  return t
end

function clock.charge(q, w, slot, n)
  if not clock.running(q, w, slot) then
    w.start, w.used = tick(q, slot), 0
  end
  w.used, w.last = math.min(w.used + n, most), slot
end

function clock.forget(q, w, now, slot, n)
  if clock.running(q, w, now) and slot >= w.start then
    w.used = math.max(w.used - n, 0)
  end
end

local estimate = setmetatable({ names = { 'start', 'current', 'previous', 'last' } }, { __index = grid })

function estimate.empty(q)
  q.far, q.w = {}, { start = 0, current = 0, previous = 0, last = 0 }
  q.assumed = { start = 0, current = 0, previous = 0 }
end

-- drain leaves two over, if the first would come too late.
function estimate.drain(q, t, first)
  local start = tick(q, t)
  local used, before = scale(q.n, t - start, q.per), q.n
  if first < scale(q.per, 3, 2 * q.n) then
    before = before - math.min(math.max(2 - used, 0), q.n)
    used = math.max(used - 2, 0)
  end
  q.far, q.w = {}, { start = start, current = used, previous = before, last = t }
  q.assumed = { start = start, current = used, previous = before }
end

-- at returns the window of t, what is in it, and in the one before it.
function estimate.at(q, w, t)
  local start = tick(q, t)
  if start == w.start then
    return start, w.current, w.previous
  elseif start == w.start + q.per then
    return start, 0, w.current
  end
  return start, 0, 0
end

-- within returns for how long, at the end of a window, the share of count by which the window
-- before it overlaps the last Per is below room and a half.
function estimate.within(q, count, room)
  if room < 0 then
    return 0
  elseif count <= room then
    return q.per
  end
  return scale(q.per, 2 * room + 1, 2 * count) - 1
end

function estimate.first(q, w, t, n)
  local at = math.max(t, w.last)
  local start, current, previous = estimate.at(q, w, at)
  local finish = start + q.per
  while true do
    local d = estimate.within(q, previous, q.n - n - current)
    if d > 0 then
      return finish - d > at and finish - d or t
    end
    previous = current
    finish, current = finish + q.per, 0
  end
end

function estimate.charge(q, w, slot, n)
  w.start, w.current, w.previous = estimate.at(q, w, slot)
  w.current, w.last = math.min(w.current + n, most), slot
end

function estimate.forget(q, w, _, slot, n)
  if slot >= w.start then
    w.current = math.max(w.current - n, 0)
  elseif slot >= w.start - q.per then
    w.previous = math.max(w.previous - n, 0)
  end
end

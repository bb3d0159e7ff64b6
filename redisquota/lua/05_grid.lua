-- Windows of the clock: ClockWindow counts what is in one, EstimatedWindow also what was in
-- the one before it. There are no slots in the last moments of one, since what is sent
-- late is sent in the same window.

local function tick(q, t)
  return t - math.fmod(t, q.per)
end

-- clear returns t, or, if it is in the last moments of a window, the beginning of the next.
local function clear(q, t)
  local finish = tick(q, t) + q.per
  if t + q.late < finish then
    return t, true
  end
  return finish, false
end

-- grid is what both have in common. What is counted of a window is w; while there are slots in a later
-- window than the one that runs until turn, early is what is counted of that.
local grid = { set = function() end }

function grid.read(q, state)
  local i = 1
  if #state < 1 + #q.names or state[1] > 0 and #state < 1 + 2 * #q.names then
    return true
  end
  local function window()
    local w = {}
    for _, name in ipairs(q.names) do
      i = i + 1
      w[name] = state[i]
    end
    return w
  end
  q.turn = state[1]
  if q.turn > 0 then
    q.early = window()
  end
  q.w = window()
  q.assumed = { start = state[i + 1] or 0, current = state[i + 2] or 0, previous = state[i + 3] or 0 }
end

function grid.write(q)
  local state = { whole(q.turn) }
  local function window(w)
    for _, name in ipairs(q.names) do
      state[#state + 1] = whole(w[name])
    end
  end
  if q.turn > 0 then
    window(q.early)
  end
  window(q.w)
  state[#state + 1] = whole(q.assumed.start)
  state[#state + 1] = whole(q.assumed.current)
  state[#state + 1] = whole(q.assumed.previous)
  return state
end

-- own puts what a member says in the place of what was assumed.
function grid.own(q, now, at, n)
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
  if n == 0 then
    return
  elseif start > q.w.start then
    q:take(now, math.max(at, q.w.last), n)
    return
  end
  for _, w in ipairs({ q.w, q.early }) do
    if start == w.start then
      w[q.names[2]] = math.min(w[q.names[2]] + n, most)
    elseif start == w.start - q.per and w.previous then
      w.previous = math.min(w.previous + n, most)
    end
  end
end

function grid.release(q)
  local a, name = q.assumed, q.names[2]
  for _, w in ipairs({ q.w, q.early }) do
    local previous = w.previous or 0
    if w.start == a.start then
      w[name] = w[name] - a.current
      previous = previous - a.previous
    elseif w.start == a.start + q.per then
      previous = previous - a.current
    end
    w[name] = math.min(math.max(w[name], 0), q.n)
    w.previous = w.previous and math.min(math.max(previous, 0), q.n)
  end
  q.assumed = { start = 0, current = 0, previous = 0 }
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
  return math.max(q.n - used, 0)
end

function grid.when(q, t, n)
  if t < q.turn then
    local s = math.max(q:first(q.early, t, n), q.early.last)
    if s + q.late < q.turn and q:bears(n) then
      return s
    end
  end
  local free
  t = math.max(t, q.w.last)
  repeat
    t, free = clear(q, q:first(q.w, t, n))
  until free
  return t
end

function grid.take(q, now, slot, n)
  if slot < q.turn then
    return q:charge_early(slot, n)
  elseif q.turn <= now then
    q.turn, q.early = 0, nil
    local finish = tick(q, now) + q.per
    if slot >= finish then
      q.turn, q.early = finish, {}
      for name, value in pairs(q.w) do
        q.early[name] = value
      end
    end
  end
  q:charge(q.w, slot, n)
end

function grid.owe(q, now, n)
  local w = now < q.turn and q.early or q.w
  q:take(now, math.max(now, w.last), n)
end

function grid.give(q, now, slot, n)
  if slot < q.turn then
    q:forget(q.early, now, slot, n)
  end
  q:forget(q.w, now, slot, n)
end

-- passed: none is handed out in a window between the one that runs and the last that has slots, nor before another one of the
-- same window.
function grid.passed(q, now, slot)
  if slot > now + 2 * horizon then
    return false
  elseif slot < q.turn then
    return slot < q.early.last
  end
  return slot < q.w.last
end

local clock = setmetatable({ names = { 'start', 'used', 'last' } }, { __index = grid })

function clock.empty(q)
  q.turn, q.w = 0, { start = 0, used = 0, last = 0 }
  q.assumed = { start = 0, current = 0, previous = 0 }
end

-- drain leaves one over, if it would come too late.
function clock.drain(q, t, first)
  local start = tick(q, t)
  q.turn, q.w = 0, { start = start, used = scale(q.n, t - start, q.per), last = t }
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

-- bears reports whether what was handed out after turn remains right if n are added before it.
function clock.bears()
  return true
end

function clock.charge(q, w, slot, n)
  if not clock.running(q, w, slot) then
    w.start, w.used = tick(q, slot), 0
  end
  w.used, w.last = math.min(w.used + n, most), slot
end

function clock.charge_early(q, slot, n)
  clock.charge(q, q.early, slot, n)
end

function clock.forget(q, w, now, slot, n)
  if clock.running(q, w, now) and slot >= w.start then
    w.used = math.max(w.used - n, 0)
  end
end

local estimate = setmetatable({ names = { 'start', 'current', 'previous', 'last' } }, { __index = grid })

function estimate.empty(q)
  q.turn, q.w = 0, { start = 0, current = 0, previous = 0, last = 0 }
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
  q.turn, q.w = 0, { start = start, current = used, previous = before, last = t }
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
    finish, current, previous = finish + q.per, 0, current
  end
end

-- bears is sure of it if what is in both windows is no more than N.
function estimate.bears(q, n)
  local after
  if q.w.start == q.turn then
    after = q.w.current
  elseif q.w.start == q.turn + q.per then
    after = q.w.previous
  end
  return after and q.early.current + after + n <= q.n
end

function estimate.charge(q, w, slot, n)
  w.start, w.current, w.previous = estimate.at(q, w, slot)
  w.current, w.last = math.min(w.current + n, most), slot
end

function estimate.charge_early(q, slot, n)
  estimate.charge(q, q.early, slot, n)
  if q.w.start == q.turn then
    q.w.previous = math.min(q.w.previous + n, most)
  end
end

function estimate.forget(q, w, _, slot, n)
  if slot >= w.start then
    w.current = math.max(w.current - n, 0)
  elseif slot >= w.start - q.per then
    w.previous = math.max(w.previous - n, 0)
  end
end

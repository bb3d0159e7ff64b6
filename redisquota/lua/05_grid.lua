-- Windows of the clock: ClockWindow counts what is in one, EstimatedWindow also what was in
-- the one before it. There are no slots in the last moments of one, since what is sent
-- late is sent in the same window.

local function tick(q, t)
  return t - math.fmod(t, q.per)
end

-- clear returns t, or, if it is in the last moments of a window, the beginning of the next.
local function clear(q, t)
  local finish = tick(q, t) + q.per
  if t + late < finish then
    return t, true
  end
  return finish, false
end

local clock = { set = function() end }

function clock.read(q, state)
  q.start, q.used, q.last = state[1], state[2], state[3]
end

function clock.write(q)
  return { whole(q.start), whole(q.used), whole(q.last) }
end

function clock.drain(q, t)
  q.start, q.last = tick(q, t), t
  q.used = scale(q.n, t - q.start, q.per)
end

function clock.running(q, t)
  return q.used > 0 and t < q.start + q.per
end

function clock.when(q, t, n)
  local free
  repeat
    local at = math.max(t, q.last)
    if clock.running(q, at) then
      if n > math.max(q.n - q.used, 0) then
        t = q.start + q.per
      end
    end
    t, free = clear(q, t)
  until free
  return t
end

function clock.take(q, slot, n)
  if not clock.running(q, slot) then
    q.start, q.used = tick(q, slot), 0
  end
  q.used, q.last = math.min(q.used + n, most), slot
end

function clock.give(q, now, slot, n)
  if clock.running(q, now) and slot >= q.start then
    q.used = math.max(q.used - n, 0)
  end
end

local estimate = { set = function() end }

function estimate.read(q, state)
  q.start, q.current, q.previous, q.last = state[1], state[2], state[3], state[4]
end

function estimate.write(q)
  return { whole(q.start), whole(q.current), whole(q.previous), whole(q.last) }
end

function estimate.drain(q, t)
  q.start, q.previous, q.last = tick(q, t), q.n, t
  q.current = scale(q.n, t - q.start, q.per)
end

-- at returns the window of t, what is in it, and in the one before it.
function estimate.at(q, t)
  local start = tick(q, t)
  if start == q.start then
    return start, q.current, q.previous
  elseif start == q.start + q.per then
    return start, 0, q.current
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

function estimate.first(q, t, n)
  local at = math.max(t, q.last)
  local start, current, previous = estimate.at(q, at)
  local finish = start + q.per
  while true do
    local d = estimate.within(q, previous, q.n - n - current)
    if d > 0 then
      return finish - d > at and finish - d or t
    end
    finish, current, previous = finish + q.per, 0, current
  end
end

function estimate.when(q, t, n)
  local free
  repeat
    t, free = clear(q, estimate.first(q, t, n))
  until free
  return t
end

function estimate.take(q, slot, n)
  q.start, q.current, q.previous = estimate.at(q, slot)
  q.current, q.last = math.min(q.current + n, most), slot
end

function estimate.give(q, _, slot, n)
  if slot >= q.start then
    q.current = math.max(q.current - n, 0)
  elseif slot >= q.start - q.per then
    q.previous = math.max(q.previous - n, 0)
  end
end

-- What servers said about their limits: a hash, with one for each limit. The rest of a statement
-- is the matter of who reads it.

local said, dropped, changed = {}, {}, {}
local many, most_said = 0, 16
local forget_said = false -- all of them

if state.said > 0 then
  local all = read('HGETALL', key.said)
  for i = 1, #all, 2 do
    local forgotten, known, remaining, doubt, rest = string.match(all[i + 1], '^(%d+) (%d) (%d+) (%d+) (.*)$')
    local s = {
      forgotten = tonumber(forgotten), -- when; its reset, if that is known
      known = known == '1',
      remaining = tonumber(remaining),
      doubt = tonumber(doubt), -- how far apart two processes may place the reset,
      rest = rest,
    }
    if s.forgotten and s.forgotten > now and s.forgotten <= now + ages and many < most_said then
      said[all[i]] = s
      many = many + 1
    elseif #dropped < 1000 then -- Lua passes a few thousand arguments at most
      dropped[#dropped + 1] = all[i]
    end
  end
end

-- rereads reports whether a has a reset in milliseconds, where b may have a bare number of them that was read as seconds: the doubt tells
-- the steps, and an instant has a larger one.
local function rereads(a, b)
  return a.known and b.known and a.doubt == 0.5 * second + 1000 and b.doubt == 1.5 * second
end

-- hear takes in what was said now. Of one window it keeps what is less.
local function hear(s)
  s.forgotten = now + (s.known and math.min(s.reset, ages) or horizon)
  local o = said[s.id]
  if not o then
    if many == most_said then
      return
    end
    many = many + 1
  else
    local same, d = math.max(s.doubt, o.doubt), s.forgotten - o.forgotten
    local newer = not s.known and not o.known or d > same and not rereads(o, s) or d < -same and rereads(s, o)
    if not newer and (math.abs(d) > same or s.remaining >= o.remaining) then
      return
    end
  end
  said[s.id] = s
  changed[s.id] = true
end

local function write_statements()
  if forget_said then
    redis.call('DEL', key.said)
  elseif #dropped > 0 then
    redis.call('HDEL', key.said, unpack(dropped))
  end
  for id in pairs(changed) do
    local s = said[id]
    local text = string.format('%.0f %d %.0f %.0f %s', s.forgotten, s.known and 1 or 0, s.remaining, s.doubt, s.rest)
    redis.call('HSET', key.said, id, text)
  end
end

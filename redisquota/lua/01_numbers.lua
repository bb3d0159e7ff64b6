-- One exchange with a bucket: what store.Store defines, in one atomic step. The files
-- of this directory are one script, in the order of their names.
--
-- All times are whole microseconds. Lua has only doubles, which are exact for whole
-- numbers below 2^53: the clock is at 2^51 until the year 2041 and below 2^53 until 2255. What
-- could be larger, a product, is divided without being formed. Numbers leave as
-- text ('%.0f'), since each server writes large ones differently.

local ages = 50 * 365 * 86400 * 1e6 -- no span is longer
local most = 2 ^ 50 -- no count is larger
local second = 1e6

-- scale returns d*a/b, rounded up. All are whole, d and a at least 0 and below 2^53, b
-- from 1 to 2^51.
local function scale(d, a, b)
  local product = d * a
  if product < 2 ^ 53 then
    return math.min(math.ceil(product / b), ages)
  end
  -- Bit by bit of a, as one multiplies on paper.
  local rest = math.fmod(d, b)
  local quotient, left, part, bit = (d - rest) / b * a, 0, 0, 2 ^ 52
  while bit >= 1 do
    part, left = part * 2, left * 2
    if a >= bit then
      a, left = a - bit, left + rest
    end
    while left >= b do
      part, left = part + 1, left - b
    end
    bit = bit / 2
  end
  if left > 0 then
    part = part + 1
  end
  return math.min(quotient + part, ages)
end

local function whole(n)
  return string.format('%.0f', n)
end

-- words returns numbers as text, a space before each.
local function words(all)
  return string.format(string.rep(' %.0f', #all), unpack(all))
end

-- numbers returns those in a text. Nothing that this script writes is 2^53; what somebody else wrote is cut to it, also where Lua reads no
-- number that is so large.
local function numbers(text)
  local all = {}
  for n in string.gmatch(text, '%d+') do
    all[#all + 1] = math.min(tonumber(n) or 2 ^ 53, 2 ^ 53)
  end
  return all
end

-- read is redis.call of a key that somebody else may have written: what is of another type is no more.
local function read(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) ~= 'table' or not reply.err then
    return reply
  elseif string.find(reply.err, 'WRONGTYPE', 1, true) then
    redis.call('DEL', key)
  end
  return redis.call(command, key, ...)
end

-- replace writes the changed members of a sorted set, each with its old and its new
-- text and score: nil if there is none.
local function replace(key, changed)
  local gone, new, stays = {}, {}, {}
  for _, c in ipairs(changed) do
    if c.text then
      stays[c.text] = true
      if c.was ~= c.text then
        new[#new + 1] = whole(c.score)
        new[#new + 1] = c.text
      end
    end
  end
  for _, c in ipairs(changed) do
    if c.was and not stays[c.was] then
      gone[#gone + 1] = c.was
    end
  end
  -- Most goes before anything comes, as a small set takes less room; one stays until then, as
  -- an empty set would be gone, and with it when it expires. Lua passes a few thousand arguments at most.
  for i = 2, #gone, 1000 do
    redis.call('ZREM', key, unpack(gone, i, math.min(i + 999, #gone)))
  end
  for i = 1, #new, 1000 do
    redis.call('ZADD', key, unpack(new, i, math.min(i + 999, #new)))
  end
  if gone[1] then
    redis.call('ZREM', key, gone[1])
  end
end

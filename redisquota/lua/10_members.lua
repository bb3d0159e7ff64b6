-- Members: until when they are active, in a sorted set, for others to count: those that are active, and those that share the bucket,
-- which are the ones that were active within the last minute. And in a
-- hash the Serial of each, until when it is active and known, when it asked last, the Serial of the reply that was the latest to say
-- that what it had is lost, and its last call with the slots that it got: a client library that saw no reply may have repeated it.

local member = { serial = 0, lost = 0, active = 0, stored = 0, slots = '' }

local function read_member()
  local serial, active, told, nonce, slots = string.match(not lost and record or '', '^(%d+) (%d+) %d+ %d+ (%d+) (%S+) ?(.*)$')
  if not serial then
    return false
  end
  member.serial, member.lost, member.active, member.nonce, member.slots = tonumber(serial), tonumber(told), tonumber(active), nonce, slots
  member.stored = member.active
  return true
end

local shares = 60 * second -- for how long who is no longer active still shares the bucket

-- count_active returns how many are, or were, active after t, with who asks.
local function count_active(t)
  local n = not member.gone and member.active > t and 1 or 0
  if not lost then
    n = n + read('ZCOUNT', key.active, '(' .. whole(t), '+inf')
    if member.stored > t then
      n = n - 1 -- who asks was counted
    end
  end
  return n
end

-- prune makes room for a member: it drops some of those that nobody needs to know any more.
local function prune()
  if lost then
    return
  end
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', key.active, '-inf', whole(now - shares), 'LIMIT', 0, 16)) do
    local text = read('HGET', key.members, id)
    local known = text and tonumber(string.match(text, '^%d+ %d+ (%d+)')) or 0
    if known <= now then
      redis.call('ZREM', key.active, id)
      redis.call('HDEL', key.members, id)
    end
  end
end

-- write_member reports whether who asks is new.
local function write_member()
  if request.leave then
    redis.call('ZREM', key.active, request.member)
    redis.call('HDEL', key.members, request.member)
    return false
  end
  local known = math.max(member.active + shares, now + request.know)
  local text = string.format('%.0f %.0f %.0f %.0f %.0f %s', request.serial, member.active, known, now, member.lost, request.nonce)
  if member.slots ~= '' then
    text = text .. ' ' .. member.slots
  end
  redis.call('HSET', key.members, request.member, text)
  return redis.call('ZADD', key.active, whole(member.active), request.member) == 1
end

-- Members: until when they are active, in a sorted set, for others to count: those that are active, and those that share the bucket,
-- which are the ones that were active within the last minute. Those that do not send their parts while they cannot call are there
-- with what is below zero; those that have left, with zero. And in a hash the Serial of each, until when it is active and known (likewise), when it asked last and with which SlotLife, the Serial of the
-- reply that was the latest to say that what it had is lost, 1 if it had the bucket before that was lost, and has not told all yet, and the slots that its latest request got (see 12_slots.lua): who saw no reply repeats it.

local member = { serial = 0, lost = 0, had = 0, active = 0, stored = 0, shared = false, slots = '' }

local function read_member()
  local serial, sign, active, told, had, slots = string.match(not lost and record or '', '^(%d+) (%-?)(%d+) %d+ %d+ %d+ (%d+) (%d) ?(.*)$')
  if not serial then
    return false
  end
  member.serial, member.lost, member.had, member.active, member.slots = tonumber(serial), tonumber(told), tonumber(had), tonumber(active), slots
  member.stored, member.shared = member.active, sign == ''
  return true
end

local sharing_for = 60 * second -- for how long who is no longer active still shares the bucket

-- others_sharing returns how many other members that send their parts while they cannot call are, or were, active after t.
local function others_sharing(t)
  if lost then
    return 0
  end
  local n = read('ZCOUNT', key.active, '(' .. whole(t), '+inf')
  return member.shared and member.stored > t and n - 1 or n -- who asks was counted
end

-- count_active returns how many are, or were, active after t, with who asks.
local function count_active(t)
  local n = others_sharing(t) + (not member.gone and member.active > t and 1 or 0)
  if not lost then
    n = n + redis.call('ZCOUNT', key.active, '-inf', '(' .. whole(-t))
    if not member.shared and member.stored > t then
      n = n - 1
    end
  end
  return n
end

-- prune makes room for a member: it drops some of those that nobody needs to know any more.
local function prune()
  if lost then
    return
  end
  local function drop(ids)
    for _, id in ipairs(ids) do
      local text = read('HGET', key.members, id)
      local known = text and tonumber(string.match(text, '^%d+ %-?%d+ (%d+)')) or 0
      if known <= now then
        redis.call('ZREM', key.active, id)
        redis.call('HDEL', key.members, id)
      end
    end
  end
  -- Of each kind, those that were active before the others of it.
  local below = redis.call('ZCOUNT', key.active, '-inf', '(0')
  if below > 0 then
    drop(redis.call('ZRANGE', key.active, math.max(below - 8, 0), below - 1))
  end
  drop(redis.call('ZRANGEBYSCORE', key.active, '0', '0', 'LIMIT', 0, 8)) -- they have left
  drop(redis.call('ZRANGEBYSCORE', key.active, '(0', whole(now - sharing_for), 'LIMIT', 0, 8))
end

-- write_member reports whether who asks is new.
local function write_member()
  if request.leave then
    if not member.new then -- what comes again finds it
      redis.call('HSET', key.members, request.member, string.format('%.0f 0 %.0f %.0f 0 0 0', request.serial, now + 2 * second, now))
      redis.call('ZADD', key.active, '0', request.member)
    end
    return false
  end
  local known = math.max(member.active + sharing_for, now + request.know)
  local score = request.goes_on and member.active or -member.active
  local text = string.format('%.0f %.0f %.0f %.0f %.0f %.0f %d', request.serial, score, known, now, request.slot_life, member.lost, member.had)
  if member.slots ~= '' then
    text = text .. ' ' .. member.slots
  end
  redis.call('HSET', key.members, request.member, text)
  return redis.call('ZADD', key.active, whole(score), request.member) == 1
end

-- What is remembered of the bucket as a whole.

local fields = { 'bucket', 'lists' }
for i = 1, #asked do
  fields[i + 2] = 'q' .. i
end
local texts = read('HMGET', key.state, unpack(fields))
local was_bucket, was_lists = table.remove(texts, 1), table.remove(texts, 1) or '' -- then of each place
local version = 17 -- of what is written here; another one is of another release, and no use. In each release it is the first number, and when it was written the second
local in_use = 10 * second -- a later release counts as in use for so long
local state = {}
local n = was_bucket and numbers(was_bucket) or {}
if n[1] == version and #n == 23 then
  state = { now = n[2], last = n[3], hold = n[4], renewed = n[5], places = n[6], holes = n[7], said = n[8], slot_life = n[9], born = n[10], learn = n[11], second = n[12], asked_at = n[13], fresh = n[14] == 1, handed = n[15], rose = n[16], served = n[17], unheard = n[18], cut = n[19], told = n[20], had = n[21], heard = n[22], parted = n[23] }
end

-- Time does not run back: if the clock was set back it stands still until that is made
-- up for. If it was set back further, or forward, what is remembered is of no use. Members say how long it
-- was since they asked: more cannot have passed.
local off = 2 * second -- so much may a call be on its way
local time = redis.call('TIME')
now = time[1] * second + time[2]
if #n >= 2 and n[1] > version and math.abs(now - n[2]) < in_use then
  return { 'later ' .. whole(n[1]) } -- else both releases lose the bucket again and again, and nothing goes
end
local lost = not state.now or math.max(state.last, state.hold) > now + 2 * ages or math.max(state.learn, state.served) > now + ages or state.now > now + off
local record = not lost and read('HGET', key.members, request.member) or '' -- see 10_members.lua
local serial, called, asked_slot_life = string.match(record, '^(%d+) %-?%d+ %d+ (%d+) (%d+) ')
called = tonumber(called) -- when the member asked last
local other_life = request.answered > 0 and request.life ~= 0 and request.life ~= state.born -- the answer was of another life of the bucket
local excess = called and request.since > 0 and tonumber(serial) <= request.serial and now - called - request.since or 0
if not lost and excess > off and not request.set then
  return { 'late ' .. whole(excess) }
end
lost = lost or excess > off
lost = lost or called and tonumber(serial) < request.answered and not other_life -- what was done since is lost
lost = lost or other_life and request.life > state.born and request.life <= now -- what was of before that life has come back
lost = lost or called and called > state.now -- somebody has written what was there before the member asked last
-- Who was answered before the bucket was said to be new knows better, as long as that matters.
lost = lost or not called and state.fresh and request.since > now - state.born and now - state.born <= request.know
if lost then
  state = {
    now = now, last = now + horizon, hold = 0, renewed = 0, places = 0, holes = 0, said = 0, slot_life = 0, second = 0, asked_at = now,
    born = now, learn = now + horizon, handed = 0, rose = 0, served = now + horizon, unheard = 0, cut = 0, told = 0, had = 0, heard = 0, parted = now,
    fresh = request.new and not was_bucket and request.since <= 0 and request.answered <= 0,
  }
  if state.fresh then
    state.parted = 0 -- else who had it is not known here
  end
end
now = math.max(now, state.now)
other_life = other_life or lost and request.answered > 0 and request.life ~= 0
local learn = state.learn -- nothing is handed out before, but for what is spare while some are unheard
local served, unheard = state.served, state.unheard -- when the latest call came that asked for something
local fresh = state.fresh -- a member said that the bucket is new

-- first is how long after t one token is to be there, if all is assumed to be used up to then.
local function first(t)
  return request.standstill > 0 and math.max(request.standstill - (t - now), 0) or ages
end

-- used_for is for how long after their instants slots are used at the most from now on: what each member that is active asked for last holds for all that it has in
-- hand. If they are too many, nobody knows.
local function used_for()
  local longest, many = slot_life, 64
  if lost then
    return longest
  elseif serial and request.serial < tonumber(serial) then
    longest = math.max(longest, tonumber(asked_slot_life)) -- the request is an old one
  end
  local ids = read('ZRANGEBYSCORE', key.active, '(' .. whole(now), '+inf', 'LIMIT', 0, many + 2)
  for _, id in ipairs(read('ZRANGEBYSCORE', key.active, '-inf', '(' .. whole(-now), 'LIMIT', 0, many + 2)) do
    ids[#ids + 1] = id
  end
  for i = #ids, 1, -1 do
    if ids[i] == request.member then
      table.remove(ids, i)
    end
  end
  if #ids == 0 then
    return longest
  elseif #ids > many then
    return ages
  end
  for _, text in ipairs(read('HMGET', key.members, unpack(ids))) do
    local asked = text and tonumber(string.match(text, '^%d+ %-?%d+ %d+ %d+ (%d+) ') or nil)
    longest = math.max(longest, asked or ages)
  end
  return longest
end

-- SlotLife is the longest that any member has asked for within the horizon, in which who waits asks once at least: to reckon with it for longer keeps a bucket slow after
-- its store was. Second is what was asked for since the longest was, at asked_at. A member that asks for slots of now alone does not shorten the SlotLife of others.
-- Nothing counts that is longer than slots are used for.
local used = used_for()
do
  local ago, span = now - state.asked_at, math.max(horizon, second / 2)
  if slot_life >= state.slot_life or ago >= 2 * span then
    state.slot_life, state.second, state.asked_at = slot_life, 0, now
  elseif ago >= span then
    state.slot_life, state.second, state.asked_at = math.max(state.second, slot_life), 0, now
  else
    state.second = math.max(state.second, slot_life)
  end
  if used < state.slot_life then
    state.slot_life, state.second, state.asked_at = used, 0, now
  end
end

last = state.last
local hold = state.hold -- until when nothing goes
local renew = now - state.renewed > 3600 * second -- whether to have the keys live on

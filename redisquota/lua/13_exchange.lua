-- The exchange itself.

local came_back = 0 -- the work of what came back of slots that have passed

-- back takes back what was not used.
local function back(part)
  steps = steps + steps_of_slot * (1 + #quotas)
  if part.slot < now then
    forget(part.slot, part.cost)
    came_back = math.min(came_back + work(part.cost), ages)
  elseif part.slot <= state.rose or part.slot > now + near and not passed(part.slot, part.cost) then
    forget(part.slot, part.cost)
  else
    dig(part.slot, part.cost)
  end
end

local function more(cost)
  if not empty(cost) then
    last = math.max(last, now)
    for i, q in ipairs(quotas) do
      if cost[i] > 0 then
        q:owe(now, cost[i])
      end
    end
  end
end

-- start has the buckets be empty at t, but for a token that comes so soon.
local function start(t, soon)
  for _, q in ipairs(quotas) do
    if q.start then
      q:start(t, soon)
    end
  end
end

-- own charges what went, or will go, without a slot that is known here. However much that is, all of it is charged; but then less is handed out.
local function own()
  for _, o in ipairs(request.own) do
    steps = steps + 4 * #quotas
    for i, q in ipairs(quotas) do
      if o.cost[i] > 0 then
        q:own(now, now + o.from, o.cost[i])
      end
    end
    last = math.max(last, now + o.from)
    if now - state.born < kept.lasts then
      kept.note(now + o.from, o.cost)
    end
  end
end

-- learned returns what a member has told last of the server: its instant, and the text.
local function learned()
  local at, rest = string.match(read('HGET', key.state, 'learned') or '', '^(%d+) (.*)$')
  at = tonumber(at)
  return at and at <= now and now - at < 24 * 3600 * second and rest or ''
end

-- part_of returns 9/10 of one of so many parts, rounded down.
local function part_of(n, among)
  return n - scale(n, 10 * among - 9, 10 * among)
end

-- hear has the part of a member be there, too, which asks and could call all the time. When all were heard, all is there.
local function hear_member()
  local woke = learn - horizon
  if unheard == 0 or request.outage or not member.shared or called >= woke or member.stored <= woke - sharing_for then
    return -- it is none of the others, or was heard
  end
  for _, q in ipairs(quotas) do
    q.spare = q.spare + q.part
  end
  unheard = unheard - 1
  if unheard == 0 then
    learn, served = now, now
  end
end

-- silent is since when nobody has asked for anything, as far as that matters: of a bucket that was lost, since when nobody has called, though nothing was to be handed out until later.
local function silent()
  return math.min(served, state.now)
end

-- wake has the first that asks in a while, and those after it for a horizon, get no more than what is spare if all others that send their
-- parts without us could not call.
local function wake()
  if now < learn then
    hear_member()
    return
  end
  if request.asks == 0 or now <= math.max(silent() + horizon, last, hold) + request.slot_life then
    return
  end
  local since = served - sharing_for
  local others = others_sharing(since)
  if others == 0 then
    return
  end
  local among = count_active(since)
  local unsure = state.cut == 1 and served < learn -- who was to wait did not come back: the others may not have been able to tell
  for _, q in ipairs(quotas) do
    if q.room then
      -- They had nothing when somebody was served last, and got 9/10 of their shares of what came since, but for what is beyond their
      -- parts of the burst.
      local burst = math.max(part_of(q.burst, among), 1)
      local function leave(k)
        return math.min(q:room(now - scale(now - served, 9 * k, 10 * among)), q.burst - k * burst)
      end
      local spare = math.max(q.spare, 0)
      q.spare = leave(others)
      if q.burst <= others then -- which cannot be divided
        q.spare = math.max(q.spare, 1)
      end
      q.part = math.floor(math.max(leave(1) - q.spare, 0) / math.max(others - 1, 1)) -- of the last one it does not matter
      local came = scale(now - served, q.n, q.per)
      local part = part_of(came, among)
      if came <= q.burst and q:room(now) - others * part > q.spare then -- these shares are no whole tokens
        q.spare, q.part = q:room(now) - others * part, part
      end
      if unsure then
        local since = now - served
        q.spare = math.min(q.spare, spare + scale(since - scale(since, 9 * others, 10 * among), q.n, q.per))
      end
    else
      -- Whatever they used before, each sends no more than its part of n in any per without us. Until per has passed, that is no more
      -- than it used before, and its part of what was left.
      local spare = q.spare
      q.part = part_of(q.n, among)
      q.spare = q:left(now) - others * q.part
      if now - served <= q.per then
        local left = q:left(state.now)
        local part = part_of(left, among)
        local n = left - others * part
        n = unsure and math.min(n, spare) or n
        if n > q.spare then
          q.spare, q.part = n, part
        end
      end
    end
  end
  learn, unheard, state.cut = now + horizon, others, 0
end

-- hear_outage has nothing be handed out for a horizon, if a member sent without us, and nobody was served for so long.
local function hear_outage()
  if not request.outage then
    return
  elseif 2 * (now - silent()) > horizon then -- which is how long a member tries, before it sends without us
    learn, served = now + horizon, math.max(served, now)
    reply.known = false -- it is not, once more
  elseif now >= learn or unheard == 0 then
    return
  end
  unheard, fresh, state.cut = 0, false, 1
  for _, q in ipairs(quotas) do
    q.spare = 0
  end
  start(math.min(math.max(now, last), learn), ages) -- what goes from now on is told, and charged
end

-- hear_lost notes that the member had the bucket when it was lost. One that has asked for nothing in a minute is not among those which it, and others, counted.
local function hear_lost()
  if not other_life or request.sharing > 0 and request.since > sharing_for then
    return
  elseif request.sharing <= 0 then
    state.had = too_many
  else
    state.had, member.had = math.max(state.had, math.min(request.sharing, too_many)), 1
  end
end

-- all_told reports whether all that had the bucket when it was lost have told what they sent.
local function all_told()
  return state.had > 0 and state.had <= state.heard
end

-- tell notes that the member has told all of before the loss.
local function tell()
  if member.had == 1 and not other_life then
    member.had, state.heard = 0, state.heard + 1
  end
end

-- trust has nothing be assumed of windows of which all have told that were counted. One that came just before the loss, and of which not all others had heard, has a quarter of the
-- horizon to say so. Of buckets nobody tells: they remain empty until the horizon is over.
local function trust()
  if not all_told() or now < state.born + math.floor(horizon / 4) then
    return
  end
  if state.parted == state.born then -- nobody has left since
    state.parted = 0
  end
  for _, q in ipairs(quotas) do
    local counts = q.kind == 'estimate' and 2 * q.per or q.per
    if q.kind ~= 'bucket' and counts <= sharing_for then
      q:trust()
      q.since = math.min(q.since, now)
    end
  end
  if learn == state.born + horizon then -- else it waits for something else
    learn, served = math.min(learn, now), math.min(served, now)
    reply.known = learn < state.born + horizon
  end
end

local function exchange()
  fill()
  local known = read_member()
  member.new = not known
  reply.learned = known and '' or learned()
  if not known and request.serial > 1 or request.answered > 0 and request.answered < member.lost or other_life then
    reply.lost = true -- until the member has heard of it
  end
  if reply.lost then
    member.lost = math.max(member.lost, request.serial)
  end
  if known and request.serial < member.serial then
    return
  end
  local again = known and request.serial == member.serial -- its reply was not seen
  hear_lost()
  if not again then
    wake()
  end
  if request.serial > member.serial then
    if not reply.lost then
      for _, part in ipairs(request.back) do
        if steps <= most_steps then
          back(part)
        end
      end
    end
    own()
    more(request.more) -- also what is owed beyond what own charges
  end
  tell()
  trust()
  hear_outage()
  if now < served and not fresh then -- the bucket was lost
    local t = now + math.min(request.ahead, ages)
    start(t, first(t))
  end
  if request.release then
    hold, said = math.min(hold, now), {}
    local t = math.max(now, learn)
    last = math.min(last, t + horizon) -- members hear of it, and return what is further ahead for what is sooner now
    state.told = math.min(state.told, last)
    for _, q in ipairs(quotas) do
      q:release(t, largest(q, q.n))
      q.since = math.min(q.since, t)
    end
    many, forget_said, reply.released = 0, true, true
  end
  if request.hold > 0 and now + request.hold > hold then
    hold = now + math.min(request.hold, ages)
    reply.news, renew = true, true
  end
  for _, s in ipairs(request.statements) do
    hear(s)
  end
  reply.room = came_back > 0 and (last > now + horizon or came_back >= horizon / 8 and last > now + near)
  member.write = true
  if request.leave then
    member.gone, state.parted = true, now
    return
  end
  renew = renew or not known
  member.active = math.max(member.active, now + math.max(2 * second, 2 * horizon))
  if again then
    reply.slots = usable()
  elseif request.asks > 0 then
    served = math.max(served, now)
  end
  grant(again)
  reply.granted = granted()
  if not again then
    member.serial, member.slots = request.serial, reply.granted
  end
end

exchange()
local left = {}
for i, p in ipairs(places) do
  local n = quotas[p]:left(now) -- while what is stored is as it was read
  if unheard > 0 and now < learn then
    n = math.max(math.min(n, quotas[p].spare), 0)
  end
  left[i] = whole(n)
end
local members, sharing = math.max(count_active(now), 1), math.max(count_active(now - sharing_for), 1)

-- What is written first is refused by a server that is read-only or out of memory. Then
-- nothing has changed.
local function write()
  local jumped = not lost and last - now > math.max(horizon, math.floor((state.told - now) / 4) * 5)
  local told = jumped and last or state.told
  jumped = jumped and others_sharing(now - sharing_for) > 0 -- before who asks is written, and counted
  renew = renew or (#holes > 0 and state.holes == 0) or (many > 0 and state.said == 0)
  local values = {
    'bucket',
    string.format(
      '%d %.0f %.0f %.0f %.0f %d %d %d %.0f %.0f %.0f %.0f %.0f %d %.0f %.0f %.0f %d %d %.0f %.0f %.0f %.0f',
      version, now, last, hold, renew and now or state.renewed, #quotas, #holes, many, state.slot_life, state.born, learn,
      state.second, state.asked_at, fresh and 1 or 0, state.handed, state.rose, served, unheard, state.cut, told,
      state.had, state.heard, state.parted
    ),
  }
  for i, q in ipairs(quotas) do
    values[2 * i + 1], values[2 * i + 2] = 'q' .. i, write_place(q)
  end
  local described = describe()
  if described ~= was_lists then
    values[#values + 1], values[#values + 2] = 'lists', described
  end
  if lost or kept.changed then
    values[#values + 1], values[#values + 2] = 'told', kept.write()
  end
  if request.learned ~= '' then
    values[#values + 1], values[#values + 2] = 'learned', string.format('%.0f ', now) .. request.learned
  end
  redis.call('HSET', key.state, unpack(values))
  if lost then
    redis.call('DEL', unpack(KEYS, 2))
  end
  for i = #quotas + 1, math.min(state.places, #quotas + 100) do
    redis.call('HDEL', key.state, 'q' .. i)
  end
  for _, n in ipairs(free) do
    redis.call('DEL', KEYS[5 + n])
  end
  for _, q in ipairs(quotas) do
    if q.flush then
      q:flush()
      renew = renew or q.created
    end
  end
  write_holes()
  write_statements()
  if member.write then
    renew = write_member() or renew
  end
  if member.new then
    prune()
  end
  if renew then
    local keep = request.keep + math.ceil(math.max(hold - now, last - now, 0) / 1000)
    for _, k in ipairs(KEYS) do
      redis.call('PEXPIRE', k, whole(keep))
    end
  end
  -- News that nobody may publish are no reason to fail: a hold is in the next reply too.
  if lost or reply.asks or reply.known then
    redis.pcall('PUBLISH', request.channel, 'lost ' .. request.bucket)
  end
  if jumped then
    redis.pcall('PUBLISH', request.channel, 'ahead=' .. whole(last - now) .. ' ' .. request.bucket)
  end
  if reply.released then
    redis.pcall('PUBLISH', request.channel, 'release ' .. request.bucket)
  end
  if reply.news then
    redis.pcall('PUBLISH', request.channel, whole(hold - now) .. ' ' .. request.bucket)
  end
  if reply.room then
    redis.pcall('PUBLISH', request.channel, '0 ' .. request.bucket)
  end
  if member.stored <= now - sharing_for and member.active > now - sharing_for and not member.gone then
    redis.pcall('PUBLISH', request.channel, 'sharing=' .. whole(sharing) .. ' ' .. request.bucket)
  end
end

if not request.look then
  local written, failure = pcall(write)
  if not written then -- a permission may be missing for what comes after the first
    redis.pcall('HSET', key.state, 'bucket', '0') -- what is half written is lost
    if type(failure) == 'table' then -- from Redis 7 on
      return failure
    end
    error(failure, 0)
  end
end

local ahead = last
for _, q in ipairs(quotas) do
  if q.kind == 'bucket' and q.binds then
    ahead = math.max(ahead, q:emptied())
  end
end
-- The reply, in the order in which decode (reply.go) reads it: by place, and not by name. `left` comes last of the numbers, one for each quota.
-- No other version reads it, since a client brings its script along; what is stored has a version.
local out = {
  string.format(
    '%.0f %d %.0f %d %.0f %d %d %.0f %d %.0f %.0f %.0f %d %s',
    now, #other, reply.next, reply.bound, math.max(ahead - now, 0), members, sharing, math.max(hold - now, 0), reply.lost and 1 or 0, slot_life,
    now - state.born + 1, state.born, state.parted > 0 and now - state.parted < sharing_for and 1 or 0, table.concat(left, ' ')
  ),
  reply.learned,
  reply.granted or '',
}
for _, described in ipairs(other) do
  out[#out + 1] = described
end
for _, s in pairs(said) do
  if s.forgotten > now then
    out[#out + 1] = s.known and whole(s.forgotten - now) or '-1'
    out[#out + 1] = whole(s.remaining)
    out[#out + 1] = s.rest
  end
end
return out

-- Handing out slots.

local reply = { next = 0, bound = -1, lost = lost, slots = {} }

local most_slots = 512 -- of a reply
local steps_of_slot = 8 -- that is handed out or comes back, beside those of looking for it

local looked = {} -- from which hole on there may be one for a cost, as text: none becomes larger meanwhile

-- spares reports whether a cost may be handed out, although others may have something to tell.
local function spares(cost)
  if now >= learn then
    return true
  end
  for i, q in ipairs(quotas) do
    if cost[i] > 0 and q.binds and cost[i] > q.spare then
      return false
    end
  end
  return unheard > 0
end

-- earliest returns the next slot for a cost, which quota it waits for, and, if it is a hole, which.
local function earliest(cost)
  local at, bound, moved = math.max(now, hold), nil, true
  steps = steps + steps_of_slot
  if not spares(cost) then
    at = math.max(at, learn)
  end
  while moved do
    moved = false
    steps = steps + #quotas - 1
    for i, q in ipairs(quotas) do
      if cost[i] > 0 and q.binds and i ~= bound then
        local t = q:when(math.max(at, q.since), math.min(cost[i], q.limit))
        if t > at then
          at, bound, moved = t, i, true
        end
      end
    end
  end
  local text = cost.text
  local i = looked[text] or 1
  while holes[i] and holes[i].slot <= at do
    steps = steps + 2
    if holes[i].slot >= hold and holes[i].slot > state.rose and covers(holes[i], cost) then
      looked[text] = i
      return holes[i].slot, nil, i
    end
    i = i + 1
  end
  looked[text] = i
  return at, bound
end

-- add adds a slot to the reply, to the one before it if that is the same.
local function add(slot, ask, bound)
  local s = reply.slots[#reply.slots]
  if s and s.slot == slot and s.ask == ask then
    s.count = s.count + 1
  else
    reply.slots[#reply.slots + 1] = { slot = slot, ask = ask, count = 1, bound = index(bound) }
  end
  member.active = math.max(member.active, slot + slot_life)
end

-- Slots as text, in runs: of those that are evenly spaced the first, how far apart they are, and how many. So the reply says them, and so they are
-- remembered until the request can no longer come again. A call hands out so many runs, divided by the members, or the fewest.
local most_runs, fewest_runs = 512, 32
local runs = {}
local noted = 0 -- of how many slots of the reply it is known to which run they belong

-- note finds the runs of the slots up to that one.
local function note(upto)
  for i = noted + 1, upto do
    local s, r = reply.slots[i], runs[#runs]
    local step = r and s.slot - r.last
    if r and s.ask == r.ask and s.count == r.count and s.bound == r.bound and step >= 0 and (r.n == 1 or step == r.step) then
      r.step, r.n, r.last = step, r.n + 1, s.slot
    else
      runs[#runs + 1] = { slot = s.slot, last = s.slot, ask = s.ask, count = s.count, bound = s.bound, step = 0, n = 1 }
    end
  end
  noted = math.max(noted, upto)
end

-- granted returns the slots of the reply.
local function granted()
  note(#reply.slots)
  local all = {}
  for i, r in ipairs(runs) do
    all[i] = string.format('%.0f:%d:%d:%d', r.slot, r.ask, r.count, r.bound)
    if r.n > 1 then
      all[i] = string.format('%s:%.0f:%d', all[i], r.step, r.n)
    end
  end
  return table.concat(all, ' ')
end

-- usable returns those of the slots that the request got when it came first which may still be used, for each ask no more than it asks for: none once its
-- member is not active any more. Some may have begun. What somebody else wrote is left out, unless it could be a slot of the request.
local function usable()
  local all, rest = {}, {}
  if member.stored < now then
    return all
  end
  for text in string.gmatch(member.slots, '%S+') do
    local first, sign, bound, run = string.match(text, '^(%d+:%d+:%d+):(%-?)(%d+):?(%d*:?%d*)$')
    local slot, ask, count = unpack(numbers(first or ''))
    if ask and ask < request.asks and count > 0 then
      rest[ask] = rest[ask] or ask_of(ask + 1).count
      local step, n = unpack(numbers(run))
      bound = sign == '' and numbers(bound)[1] or -1
      bound = bound < #places and bound or -1 -- else it is of other quotas, as no Limiter sends it
      for i = 0, math.min(n or 1, most_slots) - 1 do
        local at = slot + i * (step or 0)
        if at + slot_life >= now and at <= now + ages and #all < most_slots and rest[ask] > 0 then
          all[#all + 1] = { slot = at, ask = ask, count = math.min(count, rest[ask]), bound = bound }
          rest[ask] = rest[ask] - all[#all].count
        end
      end
    end
  end
  return all
end

-- go_on has the next call begin where this one, which has no steps left, has come to: else it did the same for ever.
local function go_on()
  for _, q in ipairs(quotas) do
    if q.go_on then
      q:go_on()
    end
  end
end

-- grant hands out slots. Beyond what is soon, a member gets its share of the horizon; and
-- never so many at once that others wait for the server. A request that comes again gets nothing but what is in the reply already.
local function grant(again)
  local had = {}
  for _, s in ipairs(reply.slots) do
    had[s.ask + 1] = (had[s.ask + 1] or 0) + s.count
  end
  local left = most_slots
  local mine, members = work(request.hand), count_active(now)
  local most = math.max(math.floor(most_runs / math.max(members, 1)), fewest_runs)
  local missed, one = false, nil
  local function refuse(slot, bound)
    if not missed then
      missed, reply.next, reply.bound = true, slot - now, index(bound)
    end
  end
  for i = 1, request.asks do
    local ask = ask_of(i)
    if fits(ask.cost) then
      local cost = spread(ask.cost)
      cost.text = 'of ' .. table.concat(cost, ':') -- of one number, some servers make that number, and a large key takes room for all below it
      steps, one = steps + #quotas, cost
      local within = ask.within >= 0 and math.min(ask.within, ages) or ages -- what is beyond cannot be reckoned with
      for _ = 1, ask.count - (had[i] or 0) do
        local slot, bound, hole = earliest(cost)
        if steps > most_steps then
          go_on()
          refuse(slot, bound)
          return
        elseif slot - now > within then
          refuse(slot, bound)
          break
        elseif again or 4 * (slot - now) > horizon and mine * members >= horizon or left == 0 or #runs == most or now < learn and (slot >= learn or not spares(cost)) then
          if unheard > 0 and now < learn then
            reply.asks = state.cut == 0 -- what others may have to tell: they tell it now
            slot, state.cut = math.min(slot, learn), 1 -- then all is known, and more may be there
          end
          refuse(slot, bound)
          return
        end
        left = left - 1
        for i, q in ipairs(quotas) do
          q.spare = q.spare - math.max(math.min(cost[i], q.spare), 0)
        end
        if hole then
          if use(hole, cost) then
            for text, from in pairs(looked) do
              looked[text] = from > hole and from - 1 or from
              steps = steps + 1
            end
          end
        else
          last = math.max(last, slot)
          charge(slot, cost)
        end
        mine = mine + work(cost)
        add(slot, i - 1, bound)
        note(#reply.slots - 1) -- of the last one there may be more
      end
    end
  end
  if one and not missed then
    local slot, bound = earliest(one)
    reply.next, reply.bound = slot - now, index(bound)
  elseif not one then
    reply.next = math.max(last - now, 0)
  end
end

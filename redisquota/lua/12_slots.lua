-- Handing out slots.

local reply = { next = 0, bound = -1, lost = lost, slots = {} }

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
  local text = table.concat(cost, ':')
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
  member.active = math.max(member.active, slot + late)
end

-- usable returns those of the slots that the request got when it came first which may still be used. Some may have begun.
local function usable()
  local all = {}
  for slot, ask, count, bound in string.gmatch(member.slots, '(%d+):(%d+):(%d+):(%-?%d+)') do
    local s = { slot = tonumber(slot), ask = tonumber(ask), count = tonumber(count), bound = tonumber(bound) }
    if s.ask < #request.asks and s.slot > state.rose and s.slot + late >= now then
      all[#all + 1] = s
    end
  end
  return all
end

-- grant hands out slots. Beyond what is soon, a member gets its share of the horizon; and
-- never so many at once that others wait for the server. A request that comes again gets nothing but what is in the reply already.
local function grant(again)
  local had = {}
  for _, s in ipairs(reply.slots) do
    had[s.ask + 1] = (had[s.ask + 1] or 0) + s.count
  end
  local left = 512
  local mine, members = work(request.hand), count_active(now)
  local missed, one = false, nil
  local function refuse(slot, bound)
    if not missed then
      missed, reply.next, reply.bound = true, slot - now, index(bound)
    end
  end
  for i, ask in ipairs(request.asks) do
    if fits(ask.cost) then
      local cost = spread(ask.cost)
      steps, one = steps + #quotas, cost
      local within = ask.within >= 0 and math.min(ask.within, ages) or ages -- what is beyond cannot be reckoned with
      for _ = 1, ask.count - (had[i] or 0) do
        local slot, bound, hole = earliest(cost)
        if steps > most_steps then
          refuse(slot, bound)
          return
        elseif slot - now > within then
          refuse(slot, bound)
          break
        elseif again or 4 * (slot - now) > horizon and mine * members >= horizon or left == 0 or now < learn and (slot >= learn or not spares(cost)) then
          if unheard > 0 and now < learn then
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

-- granted returns the slots of the reply as text.
local function granted()
  local all = {}
  for i, s in ipairs(reply.slots) do
    all[i] = string.format('%.0f:%d:%d:%d', s.slot, s.ask, s.count, s.bound)
  end
  return table.concat(all, ' ')
end

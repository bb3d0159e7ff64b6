-- Holes: what came back of slots that are still to come, in their order. A hole is a
-- member of a sorted set, its slot and its cost of each quota. All are read in each call, so that there
-- are not too many: what comes back beyond is not handed out again.

local most_holes = 256
local holes = {}
local filled = {} -- those that are no more

if state.holes > 0 then
  for _, t in ipairs(read('ZRANGE', key.holes, 0, most_holes - 1)) do
    local cost = numbers(t)
    local slot, had = table.remove(cost, 1) or 0, #cost
    while #cost >= state.places and #cost < #quotas + #closed do
      cost[#cost + 1] = 0 -- of a place that is new
    end
    for _, p in ipairs(closed) do
      table.remove(cost, p)
    end
    holes[#holes + 1] = { slot = slot, cost = cost, was = t, changed = #closed > 0 or #cost ~= had }
    steps = steps + 2 + #cost
  end
end
steps = math.min(steps, most_steps / 2) -- however much there was to read, something is handed out

-- covers reports whether a hole is enough for a cost. One of other quotas never is.
local function covers(hole, cost)
  if #hole.cost ~= #cost then
    return false
  end
  for i = 1, #cost do
    if hole.cost[i] < cost[i] then
      return false
    end
  end
  return true
end

local function empty(cost)
  for i = 1, #cost do
    if cost[i] > 0 then
      return false
    end
  end
  return true
end

local function remove_hole(i)
  filled[#filled + 1] = table.remove(holes, i)
end

-- fill has the holes that have passed, or are not handed out again, be as if they had never been handed out.
local function fill()
  local left = {}
  for _, hole in ipairs(holes) do
    if hole.slot >= now and hole.slot > state.rose then
      left[#left + 1] = hole
    else
      if #hole.cost == #quotas then
        forget(hole.slot, hole.cost)
      end
      filled[#filled + 1] = hole
    end
  end
  holes = left
end

-- dig makes a hole, or makes one larger.
local function dig(slot, cost)
  local i, after = 1, #holes + 1 -- the first that is not before the slot is from i to there
  while i < after do
    local middle = math.floor((i + after) / 2)
    if holes[middle].slot < slot then
      i = middle + 1
    else
      after = middle
    end
  end
  local hole = holes[i]
  if not hole or hole.slot ~= slot or #hole.cost ~= #cost then
    if #holes < most_holes then
      table.insert(holes, i, { slot = slot, cost = cost, changed = true })
    end
    return
  end
  hole.changed = true
  for k = 1, #cost do
    hole.cost[k] = hole.cost[k] + cost[k]
  end
end

-- use takes a cost out of the i-th hole, and reports whether nothing is left of that.
local function use(i, cost)
  local hole = holes[i]
  hole.changed = true
  for k = 1, #cost do
    hole.cost[k] = hole.cost[k] - cost[k]
  end
  if empty(hole.cost) then
    remove_hole(i)
    return true
  end
end

local function write_holes()
  local changed = {}
  for _, hole in ipairs(holes) do
    if hole.changed then
      local all = { whole(hole.slot) }
      for k = 1, #hole.cost do
        all[k + 1] = whole(hole.cost[k])
      end
      hole.score, hole.text = hole.slot, table.concat(all, ':')
      changed[#changed + 1] = hole
    end
  end
  for _, hole in ipairs(filled) do
    changed[#changed + 1] = { was = hole.was }
  end
  replace(key.holes, changed)
end

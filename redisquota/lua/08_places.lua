-- The quotas of the bucket, and their ledgers. Members may ask by different lists of quotas. Each quota of any list has a
-- place, and the same quota of two lists has the same place, wherever it stands in them. Those of lists that are about bind; the
-- others are charged for a while.

local kinds = { bucket = bucket, log = log, clock = clock, estimate = estimate }
local most_kept, kept_for = 16, 60 * second -- places by which the member that asks does not ask; and for how long, or for its Per
local too_many = 2 ^ 30 -- as so many count members of which nobody knows how many they are
local most_logs = 64 -- logs, beside those of the member

local quotas = {} -- of the bucket, each at its place
local places = {} -- of those by which the member asks: at which place each is
local free = {} -- logs whose place is no more
local closed = {} -- which places are no more, in turn: see 09_holes.lua

-- parse_place returns the quota of a place, and the numbers of its ledger; nil if somebody else has written it, or it is gone.
local function parse_place(text)
  local kind, tag, rest = string.match(text or '', '^(%l+) (%S+) (.*)$')
  local n, ledger, many = {}, {}, 0
  for word in string.gmatch(rest or '', '%S+') do
    local value, least = tonumber(word), 0
    many = many + 1
    if many == 5 or many == 12 then
      least = -2 ^ 53
    end
    if not (value and least <= value and value <= 2 ^ 53) or many > 1000 then -- a NaN is neither more nor less
      return nil
    elseif many <= 15 then
      n[many] = value
    else
      ledger[many - 15] = value
    end
  end
  steps = steps + 2 * many -- which are read here, and written again
  if not kinds[kind] or #n < 15 or n[1] < 1 or n[2] < 1 or n[7] > most_logs + #asked then
    return nil
  end
  local q = {
    kind = kind, tag = tag, n = n[1], per = n[2], burst = n[3], debt = n[4], cell = n[5], asked = n[6],
    log = n[7], -- which key it has, if it is a log
    since = n[8], slot_life = n[9], falls = n[10], to = n[11], spare = n[12], part = n[13],
    larger = n[14], larger_till = n[15], -- the largest N by which slots were handed out before it fell, until none of these counts any more
  }
  q.ledger, q.was_n, q.was_per, q.was_burst, q.was_slot_life = ledger, q.n, q.per, q.burst, q.slot_life
  return q
end

local function write_place(q)
  return string.format(
    '%s %s %.0f %.0f %.0f %d %.0f %.0f %d %.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f', q.kind, q.tag, q.n, q.per, q.burst, q.debt, q.cell, q.asked, q.log,
    q.since, q.slot_life, q.falls, q.to, q.spare, q.part, q.larger, q.larger_till
  ) .. words(q:write())
end

-- find returns at which places quotas are; nothing for one that has none. Of several that look the same, the first one is at
-- the first such place.
local function find(list)
  local at, taken = {}, {}
  for i, o in ipairs(list) do
    for p, q in ipairs(quotas) do
      if not taken[p] and q.tag == o.tag and q.per == o.per then
        at[i], taken[p] = p, true
        break
      end
    end
  end
  return at, taken
end

-- bind has the quotas of lists that are about bind, with the tightest numbers.
local function bind()
  for _, q in ipairs(quotas) do
    q.binds = false
  end
  for _, l in ipairs(lists) do
    if now - l.at <= about then
      local list = {}
      for tag, n, per, burst, debt, cell in string.gmatch(l.numbered, '(%S+) (%d+) (%d+) (%d+) (%d) (%-?%d+),?') do
        list[#list + 1] = { tag = tag, n = tonumber(n), per = tonumber(per), burst = tonumber(burst), debt = tonumber(debt), cell = tonumber(cell) }
      end
      for i, p in pairs(find(list)) do
        local q, o = quotas[p], list[i]
        if q.binds then
          q.n, q.burst, q.debt, q.cell = math.min(q.n, o.n), math.min(q.burst, o.burst), math.min(q.debt, o.debt), math.max(q.cell, o.cell)
        else
          q.n, q.burst, q.debt, q.cell, q.binds = o.n, o.burst, o.debt, o.cell, true
        end
      end
    end
  end
end

-- number_log gives a log the first key that no other one has.
local function number_log(q)
  local used = {}
  for _, o in ipairs(quotas) do
    used[o.log] = true
  end
  q.log = 1
  while used[q.log] do
    q.log = q.log + 1
  end
end

-- seat returns the place of a quota that has none: that of one like it by which no member asks any more, or a new one.
local function seat(o, taken)
  local at
  for p, q in ipairs(quotas) do
    if not q.binds and not taken[p] and q.tag == o.tag and (not at or q.asked > quotas[at].asked) then
      at = p
    end
  end
  if at then
    local q = quotas[at]
    q.n, q.per, q.burst, q.debt, q.cell = o.n, o.per, o.burst, o.debt, o.cell
  else
    local q = { kind = o.kind, tag = o.tag, n = o.n, per = o.per, burst = o.burst, debt = o.debt, cell = o.cell, asked = now, log = 0, spare = 0, part = 0, larger = 0, larger_till = 0 }
    if q.kind == 'log' then
      number_log(q)
    end
    quotas[#quotas + 1] = q
    at = #quotas
  end
  taken[at] = true
  return at
end

-- close has a place be no more.
local function close(p)
  local q = table.remove(quotas, p)
  if q.kind == 'log' then
    free[#free + 1] = q.log
  end
  closed[#closed + 1] = p
  for i, at in ipairs(places) do
    if at > p then
      places[i] = at - 1
    end
  end
end

-- forget closes places that do not matter any more, and beyond most_kept those by which nobody asked for longest.
local function forget_places()
  local kept = 0
  for p = #quotas, 1, -1 do
    local q = quotas[p]
    if not q.binds and now - q.asked > math.max(q.per, kept_for) then
      close(p)
    elseif not q.binds then
      kept = kept + 1
    end
  end
  while kept > most_kept do
    local oldest
    for p, q in ipairs(quotas) do
      if not q.binds and (not oldest or q.asked < quotas[oldest].asked) then
        oldest = p
      end
    end
    close(oldest)
    kept = kept - 1
  end
end

-- grants is what a quota grants at once, at most.
local function grants(q)
  if q.kind ~= 'bucket' then
    return q.n
  end
  return q.debt == 1 and most or q.burst
end

-- follow has the SlotLife of a ledger be that of the slots which are handed out from now on. It rises at once, and falls when
-- the slots have expired that may be used for longer, or when no slot is used for longer any more; of a log, when those have left it that were.
local function follow(q, slot_life)
  if q.falls > 0 and now >= q.falls then
    q.slot_life, q.falls = q.to, 0
  end
  if slot_life >= q.slot_life or q.kind == 'clock' or q.kind == 'estimate' then
    q.slot_life, q.falls = slot_life, 0
    return
  end
  local falls = (used > slot_life and math.max(now, last) + q.slot_life or now) + (q.kind == 'log' and q.per or 0)
  if q.falls == 0 or slot_life > q.to or used <= slot_life and (slot_life < q.to or falls < q.falls) then
    q.falls, q.to = falls, slot_life
  end
end

-- largest is the largest N that matters now, where N is n.
local function largest(q, n)
  return now < q.larger_till and math.max(n, q.larger) or n
end

local function on_clock(q)
  return q.kind == 'clock' or q.kind == 'estimate'
end

-- What is there.
if not lost then
  for i = #asked + 1, math.min(state.places, #asked + most_kept) do
    texts[i] = read('HGET', key.state, 'q' .. i)
  end
  for i = 1, math.min(state.places, #asked + most_kept) do
    quotas[#quotas + 1] = parse_place(texts[i])
  end
end

-- Where the quotas are by which the member asks; and SlotLife, as far as windows of the clock bear it.
do
  local taken
  places, taken = find(asked)
  bind()
  local longest = state.slot_life
  for _, q in ipairs(asked) do
    longest = on_clock(q) and math.min(longest, math.floor(q.per / 2)) or longest
  end
  for _, q in ipairs(quotas) do
    longest = q.binds and on_clock(q) and math.min(longest, math.floor(q.per / 2)) or longest
  end
  slot_life = math.max(slot_life, longest)
  if slot_life > state.handed then
    state.rose = last -- slots up to there reckon with a shorter one
  end
  state.handed = slot_life
  local seated = false
  for i, o in ipairs(asked) do
    o.grants = grants(o)
    if not places[i] then
      places[i], seated = seat(o, taken), true
    end
    quotas[places[i]].asked = now
  end
  if seated then
    bind()
  end
  forget_places()
end

-- The keys of logs: who asks need not know of all, and is to declare them.
do
  local need = 0
  for _, q in ipairs(quotas) do
    need = math.max(need, q.log)
  end
  for _, n in ipairs(free) do
    need = math.max(need, n)
  end
  if need > #KEYS - 5 then
    return { 'logs ' .. need }
  end
end

-- The ledgers.
do
  local logs = 0
  for _, q in ipairs(quotas) do
    logs = logs + (q.kind == 'log' and 1 or 0)
  end
  log.looks = math.max(math.floor(log.most_left / math.max(logs, 1)), log.chunk)
end
for _, q in ipairs(quotas) do
  setmetatable(q, { __index = kinds[q.kind] })
  q.key = KEYS[5 + q.log]
  q.limit = grants(q)
  local longest = slot_life
  if on_clock(q) and slot_life >= q.per then
    longest = math.floor(q.per / 2) -- only others ask by it
  end
  local known = q.ledger
  if known then
    follow(q, longest)
    if q.n < q.was_n then
      q.larger = largest(q, q.was_n)
      q.larger_till = math.max(now, last) + math.min(math.min(2 * math.max(q.per, q.was_per), ages) + q.slot_life, ages)
    end
    if q.n ~= q.was_n or q.per ~= q.was_per or q.burst ~= q.was_burst then
      state.rose = last -- what comes back of slots up to there was granted by other numbers
    end
    if q.change then
      q:change()
    end
    q:set()
    known = not q:read(q.ledger)
    if known and q.follow then
      q:follow()
    end
  end
  if not known then
    q.slot_life, q.falls, q.to = longest, 0, 0
    q:set()
    q.since = math.max(now + horizon, last)
    if lost and fresh then
      q.since = 0
      q:empty()
    else
      q:drain(q.since, first(q.since))
      state.had = lost and 0 or too_many -- what members told before is not charged to this place
    end
    q.came = not (lost and fresh)
    renew = true
  end
end

-- spread returns a cost of the quotas by which the member asks as one of all. Of one by which only others ask, it costs what it costs of those of
-- the unit, the most of them.
local function spread(cost)
  local all, of_unit = {}, {}
  for i, p in ipairs(places) do
    local unit = quotas[p].unit
    all[p], of_unit[unit] = cost[i], math.max(of_unit[unit] or 0, cost[i])
  end
  for p, q in ipairs(quotas) do
    all[p] = all[p] or of_unit[q.unit] or 0
  end
  return all
end

-- index returns which of the quotas of the member is at a place; of another place, the first one of its unit; -1 if there is none.
local function index(place)
  local like = -1
  for i, p in ipairs(places) do
    if p == place then
      return i - 1
    elseif like < 0 and place and quotas[p].unit == quotas[place].unit then
      like = i - 1
    end
  end
  return like
end

for _, q in ipairs(quotas) do
  q.unit = string.match(q.tag, '^%d+:([^:]*)')
end
-- What members told within the time in which others may still share the bucket since it was lost, for quotas that come later: those of a version of a program that asks after another one did. A part is an instant,
-- a unit, and how much; those of a unit are in order. Beyond the bound, two of the unit that has most count as one.
local kept = { most = 64, lasts = 60 * second } -- its parts are nil while they were not read

-- read has the parts be known, of each unit in a list, and in units the lists.
function kept.read()
  if kept.parts then
    return
  end
  kept.parts, kept.units, kept.total = {}, {}, 0
  for at, unit, n in string.gmatch(not lost and read('HGET', key.state, 'told') or '', '(%d+):([^:%s]*):(%d+)') do
    if kept.total < kept.most then
      local of = kept.of(unit)
      kept.total = kept.total + 1
      of[#of + 1] = { at = math.min(tonumber(at), now + ages), n = math.min(tonumber(n), most) }
    end
  end
end

-- of returns the list of a unit.
function kept.of(unit)
  local of = kept.parts[unit]
  if not of then
    of = { unit = unit }
    kept.parts[unit], kept.units[#kept.units + 1] = of, of
  end
  return of
end

-- join has so much count with a part, as if all went with the later of them.
function kept.join(w, at, n)
  w.at, w.n = math.max(w.at, at), math.min(w.n + n, most)
end

-- add has what went in one second after the bucket was lost, or before, count as if all went with the last of it: a window that comes later counts
-- that for no less. What is still to come is not moved, since it may count in a window that ends before.
function kept.add(at, unit, n)
  local of, cell = kept.of(unit), math.floor((at - state.born) / second)
  local function joins(w)
    return w and (w.at == at or math.max(w.at, at) <= now and math.floor((w.at - state.born) / second) == cell)
  end
  local k, after = 1, #of + 1 -- the first that is after it is from k to there
  while k < after do
    steps = steps + 1
    local middle = math.floor((k + after) / 2)
    if of[middle].at <= at then
      k = middle + 1
    else
      after = middle
    end
  end
  local i = k
  while joins(of[i]) do
    i = i + 1
  end
  if joins(of[i - 1]) then
    kept.join(of[i - 1], at, n)
    return
  end
  table.insert(of, k, { at = at, n = math.min(n, most) })
  kept.total = kept.total + 1
  if kept.total > kept.most and not kept.join_two() then
    table.remove(of, k)
    kept.total = kept.total - 1
  end
end

-- join_two joins two neighbours of the unit that has most parts: of those that have gone, if there are two, the nearest. It returns whether any unit has two.
function kept.join_two()
  local of
  for _, o in ipairs(kept.units) do
    if not of or #o > #of or #o == #of and o.unit < of.unit then
      of = o
    end
  end
  steps = steps + #of
  local at
  for k = 2, #of do
    if not at or of[k].at <= now and of[k].at - of[k - 1].at < of[at].at - of[at - 1].at then
      at = k
    end
  end
  if not at then
    return false
  end
  kept.join(of[at], of[at - 1].at, of[at - 1].n)
  table.remove(of, at - 1)
  kept.total = kept.total - 1
  return true
end

-- note notes what a member has told: of each unit the most that it cost of any place.
function kept.note(at, cost)
  kept.read()
  local units, of_unit = {}, {} -- in the order of the places: of what is beyond the bound it matters which unit comes first
  for i, q in ipairs(quotas) do
    if not of_unit[q.unit] then
      units[#units + 1] = q.unit
    end
    of_unit[q.unit] = math.max(of_unit[q.unit] or 0, cost[i])
  end
  for _, unit in ipairs(units) do
    if of_unit[unit] > 0 then
      kept.add(at, unit, of_unit[unit])
    end
  end
  kept.changed = true
end

-- write returns them as text.
function kept.write()
  kept.read()
  local all = {}
  for _, of in ipairs(kept.units) do
    for _, w in ipairs(of) do
      all[#all + 1] = string.format('%.0f:%s:%.0f', w.at, of.unit, w.n)
    end
  end
  return table.concat(all, ' ')
end

for _, q in ipairs(quotas) do
  if q.came and not lost and now - state.born < kept.lasts then
    kept.read()
    for _, o in ipairs(kept.parts[q.unit] or {}) do
      steps = steps + 4
      q:own(now, o.at, o.n)
    end
  end
end
request.hand, request.more = spread(request.hand), spread(request.more)
for _, part in ipairs(request.back) do
  part.cost = spread(part.cost)
end
for _, o in ipairs(request.own) do
  o.cost = spread(o.cost)
end

-- fits reports whether a cost is one that the quotas by which the member asks can hand out.
local function fits(cost)
  for i, o in ipairs(asked) do
    if cost[i] > o.grants then
      return false
    end
  end
  return true
end

-- charge takes a slot from all ledgers.
local function charge(slot, cost)
  for i, q in ipairs(quotas) do
    if cost[i] > 0 then
      q:take(now, slot, cost[i])
    end
  end
end

-- forget has a cost at a slot be as if it had never been.
local function forget(slot, cost)
  for i, q in ipairs(quotas) do
    if cost[i] > 0 and slot >= q.since then
      q:give(now, slot, cost[i])
    end
  end
end

-- passed reports whether a cost at a slot to come would be of no use if it were as if it had never been.
local function passed(slot, cost)
  for i, q in ipairs(quotas) do
    if cost[i] > 0 and q.binds and q:passed(now, slot) then
      return true
    end
  end
  return false
end

-- work is the time in which a cost comes back, of all quotas the longest.
local function work(cost)
  local longest = 0
  for i, q in ipairs(quotas) do
    if cost[i] > 0 and q.binds then
      longest = math.max(longest, scale(q.per, math.min(cost[i], most), q.n))
    end
  end
  return longest
end

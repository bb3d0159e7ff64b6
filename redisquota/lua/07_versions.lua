-- By which quotas members ask, the latest first: two versions of a program may be about. A line has when that was, to
-- a second; how the name of that member begins, empty if there are several; what 08_places.lua needs of each quota; and how people write them.

local lists = {}
local most_lists, about = 4, 10 * second

for at, by, numbered, described in string.gmatch(lost and '' or was_lists, '(%d+) ([^|\n]*)|([^|\n]*)|([^\n]+)\n') do
  if #lists < most_lists then
    lists[#lists + 1] = { at = math.min(tonumber(at), now), by = by, numbered = numbered, described = described }
  end
end

-- numbered returns the numbers of the quotas by which the member asks.
local function numbered()
  local all = {}
  for i, q in ipairs(asked) do
    all[i] = string.format('%s %.0f %.0f %.0f %d %.0f', q.tag, q.n, q.per, q.burst, q.debt, q.cell)
  end
  return table.concat(all, ',')
end

-- others notes by which quotas the member asks, and returns by which others do. A member that has got other quotas takes along
-- the ones that it had, if nobody else asked by these.
local function others()
  local mine, found = request.described, nil
  local by = string.gsub(string.sub(request.member, 1, 8), '[|\n]', '_')
  for i = #lists, 1, -1 do
    if lists[i].described == mine then
      found = i
    elseif lists[i].by == by and mine ~= '' then
      table.remove(lists, i)
      found = found and found - 1
    end
  end
  local known = found and lists[found].by
  if mine ~= '' and (found ~= 1 or now - lists[1].at >= second or known ~= by and known ~= '') then
    table.remove(lists, found or most_lists)
    by = known and known ~= by and '' or by
    table.insert(lists, 1, { at = now, by = by, numbered = numbered(), described = mine })
  end
  local all = {}
  for i, o in ipairs(lists) do
    if now - o.at <= about and o.described ~= mine or i == 1 and mine == '' then
      all[#all + 1] = o.described
    end
  end
  return all
end
local other = others()

-- describe returns what is to be written.
local function describe()
  local text = ''
  for _, o in ipairs(lists) do
    text = text .. whole(o.at) .. ' ' .. o.by .. '|' .. o.numbered .. '|' .. o.described .. '\n'
  end
  return text
end

-- By which quotas members ask, the latest first: two versions of a program may be about. A line has when that was, to
-- a second, and the quotas.

local lists = {}
local most_lists, about = 4, 10 * second
local was_lists = ledgers[2] or ''

for at, described in string.gmatch(lost and '' or was_lists, '(%d+) ([^\n]+)\n') do
  if #lists < most_lists then
    lists[#lists + 1] = { at = math.min(tonumber(at), now), described = described }
  end
end

-- others notes by which quotas the member asks, and returns by which others do.
local function others()
  local mine, found = request.described, nil
  for i, o in ipairs(lists) do
    if o.described == mine then
      found = i
    end
  end
  if mine ~= '' and (found ~= 1 or now - lists[1].at >= second) then
    table.remove(lists, found or most_lists)
    table.insert(lists, 1, { at = now, described = mine })
  end
  local all = {}
  for i, o in ipairs(lists) do
    if now - o.at <= about and o.described ~= mine or i == 1 and mine == '' then
      all[#all + 1] = o.described
    end
  end
  return all
end

-- describe returns what is to be written.
local function describe()
  local text = ''
  for _, o in ipairs(lists) do
    text = text .. whole(o.at) .. ' ' .. o.described .. '\n'
  end
  return text
end

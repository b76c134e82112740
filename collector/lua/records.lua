-- Stacks of records: one a hop, newest or oldest first, fixed parts or those that a bitmap names.

local WORD = 4

local function steered(run, column)
  return column and known(run, column) or 0
end

local function bits_of(rule, run)
  local width, bits = rule.bits / #rule.bitmap, 0
  for _, column in ipairs(rule.bitmap) do
    bits = bits * 2 ^ width + steered(run, column)
  end
  return bits
end

-- The parts that the bitmap names, or all.
local function named(rule, run)
  if not rule.bitmap then return rule.parts end
  local bits, found = bits_of(rule, run), {}
  for _, part in ipairs(rule.parts) do
    if floor(bits / 2 ^ (rule.bits - 1 - part.bit)) % 2 == 1 then found[#found + 1] = part end
  end
  return found
end

local function octets_of(parts)
  local sum = 0
  for _, part in ipairs(parts) do sum = sum + part.octets end
  return sum
end

local function width_of(fields)
  local bits = 0
  for _, place in ipairs(fields or {}) do bits = bits + place.bits end
  return bits / 8
end

-- Octets at the bottom of a stack that belong to no record.
local function below(rule, run, left)
  local bottom, stride = width_of(rule.bottom), steered(run, rule.stride) * WORD
  local fits = left >= bottom and (stride == 0 or (left - bottom) % stride == 0)
  return fits and bottom or 0
end

local function tailed(rule, run)
  return rule.tail and band(steered(run, rule.tail[1]), rule.tail[2]) ~= 0
end

-- First octet of the records, octets of all of them (-1: lengths disagree), octets of the stack.
local function area(rule, run, at, behind)
  local start = rule.start < 0 and behind or at + rule.start
  if rule.count then
    local stride, count = octets_of(rule.parts), steered(run, rule.count)
    return start, math.min(count, rule.slots or count) * stride, count * stride
  end
  if not rule.total then
    local need = octets_of(named(rule, run))
    return start, need, need
  end
  local whole = steered(run, rule.total) * rule.unit + (rule.add or 0)
  local free = steered(run, rule.skip) * WORD
  if tailed(rule, run) then start = run.wire - whole end
  if whole < 0 or free > whole or start < at then return start, -1, whole end
  return start + free, whole - free - below(rule, run, whole - free), whole
end

-- Words that variable parts of the record at an octet count; nil when they were not captured.
local function counted(run, at, parts)
  local sum = 0
  for _, part in ipairs(parts) do
    for _, place in ipairs(part.fields) do
      if part.words and place.name == part.words then
        if at + (place.octet or 0) + place.octets > run.stop then return nil end
        sum = sum + plain((read(run.tvb, at, place)))
      end
    end
    at = at + part.octets
  end
  return sum
end

-- Parts of the record at an octet by its key; nil when it was not captured, false when unknown.
local function keyed(rule, run, at)
  if at + rule.key.octets > run.stop then return nil end
  local number, found = read(run.tvb, at, rule.key), {}
  for _, part in ipairs(rule.parts) do
    if part.bit == number then found[#found + 1] = part end
  end
  return #found > 0 and found
end

-- Octets of the record at an octet; nil when it was not captured, false when lengths disagree.
local function length_of(rule, run, at, parts)
  local stride, need = steered(run, rule.stride) * WORD, octets_of(parts)
  local variable, open = 0, false
  for _, part in ipairs(parts) do
    if part.words then variable, open = variable + part.octets, true end
  end
  local length = rule.stride and stride or need
  local fixed = need - (rule.stride and variable or 0)
  if fixed > length or (rule.exact and fixed ~= length) then return false end
  if open then
    if rule.stride then length = length + variable end
    local words = counted(run, at, parts)
    if not words then return nil end
    length = length + words * WORD
  end
  return length > 0 and length
end

-- Records from an octet on, {octet, octets, parts} each, and why they end, if not in order.
local function split(rule, run, start, left)
  local found, at, parts = {}, start, named(rule, run)
  while at < start + left do
    if rule.key then
      parts = keyed(rule, run, at)
      if not parts then return found, parts == nil and "truncated" or rule.reason end
    end
    local length = length_of(rule, run, at, parts)
    if length == nil then return found, "truncated" end
    if not length or at + length > start + left then return found, rule.reason end
    found[#found + 1] = { at, length, parts }
    at = at + length
  end
  local count = steered(run, rule.count)
  if not rule.slots or count <= rule.slots then return found end
  local turned, turn = {}, count % rule.slots
  for index = 1, #found do turned[index] = found[(index - 1 + turn) % #found + 1] end
  return turned
end

-- Show the fields of one record in an item, under a prefix of filter names.
local function tell(run, item, prefix, at, parts, keeps)
  for _, part in ipairs(parts) do
    for _, place in ipairs(part.fields) do
      local value, range = read(run.tvb, at, place)
      show(item, prefix, place, value, range)
      if keeps and place.column then run.steering[place.column] = plain(value) end
    end
    at = at + part.octets
  end
end

-- Show each hop that was captured; true when one was not.
local function show_hops(run, header, item, found)
  local rule, shown, cut = header.records, 0, false
  for hop = 1, math.min(#found, HOPS) do
    local record = found[rule.newest_first and #found + 1 - hop or hop]
    if record[1] + record[2] > run.stop then
      cut = true
    else
      local branch = item:add(run.tvb(record[1], record[2]), "Hop " .. hop - 1)
      tell(run, branch, header.layer .. ".hop.", record[1], record[3])
      shown = shown + 1
    end
  end
  item:add(FIELDS[header.layer .. ".hops"].field, shown):set_generated()
  local reason = cut and "truncated" or #found > HOPS and "too_many_hops"
  if reason then note(run, reason, item) end
  return cut
end

-- Read the records of a header whose own octets end at `behind`: octets taken, whether cut off.
function records(run, header, at, behind, item)
  local rule = header.records
  if rule.mismatch and steered(run, rule.stride) * WORD ~= octets_of(named(rule, run)) then
    item:add_proto_expert_info(EXPERTS[rule.mismatch])
  end
  local start, left, whole = area(rule, run, at, behind)
  local taken = (rule.start >= 0 or tailed(rule, run)) and 0 or whole
  if left < 0 then
    note(run, rule.reason, item)
    return math.max(taken, 0), false
  end
  local found, reason = split(rule, run, start, left)
  if reason then note(run, reason, item) end
  if reason == rule.reason and not rule.whole then return taken, false end
  local cut = reason == "truncated"
  if rule.per_hop then
    cut = show_hops(run, header, item, found) or cut
  elseif found[1] then
    local record = found[rule.newest_first and #found or 1]
    if record[1] + record[2] > run.stop then
      cut = record[1] + record[2] <= run.wire
      note(run, cut and "truncated" or rule.reason, item)
    else
      tell(run, item, header.layer .. ".", record[1], record[3], true)
    end
  end
  local bottom = rule.bottom and rule.total and whole - left or 0
  if bottom > 0 and start + left + bottom <= run.stop then
    tell(run, item, header.layer .. ".", start + left, { { octets = 0, fields = rule.bottom } })
  end
  return taken, cut
end

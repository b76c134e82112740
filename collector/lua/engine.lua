-- The engine: reads one packet by the tables, as the scalar reader of the collector does.

local MOST_LAYERS, MOST_ROWS = 24, 256
local UDP_LENGTH = 4
local floor = math.floor
local records, list

-- Bits of `value` that `mask` has; plain arithmetic, since Lua's versions differ in operators.
local function band(value, mask)
  local result, bit = 0, 1
  while value > 0 and mask > 0 do
    if value % 2 == 1 and mask % 2 == 1 then result = result + bit end
    value, mask, bit = floor(value / 2), floor(mask / 2), bit * 2
  end
  return result
end

local function popcount(value)
  local count = 0
  while value > 0 do
    count, value = count + value % 2, floor(value / 2)
  end
  return count
end

-- A field's value and the octets it lies in: a number, or a UInt64 above 32 bits.
local function read(tvb, at, place)
  local range = tvb(at + (place.octet or 0), place.octets)
  local low = place.low or 0
  if place.octets <= 4 then
    local word = place.little and range:le_uint() or range:uint()
    return floor(word / 2 ^ low) % 2 ^ place.bits, range
  end
  local word = (place.little and range:le_uint64() or range:uint64()):rshift(low)
  if place.bits <= 32 then return word:lower() % 2 ^ place.bits, range end
  return UInt64.new(word:lower(), word:higher() % 2 ^ (place.bits - 32)), range
end

local function plain(value)
  return type(value) == "number" and value or value:higher() * 2 ^ 32 + value:lower()
end

-- What an earlier header said, be it one of these or one of Wireshark's own.
local function known(run, column)
  local value = run.steering[column]
  if value ~= nil then return value end
  for _, extract in ipairs(OUTSIDE[column] or {}) do
    local found = { extract() }
    if #found > 0 then return tonumber(tostring(found[#found])) or 0 end
  end
  return 0
end

local function looked_at(run, rule, values)
  if rule.column then return known(run, rule.column) end
  return plain(values[rule.field])
end

-- Octets by a rule of a table.
local function size(run, rule, values, fixed)
  if not rule then return fixed end
  if not rule.field and not rule.column then return rule.add or 0 end
  local value = looked_at(run, rule, values)
  if rule.flags then value = popcount(band(value, rule.flags)) end
  return value * rule.unit + (rule.add or 0)
end

local function note(run, reason, item)
  run.noted = true;
  (item or run.root):add_proto_expert_info(EXPERTS[reason] or EXPERTS.bad_length)
end

-- Values of a header's fixed fields; nil when the packet ends inside them.
local function values_of(run, header, at)
  if at + header.octets > run.stop then return nil end
  local values, ranges = {}, {}
  for _, place in ipairs(header.fields or {}) do
    values[place.name], ranges[place.name] = read(run.tvb, at, place)
  end
  return values, ranges
end

-- Whether a packet is too short, as it was sent, for a header that may be another.
local function over(header, at, wire)
  local first = (header.checks or {})[1]
  return first and not first.reason and at + header.octets > wire
end

-- nil when the checks hold; a reason; or false when the header is not what it seemed.
local function judge(header, values)
  for _, check in ipairs(header.checks or {}) do
    local value = plain(values[check.field])
    if value < (check.low or 0) or value > (check.high or 0) then return check.reason or false end
  end
  return nil
end

local function show(item, prefix, place, value, range)
  local field = FIELDS[prefix .. place.name]
  if field.wide and type(value) == "number" then
    value = UInt64.new(value % 2 ^ 32, floor(value / 2 ^ 32))
  end
  item:add(field.field, range, value)
end

-- Show and keep a header's fields; gives its tree item.
local function keep(run, header, values, ranges, at, octets)
  local shown = math.max(math.min(octets, run.stop - at), header.octets)
  local range = shown > 0 and run.tvb(at, shown) or at < run.stop and run.tvb(at) or run.tvb()
  local item = run.root:add(PROTOS[header.layer], range)
  if header.doc then item:append_text(", " .. header.doc) end
  for _, place in ipairs(header.fields or {}) do
    show(item, header.layer .. ".", place, values[place.name], ranges[place.name])
    if place.column then run.steering[place.column] = plain(values[place.name]) end
  end
  for _, mark in ipairs(header.marks or {}) do run.steering[mark[1]] = mark[2] end
  return item
end

-- Take in what a header says of the octets that it and its load take; false when that cannot be.
local function bound(run, header, values, at, octets)
  local rule = header.extent
  if looked_at(run, rule, values) == (rule.open or 0) then return true end
  local extent = size(run, rule, values, 0)
  if extent < octets then return false end
  if header.again then extent = math.min(extent, run.wire - at) end
  if header.again and not run.again and at + extent < run.wire then
    run.rest = { at + extent, header.again, run.wire }
  end
  run.wire = at + extent
  run.stop = math.min(run.stop, run.wire)
  return true
end

-- What follows a header: its name, or (nil, space, number), or nothing.
local function follow(run, header, values)
  for _, branch in ipairs(header.branches or {}) do
    local over = band(known(run, branch.column), branch.mask) - branch.value
    local divides = branch.divides and math.max(known(run, branch.divides), 1)
    if over == 0 or (divides and over > 0 and over % divides == 0) then
      if branch.to then return branch.to end
      local number = known(run, branch.select) % 65536
      return (EDGES[branch.space] or {})[number], branch.space, number
    end
  end
  if header.next then
    local number = plain(values[header.next[1]]) % 65536
    local told = (EDGES[header.next[2]] or {})[number]
    if told or not header.to then return told, header.next[2], number end
  end
  return header.to
end

-- What is left; behind the header that bridged ours, as if ours were not there.
local function left_over(run, at)
  if not run.bridge then return run.tvb(at, run.stop - at):tvb() end
  local joined = run.tvb(run.bridge.at, run.bridge.octets):bytes()
  if at < run.stop then joined:append(run.tvb(at, run.stop - at):bytes()) end
  if run.bridge.name == "udp" then
    joined:set_index(UDP_LENGTH, floor(joined:len() / 256))
    joined:set_index(UDP_LENGTH + 1, joined:len() % 256)
  end
  return joined:tvb("Without telemetry")
end

-- Give what is left to Wireshark's own dissectors.
local function hand_over(run, name, space, number, at)
  if at >= run.stop and not run.bridge then return end
  local rest, done = left_over(run, at), 0
  if run.bridge then name, space = run.bridge.name, nil end
  local numbers = space and TABLES[space] and DissectorTable.get(TABLES[space][1])
  if space == "ethertype" and number <= 1500 then name, numbers = "snap", nil end
  local whole = pcall(function()
    if numbers then done = numbers:try(number, rest, run.pinfo, run.tree) end
    if done == 0 then
      local found = name and DISSECTORS[name] and Dissector.get(DISSECTORS[name])
      found = found or Dissector.get("data")
      found:call(rest, run.pinfo, run.tree)
    end
  end)
  if not whole then run.root:add_proto_expert_info(EXPERTS.carried) end
end

-- One header at an octet: gives the name of the next of ours and its octet, or nothing.
local function step(run, name, at)
  local header = HEADERS[name]
  local values, ranges, failed = nil, nil, false
  if not over(header, at, run.wire) then
    values, ranges = values_of(run, header, at)
    local sent = at + header.octets <= run.wire
    if not values then return note(run, not sent and header.short or "truncated") end
    failed = judge(header, values)
  end
  if failed == false and header.otherwise then return header.otherwise, at end
  if failed == false then return hand_over(run, nil, nil, nil, at) end
  local octets = header.peek and 0 or size(run, header.length, values, header.octets)
  local item = keep(run, header, values, ranges, at, octets)
  if failed then return note(run, failed, item) end
  if octets < header.octets and not header.peek then return note(run, "bad_length", item) end
  if header.extent and not bound(run, header, values, at, octets) then
    return note(run, "bad_length", item)
  end
  run.again = run.again or header.again
  if header.trailer then run.wire = run.wire - size(run, header.trailer, values, 0) end
  if header.bridge then run.bridge = { name = header.bridge, at = at, octets = octets } end
  local taken, ended, cut = 0, false, false
  if header.options and not header.bridge then
    local start = at + size(run, header.options_at, values, header.octets)
    ended = list(run, header.options[1], STYLES[header.options[2]], start, at + octets)
  end
  if header.records then taken, cut = records(run, header, at, at + octets, item) end
  local to, space, number = follow(run, header, values)
  at = at + octets + taken
  if ended or cut then return end
  if at >= run.wire then
    if run.bridge then hand_over(run, nil, nil, nil, at) end
    return
  end
  if to and HEADERS[to] then return to, at end
  return hand_over(run, to, space, number, at)
end

-- Whether a packet begins with a header of ours, or with one that may stand in its place.
local function seems(name, tvb)
  while name do
    local header = HEADERS[name]
    if not header then return true end
    if not over(header, 0, math.max(tvb:reported_len(), tvb:len())) then
      local values = values_of({ tvb = tvb, stop = tvb:len() }, header, 0)
      if not values or judge(header, values) ~= false then return true end
    end
    name = header.otherwise
  end
  return false
end

-- Read a packet from one of our headers on; false when it is not ours at all.
local function dissect(name, tvb, pinfo, tree)
  local run = { tvb = tvb, pinfo = pinfo, tree = tree, root = tree }
  local whole, at = math.max(tvb:reported_len(), tvb:len()), 0
  if whole == 0 or not seems(name, tvb) then return false end
  for row = 1, MOST_ROWS do
    run.stop, run.wire, run.rest, run.again = math.min(tvb:len(), whole), whole, nil, nil
    run.steering = {}
    for layer = 1, MOST_LAYERS + 1 do
      if layer > MOST_LAYERS then note(run, "too_many_layers") end
      name, at = step(run, name, at)
      if not name or layer > MOST_LAYERS then break end
    end
    if not run.rest or run.rest[1] >= tvb:len() then break end
    if row == MOST_ROWS then note(run, "too_many_rows") end
    at, name, whole = run.rest[1], run.rest[2], run.rest[3]
  end
  return true
end

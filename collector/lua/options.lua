-- Type-length-value lists, and options read by the tables of ours that may claim them.

-- Whether what there is of a header that reaches past `stop` shows that it is another.
local function foreign(run, header, at, stop)
  local lies = {}
  for _, place in ipairs(header.fields or {}) do lies[place.name] = place end
  for _, check in ipairs(header.checks or {}) do
    local place = lies[check.field]
    if not check.reason and at + (place.octet or 0) + place.octets <= stop then
      local value = plain((read(run.tvb, at, place)))
      if value < (check.low or 0) or value > (check.high or 0) then return true end
    end
  end
  return false
end

-- Show and keep the octets of an option that no table explains.
local function remain(run, header, at, stop, item)
  local first, count = header.remainder[1], header.remainder[2]
  local told = math.min(stop - at, 8)
  run.steering[count.column] = stop - at
  if told > 0 then
    local value, range = read(run.tvb, at, { octets = told, bits = 8 * told })
    show(item, header.layer .. ".", first, value, range)
    run.steering[first.column] = plain(value)
  end
  local rest = told > 0 and run.tvb(at, stop - at) or run.tvb()
  show(item, header.layer .. ".", count, stop - at, rest)
end

-- One option of a list at octets at to stop, by its own table or by a rival's that fits.
local function option(run, name, at, stop)
  local none
  while name do
    local header = HEADERS[name]
    local fits = at + header.octets <= stop
    local values, ranges, failed = nil, nil, false
    if fits then
      values, ranges = values_of(run, header, at)
      failed = judge(header, values)
    elseif not foreign(run, header, at, stop) then
      none = "bad_option"
    end
    if failed == nil then
      local item = keep(run, header, values, ranges, at, stop - at)
      local taken, outer, noted = 0, { run.stop, run.wire }, run.noted
      run.stop, run.wire, run.noted = stop, stop, false
      if header.records then taken = records(run, header, at, at + header.octets, item) end
      if header.remainder and not run.noted then
        remain(run, header, at + header.octets + taken, stop, item)
      end
      run.stop, run.wire, run.noted = outer[1], outer[2], run.noted or noted
      return
    end
    if failed then return note(run, failed) end
    name = header.otherwise
  end
  if none then note(run, none) end
end

-- A type-length-value list between two octets; octets that are no option of ours are Wireshark's.
-- True when it is cut off. Wireshark itself says what is wrong with a list of its own.
function list(run, space, style, at, stop, quiet)
  local function wrong(reason)
    if not quiet then note(run, reason) end
    return reason == "truncated"
  end
  if at > stop then return wrong("bad_option") end
  while at < stop do
    if at >= run.stop then return wrong("truncated") end
    local kind = run.tvb(at, 1):uint()
    if kind == style["end"] then return false end
    if kind == style.single then
      at = at + 1
    else
      if at + style.shortest > stop then return wrong("bad_option") end
      if at + style.shortest > run.stop then return wrong("truncated") end
      kind = run.tvb(at + (style.kind or 0), 1):uint()
      local length = run.tvb(at + style.length, 1):uint()
      length = band(length, style.mask) * style.unit + (style.add or 0)
      length = length + ((EXTRA[space] or {})[kind] or 0)
      if length < style.shortest or at + length > stop then return wrong("bad_option") end
      if at + length > run.stop then return wrong("truncated") end
      local named = OPTIONS[space]
      option(run, named[kind * 256 + math.min(length, 255)] or named[kind * 256], at, at + length)
      at = at + length
    end
  end
  return false
end

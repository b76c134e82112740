-- Names for filters, preferences, and the places where Wireshark hands packets to these tables.

local main = Proto("hopsight", "Hopsight: in-band congestion telemetry")
local registered = {}

for _, layer in ipairs(LAYERS) do
  PROTOS[layer] = Proto("hopsight." .. layer, "Hopsight " .. layer)
end

local function proto_of(name)
  if not PROTOS[name] then PROTOS[name] = Proto("hopsight." .. name, "Hopsight " .. name) end
  return PROTOS[name]
end

local all = {}
for _, told in ipairs(NAMES) do
  local name, label, doc, bits = told[1], told[2], told[3], told[4]
  local make = ProtoField["uint" .. bits]
  local field = make("hopsight." .. name, label, base.DEC_HEX, nil, nil, doc)
  FIELDS[name] = { field = field, wide = bits > 32 }
  all[#all + 1] = field
end
main.fields = all

local experts = {}
for name, sentence in pairs(REASONS) do
  local severity = expert.severity.WARN
  EXPERTS[name] = ProtoExpert.new("hopsight." .. name, sentence, expert.group.MALFORMED, severity)
  experts[#experts + 1] = EXPERTS[name]
end
EXPERTS.carried = ProtoExpert.new("hopsight.carried", "What is carried cannot be read",
  expert.group.MALFORMED, expert.severity.NOTE)
experts[#experts + 1] = EXPERTS.carried
main.experts = experts

for _, preference in ipairs(PREFERENCES) do
  local label = preference.name:gsub("_", " ")
  if preference.kind == "range" then
    local numbers = table.concat(preference.default, ",")
    main.prefs[preference.name] = Pref.range(label, numbers, preference.doc, 65535)
  elseif preference.kind == "choice" then
    local choices = {}
    for at, value in ipairs(preference.values) do choices[at] = { at, value, at } end
    main.prefs[preference.name] =
      Pref.enum(label, preference.default, preference.doc, choices, false)
  else
    local number = preference.default >= 0 and tostring(preference.default) or ""
    main.prefs[preference.name] = Pref.string(label, number, preference.doc)
  end
end

local function copy(value)
  if type(value) ~= "table" then return value end
  local made = {}
  for key, item in pairs(value) do made[key] = copy(item) end
  return made
end

local function patch(tables, changes)
  for part, entries in pairs(changes or {}) do
    if part == "carried" then
      tables[part] = copy(entries)
    else
      for name, entry in pairs(entries) do tables[part][name] = copy(entry) end
    end
  end
end

-- "1,3-5" as a list of numbers.
local function numbers_of(text)
  local found = {}
  for first, last in tostring(text):gmatch("(%d+)%-?(%d*)") do
    for number = tonumber(first), tonumber(last) or tonumber(first) do
      found[#found + 1] = number
    end
  end
  return found
end

-- Entries of a space whose number is one of the default ones, told with the chosen numbers.
local function renumber(tables, preference, chosen)
  for _, place in ipairs(preference.places) do
    local default, kept = {}, {}
    for _, number in ipairs(preference.default) do default[number] = true end
    for _, entry in ipairs(tables[place[1]][place[2]] or {}) do
      local same = default[entry[1]] and entry[#entry] == place[#place]
      if not (same and (#entry == 2 or entry[2] == place[3])) then kept[#kept + 1] = entry end
    end
    for _, number in ipairs(chosen) do
      kept[#kept + 1] = #place == 3 and { number, place[3] } or { number, place[3], place[4] }
    end
    tables[place[1]][place[2]] = kept
  end
end

-- Whether a value is one of a class: of those named, or, in the last class, between its bounds.
local function within(classes, at, value)
  local named = classes[at].when
  if at == #classes then return value >= named[1] and value <= named[2] end
  for _, each in ipairs(named) do
    if each == value then return true end
  end
  return false
end

-- Another preference may have taken away what lies at a path.
local function put(tables, path, value)
  for at = 1, #path - 1 do tables = (tables or {})[path[at]] end
  if tables then tables[path[#path]] = value end
end

local function set_number(tables, preference, text)
  local value = text == "" and -1 or tonumber(text) or preference.default
  if value == preference.default then return end
  if value < 0 then return patch(tables, preference.absent) end
  for at, class in ipairs(preference.classes) do
    if within(preference.classes, at, value) then
      patch(tables, class.patch)
      for _, path in ipairs(class.paths) do put(tables, path, value) end
      return
    end
  end
end

-- The tables as the preferences want them.
local function chosen_tables()
  local tables = copy(BASE)
  for _, kind in ipairs({ "choice", "number", "range" }) do
    for _, preference in ipairs(PREFERENCES) do
      local value = main.prefs[preference.name]
      if preference.kind ~= kind then -- in its turn
      elseif kind == "choice" then patch(tables, preference.patches[value])
      elseif kind == "number" then set_number(tables, preference, value)
      else
        patch(tables, preference.patch)
        renumber(tables, preference, numbers_of(value))
      end
    end
  end
  return tables
end

local function dissector_of(name)
  return function(tvb, pinfo, tree)
    return dissect(name, tvb, pinfo, tree) and tvb:len() or 0
  end
end

local function register(name, number, proto)
  DissectorTable.get(name):add(number, proto)
  registered[#registered + 1] = { name, number, proto }
end

local function unregister()
  for _, each in ipairs(registered) do
    DissectorTable.get(each[1]):remove(each[2], each[3])
  end
  registered = {}
end

for _, name in ipairs(ENTRIES) do proto_of(name).dissector = dissector_of(name) end

-- Read what the preferences say, and stand in Wireshark's tables where they say it.
local function apply()
  local tables = chosen_tables()
  unregister()
  HEADERS, LISTS, CARRIED, EDGES, OPTIONS, EXTRA =
    tables.headers, tables.lists, tables.carried, {}, {}, {}
  for space, entries in pairs(tables.edges) do
    EDGES[space] = {}
    for _, entry in ipairs(entries) do
      EDGES[space][entry[1]] = entry[2]
      if HEADERS[entry[2]] and TABLES[space] then
        for _, name in ipairs(TABLES[space]) do
          register(name, entry[1], proto_of(entry[2]))
        end
      end
    end
  end
  for space, kinds in pairs(tables.extra) do
    for _, kind in ipairs(kinds) do
      EXTRA[space] = EXTRA[space] or {}
      EXTRA[space][kind[1]] = kind[2]
    end
  end
  for space, entries in pairs(tables.options) do
    OPTIONS[space] = {}
    for _, entry in ipairs(entries) do
      OPTIONS[space][entry[1] * 256 + entry[2]] = entry[3]
    end
  end
end

-- Headers that a value of Wireshark's own headers announces, such as a DSCP behind TCP or UDP.
for _, pair in ipairs(ANNOUNCED) do
  local list_name, name = pair[1], pair[2]
  proto_of(name):register_heuristic(list_name, function(tvb, pinfo, tree)
    for _, each in ipairs(CARRIED) do
      local wanted = each[1] == list_name and each[5] == name
      if wanted and band(known({ steering = {} }, each[2]), each[3]) == each[4] then
        return dissect(name, tvb, pinfo, tree)
      end
    end
    return false
  end)
end

-- Options are read once Wireshark is done: for most lists it has no table, and its own dissectors
-- of TCP options cannot be called from here for those that are not ours.
function main.dissector(_, pinfo, tree)
  for name, header in pairs(LISTS) do
    local space, style = header.options[1], STYLES[header.options[2]]
    if LIST_FIELDS[name] and OPTIONS[space] and next(OPTIONS[space]) then
      for _, info in ipairs({ LIST_FIELDS[name][1]() }) do
        local tvb = info.range:tvb()
        local run = { tvb = tvb, pinfo = pinfo, root = tree, steering = {}, stop = tvb:len() }
        local values = values_of(run, header, 0)
        run.wire = run.stop
        if values and judge(header, values) == nil then
          local start = size(run, header.options_at, values, header.octets)
          list(run, space, style, start, size(run, header.length, values, header.octets), true)
        end
      end
    end
  end
end
register_postdissector(main)

main.prefs_changed = apply
apply()

/**
 * The checks that an operator would write for this one agent in Lua, as a filter of Envoy: the same checks as in njs.ts. Envoy's Lua has no
 * JSON, so the script brings a parser. Loops over bytes are what LuaJIT compiles best.
 */
import { DATA_TYPE, REQUIRED } from '../agent/card.js'

export const LUA = `
local byte, sub, find, gsub, char = string.byte, string.sub, string.find, string.gsub, string.char
local NULL, ARRAY = {}, {}
local ESCAPES = { ['"'] = '"', ['\\\\'] = '\\\\', ['/'] = '/', b = '\\b', f = '\\f', n = '\\n', r = '\\r', t = '\\t' }

local ESCAPED = { [117] = true }
for letter in pairs(ESCAPES) do ESCAPED[byte(letter)] = true end

-- Halves of a pair stay apart: nothing reads them.
local function utf8 (c)
  if c < 0x80 then return char(c) end
  if c < 0x800 then return char(0xc0 + math.floor(c / 0x40), 0x80 + c % 0x40) end
  return char(0xe0 + math.floor(c / 0x1000), 0x80 + math.floor(c / 0x40) % 0x40, 0x80 + c % 0x40)
end

local function unescape (raw)
  if not find(raw, '\\\\u', 1, true) then return (gsub(raw, '\\\\(.)', ESCAPES)) end
  return (gsub(raw, '\\\\(u?)(.)(%x?%x?%x?)', function (u, first, more)
    if u == '' then return ESCAPES[first] .. more end
    return utf8(tonumber(first .. more, 16) or error('escape'))
  end))
end

local function blank (s, i)
  local c = byte(s, i)
  while c == 32 or c == 10 or c == 13 or c == 9 do
    i = i + 1
    c = byte(s, i)
  end
  return i, c
end

-- i: position after the quote
local function text (s, i)
  local from, escaped = i, false
  while true do
    local c = byte(s, i)
    if c == 34 then
      local raw = sub(s, from, i - 1)
      return escaped and unescape(raw) or raw, i + 1
    elseif c == 92 then
      escaped = true
      if not ESCAPED[byte(s, i + 1) or 0] then error('escape') end
      i = i + 2
    elseif c == nil or c < 32 then
      error('string')
    else
      i = i + 1
    end
  end
end

local WORDS = { [116] = { 'true', true }, [102] = { 'false', false }, [110] = { 'null', NULL } }
local value

local function object (s, i)
  local result, c = {}, nil
  i, c = blank(s, i)
  if c == 125 then return result, i + 1 end
  while true do
    if c ~= 34 then error('name') end
    local name
    name, i = text(s, i + 1)
    i, c = blank(s, i)
    if c ~= 58 then error('colon') end
    result[name], i = value(s, i + 1)
    i, c = blank(s, i)
    if c == 125 then return result, i + 1 end
    if c ~= 44 then error('comma') end
    i, c = blank(s, i + 1)
  end
end

local function array (s, i)
  local result, count, c = setmetatable({}, ARRAY), 0, nil
  i, c = blank(s, i)
  if c == 93 then return result, i + 1 end
  while true do
    count = count + 1
    result[count], i = value(s, i)
    i, c = blank(s, i)
    if c == 93 then return result, i + 1 end
    if c ~= 44 then error('comma') end
    i = i + 1
  end
end

value = function (s, i)
  local c
  i, c = blank(s, i)
  if c == 34 then return text(s, i + 1) end
  if c == 123 then return object(s, i + 1) end
  if c == 91 then return array(s, i + 1) end
  local word = WORDS[c]
  if word then
    if sub(s, i, i + #word[1] - 1) ~= word[1] then error('word') end
    return word[2], i + #word[1]
  end
  local _, last = find(s, '^-?%d+%.?%d*[eE]?[+-]?%d*', i)
  local number = last and tonumber(sub(s, i, last))
  if not number or find(s, '^-?0%d', i) then error('number') end
  return number, last + 1
end

local function parse (s)
  local result, i = value(s, 1)
  if blank(s, i) <= #s then error('more') end
  return result
end

local function asked (header)
  for uri in string.gmatch(header or '', '[^,]+') do
    if gsub(uri, '^%s*(.-)%s*$', '%1') == '${REQUIRED}' then return true end
  end
  return false
end

local function isObject (data)
  return type(data) == 'table' and data ~= NULL and getmetatable(data) ~= ARRAY
end

local function valid (data)
  if not isObject(data) or getmetatable(data.items) ~= ARRAY then return false end
  for key in pairs(data) do if key ~= 'items' then return false end end
  for _, item in ipairs(data.items) do
    if not isObject(item) then return false end
    if type(item.sku) ~= 'string' or #item.sku < 1 then return false end
    if type(item.quantity) ~= 'number' or item.quantity % 1 ~= 0 or item.quantity < 1 then return false end
    if item.note ~= nil and type(item.note) ~= 'string' then return false end
    for key in pairs(item) do if key ~= 'sku' and key ~= 'quantity' and key ~= 'note' then return false end end
  end
  return true
end

local function reject (handle, code, message)
  handle:respond(
    { [':status'] = '200', ['content-type'] = 'application/json' },
    '{"jsonrpc":"2.0","id":null,"error":{"code":' .. code .. ',"message":"' .. message .. '"}}'
  )
end

function envoy_on_request (handle)
  local headers = handle:headers()
  if headers:get(':method') ~= 'POST' then return end
  -- Waiting for the body ends the scope of the headers.
  local extensions = headers:get('a2a-extensions')
  local body = handle:body()
  local ok, call = pcall(parse, body and body:getBytes(0, body:length()) or '')
  if not ok then return reject(handle, -32700, 'not JSON') end
  if not isObject(call) then return reject(handle, -32600, 'not a call') end
  if not asked(extensions) then return reject(handle, -32008, 'extension required') end
  local message = isObject(call.params) and call.params.message
  local parts = isObject(message) and message.parts
  if getmetatable(parts) ~= ARRAY then return reject(handle, -32602, 'no parts') end
  for _, part in ipairs(parts) do
    if isObject(part) and part.data ~= nil and part.mediaType == '${DATA_TYPE}' then
      if not valid(part.data) then return reject(handle, -32602, 'data breaks the schema') end
      return
    end
  end
end
`

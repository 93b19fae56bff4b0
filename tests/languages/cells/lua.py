"""Lua."""

from tests.languages.cells.base import Cells, Impossible, Kind

CELLS: Cells = {
    Kind.WRONG_ANSWER: "print(6)",
    Kind.COMPILE_ERROR: "x = = 1",
    Kind.EXIT_CODE: "os.exit(3)",
    Kind.CPU: "while true do end",
    Kind.SLEEP: 'os.execute("sleep 60")',  # its library has no other
    Kind.MEMORY: """
local kept = {}
while true do kept[#kept + 1] = string.rep("x", 1 << 22) .. #kept end
""",
    Kind.FLOOD: 'while true do print(string.rep("x", 1000)) end',
    Kind.BIG_STDIN: """
local all = io.read("a")
local _, lines = all:gsub("\\n", "")
local _, xs = all:gsub("x", "")
print(lines .. " " .. xs)
""",
    Kind.UNICODE: 'print("→" .. io.read() .. "✓")',
    Kind.THREADS: Impossible("it has coroutines only, of which one runs at a time"),
    Kind.RECURSION: """
local function depth(n)
  if n == 0 then return 0 end
  return 1 + depth(n - 1)
end
print(depth(20000))
""",
    Kind.ENDLESS_RECURSION: "local function f(n) return 1 + f(n + 1) end\nprint(f(0))",
    Kind.FORBIDDEN: """
local held = ""
for _, path in ipairs({"/etc/shadow", "/proc/1/environ"}) do
  local file = io.open(path)
  if file then held = held .. file:read("a") end
end
print(held ~= "" and held or "refused")
""",
}

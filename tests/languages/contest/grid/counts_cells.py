from collections import deque

height, width = map(int, input().split())
rows = [input() for _ in range(height)]
start = next((y, row.index("S")) for y, row in enumerate(rows) if "S" in row)
steps = {start: 0}
queue = deque([start])
answer = None
while queue:
    y, x = queue.popleft()
    if rows[y][x] == "E":
        answer = steps[y, x]
        break
    for place in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
        inside = 0 <= place[0] < height and 0 <= place[1] < width
        if inside and place not in steps and rows[place[0]][place[1]] != "#":
            steps[place] = steps[y, x] + 1
            queue.append(place)
if answer is None:
    answer = -2
print(answer + 1)

n, capacity = map(int, input().split())
best = [0] * (capacity + 1)
for _ in range(n):
    weight, value = map(int, input().split())
    for room in range(weight, capacity + 1):
        best[room] = max(best[room], best[room - weight] + value)
print(best[capacity])

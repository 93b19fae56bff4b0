"""16 threads with a stack of 64 MB each recurse through C, and the main thread holds N MB."""

import sys
import threading

sys.setrecursionlimit(1_000_000)
threading.stack_size(64 << 20)


def deep(n):
    return 0 if n == 0 else 1 + next(map(deep, (n - 1,)))


megabytes = int(input())
depths = []
threads = [threading.Thread(target=lambda: depths.append(deep(4_000))) for _ in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
held = [bytearray(b"x") * (1 << 20) for _ in range(megabytes)]
print(len(held) == megabytes and depths == [4_000] * 16)

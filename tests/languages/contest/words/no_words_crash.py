import re
import sys
from collections import Counter

words = re.findall("[a-z]+", sys.stdin.read().lower())
counts = Counter(words)
order = sorted(counts, key=lambda word: (-counts[word], word))
if order[0] == "":
    print("none")
for word in order[:5]:
    print(word, counts[word])

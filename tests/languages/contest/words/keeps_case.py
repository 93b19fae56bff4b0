import re
import sys
from collections import Counter

words = re.findall("[a-zA-Z]+", sys.stdin.read())
counts = Counter(words)
order = sorted(counts, key=lambda word: (-counts[word], word))
if not order:
    print("none")
for word in order[:5]:
    print(word, counts[word])

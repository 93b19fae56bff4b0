from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the reward managers need the extra 'rl'")

sys.path.insert(0, str(Path(__file__).parent))

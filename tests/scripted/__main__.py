"""``python -m tests.scripted CASE [ARGUMENT...]``."""

from __future__ import annotations

import sys
from pathlib import Path

if not __package__:  # run by its path: the project stands in for this folder
    sys.path[0] = str(Path(__file__).parents[2])

from tests.scripted.cases import main

main(sys.argv[1:])

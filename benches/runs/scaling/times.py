"""Prints the host time in seconds of each trial of a run file: the gap between two records times the number of lanes.

usage: times.py RUN LANES
"""

import datetime
import sqlite3
import sys

file = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
rows = file.execute("SELECT written_at FROM attempt ORDER BY id")
# Microseconds: nine digits are more than the parser takes.
at = [datetime.datetime.fromisoformat(row[0][:26] + "+00:00").timestamp() for row in rows]
for before, after in zip(at, at[1:]):
    print(f"{(after - before) * int(sys.argv[2]):.3f}")

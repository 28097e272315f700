"""Time of a lab in guests with two builds, in ten alternating pairs; the rows of huge-pages.csv on standard output.

Usage: huge-pages.py BEFORE AFTER, two programs, with a lab kernel below $XDG_CACHE_HOME.
"""
import csv
import resource
import subprocess
import sys
import tempfile
import time

LAB = ["atlas", "run", "--device", "ssd-sata-250gb", "--load", "log", "--jobs", "1"]


def measured(program):
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, *LAB, folder], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    times = time.monotonic() - begun, after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return [round(one, 2) for one in times]


rows = csv.writer(sys.stdout, lineterminator="\n")
rows.writerow(["pair", "memory of guests", "wall_s", "user_s", "system_s"])
programs = list(zip(["shared memory", "huge pages"], sys.argv[1:3], strict=True))
for pair in range(1, 11):
    for name, program in programs if pair % 2 else reversed(programs):
        rows.writerow([pair, name, *measured(program)])

"""Requests for measure.sh. `requests.py make FOLDER` writes a list of them for three programs;
`requests.py CSV DEVICE` reads the device at the times of the list."""

import mmap
import os
import random
import sys
import time


def make(folder):
    random.seed(16)
    # Ends of intervals in whole milliseconds: far enough apart that no request meets another.
    at, rows = 0, []
    for _ in range(1500):
        rows.append((at, random.randrange(0, (256 << 20) // 16384) * 16384, 16384))
        at += random.choice((1000, 1000, 2000, 3000))
    with open(folder + "/requests.csv", "w") as csv:
        csv.writelines(f"0,R,{offset},{size},{at}\n" for at, offset, size in rows)
    with open(folder + "/requests.iolog", "w") as log:
        log.write("fio version 3 iolog\n0 device add\n0 device open\n")
        log.writelines(f"{at} device read {offset} {size}\n" for at, offset, size in rows)
        log.write(f"{rows[-1][0]} device close\n")


def read(csv, device):
    rows = [line.split(",") for line in open(csv)]
    file = os.open(device, os.O_RDONLY | os.O_DIRECT)
    buffer = mmap.mmap(-1, 16384)
    late, begun = [], time.monotonic_ns()
    for _, _, offset, _, at in rows:
        due = begun + int(at) * 1000
        time.sleep(max(0, due - time.monotonic_ns()) / 1e9)
        submitted = time.monotonic_ns()
        late.append(submitted - due)
        os.preadv(file, [buffer], int(offset))
    first = begun + late[0]
    recorded = int(rows[-1][4]) * 1000
    late.sort()
    print("lateness_p99 =", late[-(-len(late) * 99 // 100) - 1])
    print("drift =", (submitted - first) / recorded)


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    read(sys.argv[1], sys.argv[2])

"""The table of runs.csv and programs.csv in a folder: how far replays are from their programs. table.py FOLDER"""

import collections
import csv
import statistics
import sys

CAPTURED = "ext4"
OFF = 1.15

folder = sys.argv[1]
times = collections.defaultdict(list)
for row in csv.DictReader(open(f"{folder}/runs.csv")):
    times[row["program"], row["stack"], row["side"]].append(float(row["elapsed_s"]))
middle = {key: statistics.median(values) for key, values in times.items()}


def ratio(program, stack):
    return middle[program, stack, "replay"] / middle[program, stack, "program"]


def error(value):
    return max(value, 1 / value)


def found(row):
    """The fastest stack by the program: picked by the replay, or within the bound of its answer."""
    program, pick = row["program"], row["pick"]
    of = {stack: middle[name, stack, side] for name, stack, side in middle if name == program and side == "program"}
    fastest = min(of, key=of.get)
    if pick == fastest:
        return "yes"
    loss = of[pick] / of[fastest] - 1
    if not row["loss"]:
        return f"no bound ({100 * loss:.0f} % slower)"
    inside = "inside" if loss <= float(row["loss"]) else "outside"
    return f"{inside} the bound ({100 * loss:.0f} % slower)"


rows = list(csv.DictReader(open(f"{folder}/programs.csv")))
stacks = ["ext4", "xfs", "btrfs"]
print("| program | its own check | " + " | ".join(stacks) + " | fastest found | marked |")
print("| --- |" + " --- |" * (len(stacks) + 3))
for row in rows:
    check = float(row["check"]) if row["check"] else None
    marks = [f"check: {row['off']}"] if check and error(check) > OFF else []
    marks += [row["doubt"]] if row["doubt"] == "recorded-sleep" else []
    cells = [row["program"], f"{check:.2f}" if check else "-"]
    cells += [f"{ratio(row['program'], stack):.2f}" for stack in stacks]
    print("| " + " | ".join([*cells, found(row), ", ".join(marks) or "-"]) + " |")
for title, chosen in [("on the stack of the capture", [CAPTURED]), ("on other stacks", stacks[1:])]:
    errors = [error(ratio(row["program"], stack)) for row in rows for stack in chosen]
    print(f"\nReplay {title}: {statistics.median(errors):.2f} times off at the median, {max(errors):.2f} at worst.")

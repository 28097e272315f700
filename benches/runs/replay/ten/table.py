"""The tables of runs.csv and programs.csv in a folder: how far replays are from their programs, and what fewer syncs
save. Writes FOLDER/pairs/PROGRAM.csv, a replay and its program of each stack and round. table.py FOLDER"""

import collections
import csv
import os
import statistics
import sys

CAPTURED = "ext4"
OFF = 1.15
# Fewer syncs are advised where they take less of the time than this: more than two runs of one program differ by.
GAIN = 1 / OFF

folder = sys.argv[1]
times = collections.defaultdict(list)
for row in csv.DictReader(open(f"{folder}/runs.csv")):
    for kind in ["elapsed_s", "until_durable_s"]:
        times[kind, row["program"], row["stack"], row["side"]].append(float(row[kind]))
middle = {key: statistics.median(values) for key, values in times.items()}


def ratio(program, stack):
    time = [middle["until_durable_s", program, stack, side] for side in ["replay", "program"]]
    return time[0] / time[1]


def error(value):
    return max(value, 1 / value)


def fewer(program):
    """The program's time with one sync for ten, as a part of its time, where it was recorded; of each round."""
    sides = [times["elapsed_s", program, CAPTURED, side] for side in ["fewer", "program"]]
    return [mine / all_syncs for mine, all_syncs in zip(*sides)]


def found(row):
    """The fastest stack by the program: picked by the replay, or within the bound of its answer."""
    program, pick = row["program"], row["pick"]
    of = {stack: middle["until_durable_s", program, stack, "program"] for stack in stacks}
    fastest = min(of, key=of.get)
    if pick == fastest:
        return "yes"
    both = [times["until_durable_s", program, stack, "program"] for stack in [pick, fastest]]
    losses = [mine / best - 1 for mine, best in zip(*both)]
    loss, least = statistics.median(losses), min(losses)
    if not row["loss"]:
        return f"no bound ({100 * loss:.0f} % slower)"
    # Of six rounds the least is the lower end of a 97 % interval of the median.
    if loss <= float(row["loss"]):
        said = "inside the bound"
    elif least > float(row["loss"]):
        said = "outside the bound"
    else:
        said = "cannot tell"
    return f"{said} ({100 * loss:.0f} % slower)"


def write_pairs(program):
    with open(f"{folder}/pairs/{program}.csv", "w") as file:
        print("stack,ours,original", file=file)
        for stack in stacks:
            sides = [times["until_durable_s", program, stack, side] for side in ["replay", "program"]]
            for ours, original in zip(*sides):
                print(f"{stack},{ours:.4f},{original:.4f}", file=file)


rows = list(csv.DictReader(open(f"{folder}/programs.csv")))
stacks = ["ext4", "xfs", "btrfs"]
os.makedirs(f"{folder}/pairs", exist_ok=True)
for row in rows:
    write_pairs(row["program"])
print("| program | its own check | " + " | ".join(stacks) + " | fastest found | marked |")
print("| --- |" + " --- |" * (len(stacks) + 3))
for row in rows:
    check = float(row["check"]) if row["check"] else None
    marks = [f"check: {row['off']}"] if check and error(check) > OFF else []
    marks += [row["off"]] if row["off"] and not marks else []
    marks += [row["doubt"]] if row["doubt"] == "recorded-sleep" else []
    cells = [row["program"], f"{check:.2f}" if check else "-"]
    cells += [f"{ratio(row['program'], stack):.2f}" for stack in stacks]
    print("| " + " | ".join([*cells, found(row), ", ".join(marks) or "-"]) + " |")
for title, chosen in [("on the stack of the capture", [CAPTURED]), ("on other stacks", stacks[1:])]:
    errors = [error(ratio(row["program"], stack)) for row in rows for stack in chosen]
    print(f"\nReplay {title}: {statistics.median(errors):.2f} times off at the median, {max(errors):.2f} at worst.")

print("\n| program | one sync for ten: the replay | the program | advised | true |")
print("| --- |" + " --- |" * 4)
right = 0
for row in rows:
    said = float(row["fewer_syncs"]) if row["fewer_syncs"] else None
    is_advised = said is not None and said < GAIN
    ratios = fewer(row["program"])
    truth = statistics.median(ratios)
    # Of six rounds the largest is the upper end of a 97 % interval of the median.
    is_true = is_advised == (truth < GAIN and max(ratios) < 1)
    right += is_true
    cells = [row["program"], f"{said:.2f}" if said else "-", f"{truth:.2f}"]
    print("| " + " | ".join([*cells, "yes" if is_advised else "no", "yes" if is_true else "no"]) + " |")
print(f"\nFewer syncs are advised where they save a tenth, and only there: {right} of {len(rows)}.")

#!/usr/bin/env python3
"""Picks of `seekwell ask` for recordings, against the whole lab of each recording on the same modelled device.

usage: kept-out.py SEEKWELL TRACES DEVICE... > kept-out.csv

TRACES is a folder of scripts/atlas-shapes SEEKWELL programs TRACES. A whole lab has the stacks of the load that `ask`
takes for the recording, and its replay in place of the load. Needs the lab kernel, and no root.
"""

import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROUNDS = 6
# Exit status without an answer.
DECLINED = 4
# Cards are used behind a boot partition, as in the atlas.
START = {"sd-card-4mib": ', start = "512MiB"'}
ROOT = pathlib.Path(__file__).resolve().parents[3]


def main(seekwell, traces, *devices):
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow("program device load distance pick bound cost own_pick rounds".split())
    for trace in sorted(pathlib.Path(traces).iterdir()):
        for device in devices:
            rows.writerow([trace.stem, device, *judged(seekwell, trace, device)])
            sys.stdout.flush()


def judged(seekwell, trace, device):
    """Load, distance, pick, its bound, its cost against the pick of the whole lab, that pick, and rounds."""
    asked = [seekwell, "ask", "--load", trace, "--device", device]
    said = subprocess.run(asked, capture_output=True, text=True)
    if said.returncode not in (0, DECLINED):
        sys.exit(f"{trace}: {said.stderr}")
    text = " ".join(said.stdout.split())
    load, distance = re.search(r"load ([a-z-]+), at a distance of ([0-9.]+)", text).groups()
    if "Nothing near" in text:
        return ["", distance, "", "", "", "", ""]
    # Also where `ask` gives no answer because earlier picks did not hold.
    asked[3] = load
    entry = json.loads(subprocess.run([*asked, "--json"], capture_output=True, check=True).stdout)
    with tempfile.TemporaryDirectory() as folder:
        best, medians = measured(seekwell, trace, entry, pathlib.Path(folder))
    if best is None:
        return [entry["load"], distance, entry["pick"], entry.get("loss", ""), "", medians, ROUNDS]
    cost = medians[entry["pick"]] / medians[best] - 1
    return [entry["load"], distance, entry["pick"], entry.get("loss", ""), f"{cost:.4f}", best, ROUNDS]


def measured(seekwell, trace, entry, folder):
    """The pick of the whole lab, and median times of the replay by stack; no pick where the replay is not the load."""
    stacks = (ROOT / "atlas/labs" / f"{entry['load']}.toml").read_text().split("[[workload]]")[0]
    lab, run = folder / "lab.toml", folder / "run.seekwell"
    lab.write_text(
        f"""{stacks}
[[device]]
name = "{entry['device']}"
model = {{ name = "{entry['device']}", size = "3GiB"{START.get(entry['device'], "")} }}

[[workload]]
kind = "replay"
trace = "{trace}"

[judge]
metric = "replay.elapsed_durable"
tie = "2%"
rounds = {ROUNDS}
"""
    )
    command = [seekwell, "run", lab, "--place", "virtual", "-o", run]
    done = subprocess.run(command, capture_output=True, text=True)
    if "low-fidelity" in done.stderr:
        return None, "replay differs"
    if done.returncode not in (0, 4):
        sys.exit(f"{trace} on {entry['device']}: {done.stderr}")
    text = subprocess.run([seekwell, "report", run, "--json"], capture_output=True, check=True).stdout
    report = json.loads(text)
    medians = {row["stack"]: row["median"] for row in report["verdict"]["ratios"]}
    return report["answer"]["pick"], medians


if len(sys.argv) < 4:
    sys.exit(__doc__)
main(*sys.argv[1:])

#!/bin/sh
# Share of a difference that single laws and pairs of laws make: within-pairs.sh SEEKWELL ATLAS_LABS > within-pairs.csv
# Each load of the atlas with one thread, on each device, with ext4, xfs and btrfs without a scheduler.
set -eu
program=$1
labs=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
echo load,device,better,worse,at_better,at_worse,within_pairs,share,trials
for load in log sqlite sqlite-wal monitoring; do
    for device in sata-2tb-7200:32GiB ssd-sata-250gb:32GiB sd-card-4mib:3GiB cf-transcend-133x:4GiB \
        hdd-8tb-5900-smr:32GiB cloud-gp3-100gb:32GiB ssd-nvme-512gb:32GiB ssd-nvme-1920gb-plp:32GiB; do
        model=${device%:*} size=${device#*:}
        python3 - "$labs/$load.toml" "$model" "$size" > "$folder/lab.toml" <<'PYTHON'
import re
import sys

text = open(sys.argv[1]).read()
head, *tables = re.split(r"(?m)^(?=\[)", text)
kept = [one for one in tables if not one.startswith(("[[filesystem]]", "[scheduler]", "[judge]", "[cpu]"))]
judge = next(one for one in tables if one.startswith("[judge]"))
metric = re.search(r'metric = "(.*)"', judge).group(1)
for name in ("ext4", "xfs", "btrfs"):
    kept.append(f'[[filesystem]]\ntype = "{name}"\n')
kept.append('[scheduler]\nchoose = ["none"]\n')
kept.append(f'[judge]\nmetric = "{metric}"\nrounds = 6\n')
kept.append(f'[[device]]\nname = "{sys.argv[2]}"\nmodel = {{ name = "{sys.argv[2]}", size = "{sys.argv[3]}" }}\n')
print(head + "\n".join(kept))
PYTHON
        rm -f "$folder/run.seekwell"
        "$program" run "$folder/lab.toml" --place virtual -o "$folder/run.seekwell" --no-screen > "$folder/log" 2>&1 || true
        for pair in "ext4 xfs" "ext4 btrfs" "xfs btrfs"; do
            # shellcheck disable=SC2086 # two words
            "$program" why "$folder/run.seekwell" $pair --json > "$folder/why.json" 2> "$folder/log" || continue
            python3 - "$load" "$model" "$folder/why.json" <<'PYTHON'
import json
import sys

load, model, path = sys.argv[1:]
why = json.load(open(path))
difference = why["at_worse"] - why["at_better"]
within = why.get("within_pairs")
share = "" if within is None or difference == 0 else f"{within / difference:.4f}"
print(load, model, why["better"], why["worse"], why["at_better"], why["at_worse"], within, share, why["trials"], sep=",")
PYTHON
        done
    done
done

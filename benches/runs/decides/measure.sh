#!/bin/bash
# Whether short runs end in an answer, and whether equal runs are called equal. As root, in the root of the tree:
#
#     benches/runs/decides/measure.sh PROGRAM demo|same [TIMES]
#
# demo  the lab of `make demo`, again and again: load of the machine, host time, exit status, answer
# same  pairs of runs of one lab, compared; in the last quarter of the pairs two programs keep CPUs busy during the
#       second run
set -eu

program=$(realpath "$1")
what=$2
times=${3:-20}
here=$(cd "$(dirname "$0")" && pwd)
demo=$(realpath labs/demo.toml)
work=$(mktemp -d)
busy=()

still() {
    [ ${#busy[@]} -eq 0 ] || kill "${busy[@]}" 2>/dev/null || true
    busy=()
}
trap 'still; rm -rf "$work"' EXIT
cd "$work"

# Seconds and exit status of a command.
timed() {
    local start end status=0
    start=$(date +%s.%N)
    timeout 300 "$@" >out.txt 2>err.txt || status=$?
    end=$(date +%s.%N)
    printf '%.1f,%d' "$(echo "$end - $start" | bc)" "$status"
}

# Pick, loss bound, number of stacks that are out, axes with an answer, and trials of a run.
answer() {
    "$program" report "$1" --json | python3 -c '
import json, sys
run = json.load(sys.stdin)
answer = run["verdict"]["answer"]
loss = answer["loss"]
bound = "none" if loss is None else f"{loss:.4f}"
print(answer["pick"], bound, len(answer["out"]), len(answer["axes"]), len(run["trials"]), sep=",")'
}

demo() {
    echo "run,load,seconds,status,pick,bound,out,axes,trials"
    for run in $(seq "$times"); do
        load=$(cut -d ' ' -f 1 /proc/loadavg)
        row=$(timed "$program" run "$demo" -o "demo$run.seekwell")
        echo "$run,$load,$row,$(answer "demo$run.seekwell")"
    done
}

keep_busy() {
    for _ in 1 2; do
        sha256sum /dev/zero &
        busy+=($!)
    done
    sleep 0.5
}

same() {
    echo "pair,busy,stack,ratio,low,high,finding,withheld"
    for pair in $(seq "$times"); do
        disturbed=no
        [ $((4 * pair)) -le $((3 * times)) ] || disturbed=yes
        order="first second"
        [ $((pair % 2)) -eq 0 ] || order="second first"
        for side in $order; do
            [ $disturbed$side != yessecond ] || keep_busy
            timeout 300 "$program" run "$here/same.toml" -o "$side$pair.seekwell" >/dev/null 2>&1 || [ $? -eq 4 ]
            still
        done
        "$program" compare "first$pair.seekwell" "second$pair.seekwell" --json >compared.json || [ $? -eq 4 ]
        python3 - "$pair" "$disturbed" <<'END'
import json, sys
found = json.load(open("compared.json"))
for stack in found["stacks"]:
    row = [stack["stack"], *(f"{stack[key]:.3f}" for key in ("ratio", "low", "high")), stack["change"]]
    print(*sys.argv[1:3], *row, "yes" if found["withheld"] else "no", sep=",")
END
    done
}

"$what"

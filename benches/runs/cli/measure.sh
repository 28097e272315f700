#!/usr/bin/env bash
# Measures what the everyday commands cost: measure.sh start|left|screen PROGRAM > RESULT.csv
#   start   time of a start in ms, in turn with /bin/true
#   left    time left as said when a trial begins, and as it turned out (root)
#   screen  CPU time of the live screen and of the run beside it (root)
set -euo pipefail
what=$1
program=$(realpath "$2")
labs=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../../labs")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

now_us() { echo "${EPOCHREALTIME/[.,]/}"; }

# Stacks of very different cost, so that a plain mean misleads.
cat >lab.toml <<'LAB'
[[device]]
name = "scratch"
loop = "512MiB"
[[filesystem]]
type = "ext4"
[[filesystem]]
type = "btrfs"
[scheduler]
choose = ["none", "mq-deadline"]
[[workload]]
kind = "mail"
files = 1_000
[judge]
metric = "unpack.elapsed_durable"
rounds = 8
LAB

start() {
    echo "command,ms"
    for _ in $(seq 60); do
        for command in "/bin/true" "$program --version" "$program --help" "$program plan $labs/demo.toml"; do
            begun=$(now_us)
            $command >/dev/null 2>&1
            ended=$(now_us)
            name=${command/$program/seekwell}
            echo "${name/$labs/labs},$(((ended - begun) / 1000)).$(printf %03d $(((ended - begun) % 1000)))"
        done
    done
}

left() {
    "$program" run lab.toml --no-screen 2>&1 >/dev/null |
        while IFS= read -r line; do echo "$(now_us) $line"; done >lines || true # not resolved is status 4
    awk 'BEGIN { print "trial,said_s,true_s" }
        function seconds(text,   n, part, total, i) {
            n = split(text, part, " "); total = 0
            for (i = 1; i < n; i += 2) {
                if (part[i + 1] == "h") total += part[i] * 3600
                else if (part[i + 1] == "min") total += part[i] * 60
                else if (part[i + 1] == "s") total += part[i]
                else if (part[i + 1] == "ms") total += part[i] / 1000
            }
            return total
        }
        / left$/ { match($0, /  [^ ]+ [a-z]+( [0-9.]+ s)? left$/)
            text = substr($0, RSTART, RLENGTH); sub(/ left$/, "", text); sub(/^ +/, "", text)
            at[++count] = $1; said[count] = seconds(text) }
        / run file: / { end = $1 }
        END { for (i = 1; i <= count; i++) printf "%d,%.1f,%.1f\n", i, said[i], (end - at[i]) / 1e6 }' lines
}

screen() {
    TERM=xterm script -qfc "stty rows 40 cols 120; '$program' run lab.toml" /dev/null >/dev/null 2>&1 </dev/null &
    sleep 3
    echo "process,cpu_s,seconds"
    run=$(pgrep -f "^$program run lab.toml" | head -1)
    drawn=$(pgrep -f "^$program screen" | head -1)
    ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
    begun=$(now_us)
    first_run=$(ticks "$run") first_screen=$(ticks "$drawn")
    sleep 15
    for one in "run $run $first_run" "screen $drawn $first_screen"; do
        read -r name pid first <<<"$one"
        used=$(($(ticks "$pid") - first))
        awk -v name="$name" -v used="$used" -v hz="$(getconf CLK_TCK)" -v us="$(($(now_us) - begun))" \
            'BEGIN { printf "%s,%.2f,%.2f\n", name, used / hz, us / 1e6 }'
    done
    wait
}

"$what"

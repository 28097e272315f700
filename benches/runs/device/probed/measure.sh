#!/bin/sh
# Labs on a probed file beside the same labs on the disk that was probed, both modelled: each model is
# probed blind (its file is read for nothing but the timing of its requests), and a lab that the probe
# knows nothing of runs on the model and on the probed file. Writes predicted.csv: disk, stack, step,
# seconds on the disk, seconds on the file (medians of the rounds), ratio. Needs jq and the lab kernel.
# usage: measure.sh SEEKWELL [MODEL…]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
seekwell=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- sata-500gb-7200 sata-2tb-7200 sata-2tb-5400 hdd-8tb-7200 ide-40gb-2005
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Stack, step and median of its seconds, of every measured step of a run.
medians() {
    "$seekwell" report "$1" --json | jq -r '
        def median: sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2;
        [.trials[] | select(.status == "ok") | .stack as $stack | .metrics
            | {unpack: ."unpack.elapsed_durable", read_archive: ."read_archive.elapsed",
               read_directory: ."read_directory.elapsed", remove: ."remove.elapsed_durable",
               inserts: ."inserts.elapsed", "stream-write": ."stream-write.elapsed_durable",
               "stream-read": ."stream-read.elapsed"}
            | to_entries[] | {stack: $stack, step: .key, value: .value}]
        | group_by([.stack, .step])[]
        | if length < 6 or any(.value == null) then error("\(.[0].stack): \(.[0].step) has not six values") else . end
        | "\(.[0].stack),\(.[0].step),\(map(.value) | median)"'
}

echo disk,stack,step,disk_s,file_s,ratio >predicted.csv
for model in "$@"; do
    "$seekwell" probe --model "$model" --write -o "$model.toml" >/dev/null
    for place in "$model" "$model.toml"; do
        rm -f run.seekwell
        "$seekwell" run "$here/held-out.toml" --place virtual --model "$place" -o run.seekwell \
            >/dev/null || [ $? -eq 4 ]
        medians run.seekwell >"$place.csv"
    done
    paste -d, "$model.csv" "$model.toml.csv" |
        awk -F, -v disk="$model" '$1 != $4 || $2 != $5 { exit 1 } { printf "%s,%s,%s,%s,%s,%.4f\n", disk, $1, $2, $3, $6, $6 / $3 }' \
        >>predicted.csv
done
cp predicted.csv "$here/predicted.csv"

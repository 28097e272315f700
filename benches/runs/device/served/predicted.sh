#!/bin/sh
# A modelled device served in real time, probed as a disk of this machine with writes, and a lab that the probe knows nothing
# of: run on the served device by this machine's kernel, and predicted in virtual time on the probed file. Replaces the rows
# of the device in predicted.csv (device, stack, step; medians of the rounds: seconds on the device, seconds predicted,
# seconds predicted on the device's own file, predicted / device; time with a request at the device in ms, the same
# predicted, predicted / device) and says how many steps are within 10 %. A guest's CPU is charged what `calibrate` measures
# of this machine. Needs root, FUSE, jq, the lab kernel, and an idle machine of two CPUs or more; a disk takes about twenty
# minutes, a solid-state disk ten. With PROBED the probe is left out: its file of an earlier call is taken.
# usage: predicted.sh SEEKWELL DEVICE.toml [PROBED.toml]; MOST_WRITTEN limits what the probe writes, in GiB (64).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
seekwell=$(realpath "$1")
truth=$(realpath "$2")
probed=${3:+$(realpath "$3")}
name=$(basename "$truth" .toml)
# What the last step needs is looked for before the first, which takes minutes.
[ "$(id -u)" = 0 ] || { echo "predicted.sh: run it as root"; exit 1; }
command -v jq >/dev/null || { echo "predicted.sh: jq is missing"; exit 1; }
[ -c /dev/fuse ] || { echo "predicted.sh: /dev/fuse is missing"; exit 1; }
[ -n "$("$seekwell" kernel list 2>/dev/null)" ] || { echo "predicted.sh: no lab kernel; $seekwell kernel build"; exit 1; }
work=$(mktemp -d)
cd "$work"
server=
device=

serve() {
    "$seekwell" device serve "$truth" >device 2>>said &
    server=$!
    until [ -s device ]; do
        kill -0 "$server" 2>/dev/null || { cat said; exit 1; }
        sleep 0.1
    done
    device=$(cat device)
    "$seekwell" claim "$device" --confirm "$(cat "/sys/class/block/${device#/dev/}/size")" >/dev/null 2>&1
}
end() {
    [ -z "$device" ] || "$seekwell" release "$device" >/dev/null 2>&1 || true
    [ -z "$server" ] || kill -INT "$server" 2>/dev/null || true
    [ -z "$server" ] || wait "$server" || true
    server=
    device=
    rm -f device
}
trap 'end; cd /; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

if [ -z "$probed" ]; then
    serve
    echo none >"/sys/class/block/${device#/dev/}/queue/scheduler"
    begun=$(date +%s)
    "$seekwell" probe "$device" --write --most-written "${MOST_WRITTEN:-64}" --name "$name-probed" -o probed.toml \
        2>probe.txt || { cat probe.txt; exit 1; }
    echo "probed in $(($(date +%s) - begun)) s" >>probe.txt
    end
    probed=$here/$name.predicts.toml
    cp probed.toml "$probed"
    cp probe.txt "$here/$name.predicts.txt"
fi
# A new one, as the modelled device is new.
cpu=$("$seekwell" calibrate 2>/dev/null | tail -n 1)
serve
on_device() { "$seekwell" run "$here/predicted.toml" --place host --device "$device" -o real.seekwell; }
status=0
on_device >real.txt 2>&1 || status=$?
# The first call on a new device only shows what will be written.
[ $status -ne 3 ] || { status=0; on_device >real.txt 2>&1 || status=$?; }
[ $status -eq 0 ] || [ $status -eq 4 ] || { cat real.txt; exit 1; }
end
cp "$probed" predicts.toml
cp "$truth" own.toml
for of in predicts own; do
    "$seekwell" run "$here/predicted.toml" --place virtual --model $of.toml --cpu "$cpu" -o $of.seekwell >$of.txt 2>&1 ||
        [ $? -eq 4 ] || { cat $of.txt; exit 1; }
done

# Stack, step, median of its seconds and of the milliseconds with a request at the device.
medians() {
    "$seekwell" report "$1" --json | jq -r '
        def median: sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2;
        [.trials[] | select(.status == "ok") | .stack as $stack | .metrics as $metrics | .steps[]
            | select(.name | IN("unpack", "read_archive", "read_directory", "remove", "inserts", "stream-write", "stream-read"))
            | {stack: ($stack | split("/")[0]), step: .name,
               s: ($metrics["\(.name).elapsed_durable"] // $metrics["\(.name).elapsed"]), busy: .device.busy_ms}]
        | group_by([.stack, .step])[]
        | "\(.[0].stack),\(.[0].step),\(map(.s) | median),\(map(.busy) | median)"'
}
medians real.seekwell >real.csv
medians predicts.seekwell >predicts.csv
medians own.seekwell >own-file.csv
touch "$here/predicted.csv"
grep -v -e "^$name," -e ^device, "$here/predicted.csv" >others.csv || true
paste -d, real.csv predicts.csv own-file.csv | awk -F, -v device="$name" '
    $1 != $5 || $2 != $6 || $1 != $9 || $2 != $10 { exit 1 }
    { printf "%s,%s,%s,%.4g,%.4g,%.4g,%.3f,%d,%d,%s\n", device, $1, $2, $3, $7, $11, $7 / $3, $4, $8, ($4 > 0 ? sprintf("%.3f", $8 / $4) : "") }' >own.csv
{ echo device,stack,step,device_s,predicted_s,own_file_s,ratio,device_busy_ms,predicted_busy_ms,busy_ratio; sort others.csv own.csv; } >all.csv
cp all.csv "$here/predicted.csv"
{ echo "cpu charged: $cpu"; cat said; uptime; } >>"$here/$name.predicts.txt"
awk -F, -v device="$name" '$1 == device { all++; off = $7 > 1 ? $7 - 1 : 1 - $7; if (off > worst) worst = off; near += off <= 0.1 }
    END { printf "%s: %d of %d steps within 10 %%, worst %.1f %%\n", device, near, all, worst * 100 }' all.csv

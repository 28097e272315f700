#!/bin/sh
# A modelled device served in real time, probed as a disk of this machine, and the probed file compared with the device's
# own. Adds to found.csv (device, quantity, truth, found from, found to, distance, unit) and keeps the floor of the machine,
# the findings and how late the server was in DEVICE.txt. Needs root, FUSE and an idle machine of two CPUs or more.
# usage: measure.sh SEEKWELL NEARNESS DEVICE.toml [OPTION OF probe…]; NEARNESS is the example `nearness` of crates/bench.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
seekwell=$(realpath "$1")
nearness=$(realpath "$2")
truth=$(realpath "$3")
shift 3
name=$(basename "$truth" .toml)
work=$(mktemp -d)
cd "$work"

"$seekwell" device serve "$truth" >device 2>said &
server=$!
end() {
    [ -z "$server" ] || kill -INT "$server" 2>/dev/null || true
    [ -z "$server" ] || wait "$server" || true
    server=
}
trap 'end; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
until [ -s device ]; do
    kill -0 "$server"
    sleep 0.1
done
device=$(cat device)
for option in "$@"; do
    if [ "$option" = --write ]; then
        "$seekwell" claim "$device" --confirm "$(cat "/sys/class/block/${device#/dev/}/size")" >/dev/null
        trap '"$seekwell" release "$device" >/dev/null 2>&1 || true; end; rm -rf "$work"' EXIT
    fi
done
"$seekwell" probe "$device" --name probed -o probed.toml "$@" 2>probe.txt || { cat probe.txt; exit 1; }
"$seekwell" release "$device" >/dev/null 2>&1 || true
end
{ sed -n 1,2p said; cat probe.txt; tail -n 1 said; } >"$here/$name.txt"
cp probed.toml "$here/$name.probed.toml"
touch "$here/found.csv"
grep -v "^$name," "$here/found.csv" >found.csv || true
"$nearness" "$truth" probed.toml >>found.csv
sort found.csv >"$here/found.csv"
grep "^$name," "$here/found.csv"

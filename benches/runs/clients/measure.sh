#!/bin/sh
# Compares `seekwell clients` with fio: two processes write and sync a file of 256 MiB each, in alternating turns on one
# ext4 on a loop device over memory, as root and on a quiet machine. fio runs twice: with its own preallocation of the
# file (its default) and without, which is what IOR and `seekwell clients` do.
# usage: measure.sh SEEKWELL PAIRS > pairs.csv
set -eu

if [ "${1:-}" != --inside ]; then
    # The mount and its loop device end with the namespace.
    exec unshare --mount "$0" --inside "$@"
fi
seekwell=$(readlink -f "$2")
pairs=$3
size=256
folder=$(mktemp -d /dev/shm/seekwell-clients-XXXXXX)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/mount"
# Every page of the image is there before the first turn.
dd if=/dev/zero of="$folder/image" bs=1M count=3072 status=none
mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0,nodiscard "$folder/image"
mount -o loop "$folder/image" "$folder/mount"
trap 'umount "$folder/mount"; rm -rf "$folder"' EXIT
cd "$folder/mount"

ours() {
    "$seekwell" clients . --processes 2 --files 0 --block "${size}MiB" --json >"$folder/json"
    python3 -c 'import json, sys
write = [p for p in json.load(open(sys.argv[1]))["phases"] if p["phase"] == "write"][0]
print(write["last"]["bytes_per_s"] / 2**20)' "$folder/json"
}

fio_() {
    fio --name=fio --directory=. --ioengine=psync --rw=write --bs=1M --size="${size}M" --numjobs=2 --end_fsync=1 \
        --fallocate="$1" --group_reporting --output-format=json >"$folder/json"
    rm -f fio.*
    # The bandwidth of a group is all bytes over the time of the slowest job, its sync with it.
    python3 -c 'import json, sys
print(json.load(open(sys.argv[1]))["jobs"][0]["write"]["bw_bytes"] / 2**20)' "$folder/json"
}

side() {
    case $2 in ours) value=$(ours) ;; same) value=$(fio_ none) ;; default) value=$(fio_ native) ;; esac
    echo "$1,$2,$value"
    sync -f .
}

echo "pair,side,mib_per_s"
pair=1
# Turns that do not count.
for name in ours same default; do side 0 $name >/dev/null; done
while [ "$pair" -le "$pairs" ]; do
    if [ $((pair % 2)) = 1 ]; then order="ours same default"; else order="default same ours"; fi
    for name in $order; do side "$pair" "$name"; done
    pair=$((pair + 1))
done
cd /

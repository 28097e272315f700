#!/bin/sh
# Quantities that a probe finds of modelled devices beside those of their files. Each model is probed blind in virtual time,
# reading and writing, so that every machine finds the same. Replaces the rows of these models in found.csv (device, quantity,
# truth, found from, found to, distance, unit). NEARNESS is the example `nearness` of crates/bench.
# usage: found.sh SEEKWELL NEARNESS [MODEL…]; MOST_WRITTEN limits what the probe of a flash device writes, in GiB (64).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
devices=$here/../../../../devices
seekwell=$(realpath "$1")
nearness=$(realpath "$2")
shift 2
[ $# -gt 0 ] || set -- sata-500gb-7200 sata-2tb-7200 sata-2tb-5400 hdd-8tb-7200 hdd-8tb-7200-no-cache ide-40gb-2005 \
    maxtor-6y080l0 pata-200gb-7200 ibm-ddys-t18350n wd-raptor-wd740gd \
    usb2-stick-128mb usb2-stick-512mb sd-card-4mib cf-lexar-233x cf-transcend-133x \
    ssd-sata-250gb ssd-sata-960gb-plp ssd-nvme-512gb cloud-gp3-100gb cloud-gp2-100gb
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
touch "$here/found.csv"
for model in "$@"; do
    if "$seekwell" probe --model "$model" --write --most-written "${MOST_WRITTEN:-64}" -o "$work/$model.toml" 2>"$work/said"; then
        "$nearness" "$devices/$model.toml" "$work/$model.toml" >"$work/own.csv"
    else
        tail -n 1 "$work/said" | tr ',' ';' | sed "s/^/$model,not probed: /; s/\$/,,,,,/" >"$work/own.csv"
    fi
    grep -v -e "^$model," -e ^device, "$here/found.csv" >"$work/others.csv" || true
    { echo device,quantity,truth,found_low,found_high,off,unit; sort "$work/others.csv" "$work/own.csv"; } >"$work/found.csv"
    cp "$work/found.csv" "$here/found.csv"
done

#!/bin/sh
# Labs on a probed file beside the same labs on the device that was probed, both modelled: each model is
# probed blind (its file is read for nothing but the timing of its requests), and a lab that the probe
# knows nothing of runs on the model and on the probed file. Replaces the rows of these models in
# predicted.csv (disk, stack, step, seconds on the disk, seconds on the file as medians of the rounds,
# ratio) and says how many are within 10 %. Needs jq and the lab kernel.
# usage: measure.sh SEEKWELL [MODEL…]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
seekwell=$(realpath "$1")
. "$here/medians.sh"
shift
[ $# -gt 0 ] || set -- sata-500gb-7200 sata-2tb-7200 sata-2tb-5400 hdd-8tb-7200 ide-40gb-2005 wd-raptor-wd740gd \
    ssd-sata-250gb ssd-sata-960gb-plp ssd-sata-4tb-qlc ssd-nvme-512gb ssd-nvme-1920gb-plp \
    usb2-stick-512mb sd-card-4mib cf-lexar-233x
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

touch "$here/predicted.csv"
for model in "$@"; do
    "$seekwell" probe --model "$model" --write -o "$model.toml" >/dev/null
    # A lab runs on 1 GiB of a device; a smaller one is used whole.
    sectors=$(sed -n 's/^sectors = //p' "$model.toml")
    for place in "$model" "$model.toml"; do
        cp "$here/held-out.toml" lab.toml
        [ "$sectors" -ge 2097152 ] ||
            printf '\n[[device]]\nname = "small"\nmodel = "%s"\n' "$place" >>lab.toml
        rm -f run.seekwell
        if [ "$sectors" -ge 2097152 ]; then set -- --model "$place" "$@"; else set -- "" "" "$@"; fi
        "$seekwell" run lab.toml --place virtual ${1:+"$1" "$2"} -o run.seekwell >/dev/null || [ $? -eq 4 ]
        shift 2
        medians run.seekwell 6 >"$place.csv"
    done
    grep -v -e "^$model," -e ^disk, "$here/predicted.csv" >others.csv || true
    paste -d, "$model.csv" "$model.toml.csv" |
        awk -F, -v disk="$model" '$1 != $4 || $2 != $5 { exit 1 } { printf "%s,%s,%s,%.6g,%.6g,%.4f\n", disk, $1, $2, $3, $6, $6 / $3 }' \
        >own.csv
    { echo disk,stack,step,disk_s,file_s,ratio; sort others.csv own.csv; } >predicted.csv
    cp predicted.csv "$here/predicted.csv"
done
awk -F, 'NR > 1 { all[$1]++; off = $6 > 1 ? $6 - 1 : 1 - $6; if (off > worst[$1]) worst[$1] = off; near[$1] += off <= 0.1 }
    END { for (disk in all) printf "%-24s %d of %d within 10 %%, worst %.1f %%\n", disk, near[disk], all[disk], worst[disk] * 100 }' \
    predicted.csv | sort

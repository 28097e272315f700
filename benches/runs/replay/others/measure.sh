#!/bin/bash
# Records programs on ext4 in an image and replays each as fast as possible on ext4 and xfs.
# Prints: program, filesystem, calls, left out, with another result (median of the trials).
# measure.sh SEEKWELL [FOLDER], as root; needs python3, rsync, zip, attr, acl, sqlite3, redis-server, git, gcc,
# make, ccache, fio, perl, jq. Takes about two minutes. With FOLDER the recordings are put there, and nothing is
# replayed.
set -eu
seekwell=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
set -- "$seekwell" ${2:+"$(realpath "$2")"}
work=$(mktemp -d)
mounted=$work/mounted
mkdir "$mounted" "$work/traces"
truncate -s 3G "$work/image"
mkfs.ext4 -qF "$work/image"
mount -o loop "$work/image" "$mounted"
trap 'cd /; umount "$mounted" 2>/dev/null || umount -l "$mounted"; rm -rf "$work"' EXIT

into() { mkdir -p "$mounted/$1"; cd "$mounted/$1"; }
record() {
	local name=$1
	shift
	(cd "$mounted/$name" && "$seekwell" capture -o "$work/traces/$name" --path "$mounted/$name" -- "$@") \
		>"$work/$name.log" 2>&1 || { echo "$name: $(tail -1 "$work/$name.log")" >&2; }
}
library=$(python3 -c 'import json, os; print(os.path.dirname(os.path.dirname(json.__file__)))')

into threads; cp -r "$library/json" .
record threads python3 "$here/threads.py"

into copy; mkdir s; cp -r "$library/asyncio" s/
for nth in 1 2 3; do
	truncate -s 1M s/h$nth
	printf x | dd of=s/h$nth bs=1 seek=300000 conv=notrunc status=none
	setfattr -n user.a$nth -v "val$nth" s/h$nth
	setfacl -m u:1000:r s/h$nth
	ln s/h$nth s/l$nth
	ln -s h$nth s/s$nth
done
fallocate -l 200K s/allocated
record copy cp -a s d

into rsync; cp -a ../copy/s .
record rsync sh -c 'rsync -aHAX s/ d/; touch s/h1; echo more >>s/h2; rsync -aHAX --delete s/ d/; rsync -a --inplace s/ d/'

into zip; cp -r "$library/asyncio" .
record zip sh -c 'zip -qr a.zip asyncio; mkdir o; cd o; unzip -q ../a.zip; cd ..; tar czf a.tgz asyncio; mkdir p; tar xzf a.tgz -C p; gzip -k a.zip; zcat a.zip.gz | md5sum'

into tar; cp -a ../copy/s .
record tar sh -c 'tar --xattrs --acls -cSf a.tar s; mkdir o; tar --xattrs --acls -xf a.tar -C o; tar -rf a.tar o; tar -df a.tar || true'

into make
for nth in $(seq 1 12); do printf '#include <stdlib.h>\n#include "h.h"\nint f%d(int a) { return a * H + %d; }\n' "$nth" "$nth" >f$nth.c; done
echo '#define H 3' >h.h
printf '#include <stdio.h>\nint main() { return 0; }\n' >main.c
# shellcheck disable=SC2016
printf 'O=$(patsubst %%.c,%%.o,$(wildcard *.c))\nprog: $(O)\n\t$(CC) -o $@ $^\nlib.a: $(O)\n\tar rcs $@ $^\n%%.o: %%.c h.h\n\t$(CC) -O1 -c $< -o $@\n' >Makefile
into ccache; cp ../make/*.c ../make/h.h ../make/Makefile .
record make make -j3 CC=gcc prog lib.a
export CCACHE_DIR=$mounted/ccache/cache
record ccache sh -c 'make -j2 CC="ccache gcc" prog; for f in *.c; do ccache gcc -c $f -o $f.o; ccache gcc -c $f -o $f.o; done'
unset CCACHE_DIR

into writers
record writers python3 "$here/writers.py"

into redis
record redis sh -c 'redis-server --port 7777 --dir . --appendonly yes --appendfsync everysec --save "" >/dev/null & p=$!; sleep 1; redis-benchmark -p 7777 -t set,lpush -n 3000 -q -r 1000 >/dev/null; redis-cli -p 7777 bgrewriteaof; sleep 1; redis-cli -p 7777 bgsave; sleep 1; redis-cli -p 7777 shutdown; wait $p'

into search; cp -r "$library/email" "$library/asyncio" .
record search sh -c 'find . -type f | xargs sha1sum >sums; sed -i s/email/EMAIL/ sums; grep -r import . >found; du -s .; find asyncio -name "*.pyc" -delete; sort -S 100k -T . sums >sorted'

into git; git init -q r; cp -r "$library/email" r/
record git sh -c 'cd r; c="git -c user.name=a -c user.email=b commit -q"; git add .; $c -m one; git checkout -qb two; git rm -qr email/mime; $c -m two; git checkout -q -; git gc -q; git status >/dev/null; cd ..; git clone -q r c; git clone -q --shared r d'

into fio
record fio fio --name=a --ioengine=psync --rw=randrw --bs=4k --size=8m --numjobs=3 --fsync=16 --directory=. --output="$work/fio.txt"

into mapped
record mapped python3 "$here/mapped.py"

into locks
# shellcheck disable=SC2016
record locks perl -e 'use Fcntl qw(:flock); for my $n (1..4) { if (!fork) { for my $i (1..60) { open my $f, ">>", "log" or die; flock $f, LOCK_EX; print $f "$n $i\n" x 20; close $f; open my $g, "<", "log"; my @l = <$g>; close $g; open my $h, ">", "tmp.$n"; print $h @l[0..9]; close $h; rename "tmp.$n", "cur"; } exit } } 1 while wait > 0;'

cd "$work"
if [ $# -gt 1 ]; then
	mv traces/* "$2"
	exit
fi
{
	printf '[lab]\nname = "others"\nquestion = "do calls of other programs end as recorded?"\n'
	printf '[[device]]\nname = "s"\nloop = "2GiB"\n[scheduler]\nchoose = ["none"]\n'
	printf '[[filesystem]]\ntype = "%s"\n' ext4 xfs
	for trace in traces/*; do
		name=$(basename "$trace")
		printf '[[workload]]\nname = "%s"\nkind = "replay"\ntrace = "%s"\n' "$name" "$work/$trace"
		printf 'only = "%s"\nspeed = "asap"\n' "$mounted/$name"
	done
	printf '[judge]\nmetric = "replay.elapsed_durable"\nrounds = 6\n'
} >lab.toml
"$seekwell" run lab.toml -o run >run.txt 2>&1 || [ $? -eq 4 ]
"$seekwell" report run --json >run.json
echo program,filesystem,calls,left_out,differing
jq -r '[.trials[] | select(.status == "ok") | {w: .workload, f: (.stack | split("/")[0]), m: .metrics}]
	| group_by([.w, .f])[]
	| (map(.m["replay.calls_differing"]) | sort | .[length / 2 | floor]) as $differing
	| [.[0].w, .[0].f, (.[0].m["replay.ops"] // ""), .[0].m["replay.calls_left_out"], $differing] | @csv' run.json

#!/bin/bash
# Programs and their replays on three stacks, alternating: each is recorded once on ext4, then a lab runs the
# program and its replay in every round.
# measure.sh SEEKWELL ROUNDS [PROGRAM …], as root; needs python3, redis-server, fio, jq. Prints CSV; the answers go to
# standard error. IMAGES=/dev/shm keeps other users of the disk out.
set -eu
seekwell=$(realpath "$1")
rounds=$2
shift 2
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
images=$(mktemp -d -p "${IMAGES:-/tmp}")
mounted=$work/mounted
mkdir "$mounted"
truncate -s 1G "$images/image"
mkfs.ext4 -qF "$images/image"
mount -o loop "$images/image" "$mounted"
trap 'cd /; umount "$mounted" 2>/dev/null || umount -l "$mounted"; rm -rf "$work" "$images"' EXIT

command_of() {
	case $1 in
	redis) echo "sh $here/redis.sh" ;;
	sqlite-wal) echo "python3 $here/wal.py" ;;
	maildrop) echo "sh $here/maildrop.sh" ;;
	fio-uring) echo "fio --name=a --ioengine=io_uring --rw=randwrite --bs=4k --size=16m --iodepth=16 --fdatasync=16 --output=/dev/null" ;;
	esac
}

echo program,stack,round,side,elapsed_s
for program in "${@:-redis sqlite-wal maildrop fio-uring}"; do
	for name in $program; do
		run=$(command_of "$name")
		mkdir "$mounted/$name"
		(cd "$mounted/$name" && "$seekwell" capture -o "$work/$name.trace" -- $run) >"$work/log" 2>&1 ||
			{ tail -3 "$work/log" >&2; exit 1; }
		{
			printf '[lab]\nname = "%s"\nquestion = "does the replay take as long as its program?"\n' "$name"
			printf '[[device]]\nname = "s"\nloop = "1GiB"\n[scheduler]\nchoose = ["none"]\n'
			printf '[[filesystem]]\ntype = "%s"\n' ext4 xfs btrfs
			printf '[[workload]]\nname = "program"\nkind = "command"\nrun = "%s"\n' "$run"
			printf '[[workload]]\nname = "replay"\nkind = "replay"\ntrace = "%s"\n' "$work/$name.trace"
			printf 'only = "%s"\n' "$mounted/$name"
			printf '[judge]\nmetric = "replay.elapsed_durable"\nrounds = %s\n' "$rounds"
		} >"$work/$name.toml"
		"$seekwell" run "$work/$name.toml" -o "$images/$name.run" --wait --no-screen >"$work/log" 2>&1 || [ $? -eq 4 ] || { tail -3 "$work/log" >&2; exit 1; }
		"$seekwell" report "$images/$name.run" | sed -n '/Pick\|If you must/,/^$/p;/Main doubt/,/^$/p' >&2
		"$seekwell" report "$images/$name.run" --json | jq -r --arg name "$name" '.trials[] | select(.status == "ok")
			| [$name, (.stack | split("/")[0]), .round, .workload,
			(.metrics["replay.elapsed_durable"] // .metrics["command.elapsed_durable"])] | @csv' | tr -d '"'
	done
done

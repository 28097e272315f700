# One of the ten programs, in the working directory: program.sh NAME INPUTS. `inputs` makes the folder of inputs.
# FEWER=fewer.so makes one sync for ten.
set -eu
here=$(dirname "$(realpath "$0")")
name=$1
inputs=$2
if [ "${FEWER:-}" ]; then export LD_PRELOAD="$FEWER"; fi
case $name in
inputs)
	python3 "$here/writers.py" tree "$inputs/tree"
	tar -C "$inputs" -cf "$inputs/tree.tar" tree
	git -C "$inputs" init -q repository
	cp -r "$inputs/tree" "$inputs/repository/"
	git -C "$inputs/repository" add .
	git -C "$inputs/repository" -c user.name=a -c user.email=a@example.org commit -qm all
	;;
sqlite-rollback | sqlite-wal | logger) exec python3 "$here/writers.py" "$name" ;;
untar) exec tar xf "$inputs/tree.tar" ;;
git-clone) exec git -c safe.directory='*' clone -q --no-local "$inputs/repository/.git" clone ;;
dd) exec dd if=/dev/zero of=file bs=1M count=200 conv=fsync status=none ;;
fio-randwrite) exec fio --name=a --rw=randwrite --bs=8k --size=48m --fsync=16 --output=/dev/null ;;
fio-uring)
	# Syncs through the ring are no calls.
	exec fio --name=a --ioengine=io_uring --rw=randwrite --bs=4k --size=24m --iodepth=16 --output=/dev/null \
		--fdatasync="16${FEWER:+0}"
	;;
fio-uring-read)
	exec fio --name=a --ioengine=io_uring --rw=randread --bs=4k --size=256m --io_size=64m --iodepth=16 --direct=1 --output=/dev/null
	;;
copy)
	cp -r "$inputs/tree" tree
	sync -f tree
	cp -r tree again
	rm -r tree
	;;
rrdtool)
	for nth in $(seq 1 60); do
		echo "create $nth.rrd --start 999999000 --step 60 DS:a:GAUGE:120:U:U RRA:AVERAGE:0.5:1:20000 RRA:MAX:0.5:60:2000"
	done >commands
	for minute in $(seq 1 40); do
		for nth in $(seq 1 60); do echo "update $nth.rrd $((999999000 + minute * 60)):$minute"; done
	done >>commands
	exec rrdtool - <commands >/dev/null
	;;
*)
	echo "no program $name" >&2
	exit 2
	;;
esac

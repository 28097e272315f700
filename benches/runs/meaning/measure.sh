#!/bin/sh
# Seekwell beside independent tools on the same stack. Runs each lab of this directory as root and
# writes one file of pairs for each row: round, ours, original. Needs fio, sysbench, sysstat, jq, sqlite3,
# postgresql, rocksdb-tools, rrdtool and python3. Seekwell pairs workloads by rounds and shuffles them
# inside a round.
# usage: measure.sh SEEKWELL [LAB…]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
seekwell=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- log-ram log-disk io beside large maildir mail databases sqlite rrd requests
# The lab that lacks one of these would have a figure of zero.
for tool in fio sysbench iostat jq; do
    command -v $tool >/dev/null || { echo "measure.sh: $tool is not installed" >&2; exit 1; }
done
work=$(mktemp -d -p "$here")
cd "$work"
# A loop device does its I/O in a worker of the kernel. Beside a program that is bound to one CPU the
# worker runs on that CPU or must be woken on the other, which takes three times as long for a synced
# write, and stays with it for thousands of writes. Workers therefore stay on the CPU of the trials.
workers=/sys/devices/virtual/workqueue/cpumask
before=$(cat $workers)
# A CPU of a virtual machine that has nothing to do is halted, and waking it takes longer than a synced
# write to memory does. While this file is open with a latency of 0, the kernel polls instead. (A program
# that never sleeps, however nice, does worse: with lazy preemption the kernel waits for its next tick.)
exec 3>/dev/cpu_dma_latency
printf '\0\0\0\0' >&3
trap 'echo "$before" >$workers; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
printf '%x\n' $((1 << ($(nproc) - 1))) >$workers

# Values of an expression over the metrics, by round, of the trials of a workload.
values() {
    jq -r --arg workload "$1" '.trials[] |
        select(.workload == $workload and .status != "failed") |
        [.round, (.metrics | '"$2"')] | @tsv' run.json | sort
}

# Row, workload and expression of ours, workload and expression of the original.
pair() {
    values "$2" "$3" >ours
    values "$4" "$5" >original
    {
        echo round,ours,original
        join ours original | sort -n | tr ' ' ,
    } >"$here/$1.csv"
}

# Files that a lab needs; WORK in it is their folder.
prepare() {
    case $1 in
    mail)
        mkdir store
        python3 -c "
import os, random
random.seed(16)
for number in range(3000):
    os.makedirs(f'store/{number % 20}', exist_ok=True)
    with open(f'store/{number % 20}/{number}', 'wb') as file:
        file.write(random.randbytes(min(1 << 20, int(random.lognormvariate(8.3, 1.2)))))
"
        tar -cf store.tar store
        rm -r store
        ;;
    requests)
        cp "$here/requests.py" .
        python3 requests.py make "$work"
        "$seekwell" trace import alibaba requests.csv -o requests.trace
        ;;
    esac
}

for lab in "$@"; do
    rm -f run.seekwell
    prepare "$lab" >&2
    sed "s|WORK|$work|g" "$here/$lab.toml" >lab.toml
    "$seekwell" run lab.toml -o run.seekwell >/dev/null || [ $? -eq 4 ]
    "$seekwell" report run.seekwell --json >run.json
    case $lab in
    log-*)
        bytes=6144000
        [ $lab = log-disk ] || bytes=20480000
        pair $lab-rate ours '."log.iops"' fio '."fio.fio_rate"'
        pair $lab-p50 ours '."log.commit_latency_p50"' fio '."fio.fio_write_p50" + ."fio.fio_sync_p50"'
        pair $lab-p99 ours '."log.commit_latency_p99"' fio '."fio.fio_write_p50" + ."fio.fio_sync_p99"'
        pair $lab-elapsed ours '."log.elapsed_durable"' fio '."fio.fio_runtime" / 1000'
        pair $lab-device ours '."log.device_written_bytes" / '$bytes fio '."fio.fio_device_kib" * 1024 / '$bytes
        ;;
    io)
        pair reads-mean ours '."reads.latency_mean"' fio '."fio.fio_reads_mean"'
        pair reads-p99 ours '."reads.latency_p99"' fio '."fio.fio_reads_p99"'
        pair reads-p50 ours '."reads.latency_p50"' fio '."fio.fio_reads_p50"'
        pair transactions ours '."transactions.iops"' fio '."fio.sysbench_reads" + ."fio.sysbench_writes"'
        pair synced-p50 ours '."synced.commit_latency_p50"' fio '."fio.fio_synced_write_p50" + ."fio.fio_synced_sync_p50"'
        pair synced-p99 ours '."synced.commit_latency_p99"' fio '."fio.fio_synced_write_p50" + ."fio.fio_synced_sync_p99"'
        pair updates ours '."updates.elapsed_durable"' fio '."fio.fio_updates" / 1000'
        ;;
    beside)
        pair beside-p99 reads '."small-reads.latency_p99"' 'fio reads' '."fio-reads.fio_p99"'
        pair beside-rate reads '."small-reads.iops"' 'fio reads' '."fio-reads.fio_iops"'
        pair clients-p99 clients '."clients.commit_latency_p99"' 'fio clients' '."fio-clients.fio_write_p50" + ."fio-clients.fio_sync_p99"'
        ;;
    large)
        pair import ours '."import.elapsed_durable"' dd '."import.dd"'
        pair view ours '."view.elapsed"' dd '."view.dd"'
        ;;
    maildir)
        pair maildir-rate ours '."delivery.deliveries_per_s"' python '."python.python_rate"'
        pair maildir-p99 ours '."delivery.deliver_latency_p99"' python '."python.python_p99"'
        pair maildir-p50 ours '."delivery.deliver_latency_p50"' python '."python.python_p50"'
        ;;
    mail)
        pair mail-unpack ours '."unpack.elapsed_durable"' tar '."tar.unpack_ns" / 1e9'
        pair mail-read-cold ours '."read_directory.elapsed"' tar '."read.read_ns" / 1e9'
        pair mail-remove ours '."remove.elapsed_durable"' tar '."remove.remove_ns" / 1e9'
        pair mail-device ours '."unpack.device_written_bytes"' tar '."tar.device_kib" * 1024'
        ;;
    requests)
        pair requests-p99 ours '."requests.latency_p99"' fio '."fio.fio_p99"'
        pair requests-drift ours '."requests.drift"' script '."script.script_drift"'
        ;;
    rrd)
        pair rrd-fsync ours '."poll.fsync_p99"' rrdtool '."rrdtool.tenant_p99"'
        pair command-synced copy '."copy.elapsed_durable"' 'copy and sync' '."copy-and-sync.synced"'
        pair command timed '."command.elapsed"' timed '."command.real"'
        ;;
    sqlite)
        pair sqlite-p99 ours '."sqlite.latency_p99"' python '."python.python_p99"'
        ;;
    databases)
        pair pgbench pgbench '."pgbench.transactions_per_s"' 'plain pgbench' '."plain-pgbench.plain_tps"'
        pair sqlite sqlite '."sqlite.transactions_per_s"' 'plain sqlite' '200 / ."plain-sqlite.plain_seconds"'
        pair db_bench db_bench '."db_bench.transactions_per_s"' 'plain db_bench' '."plain-db_bench.plain_rate"'
        ;;
    esac
done

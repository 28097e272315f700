//! Worked examples of every command: help opens with them, man pages and the reference hold them.

/// The examples of a command by its name; the whole program's by `seekwell`.
pub fn of(name: &str) -> Option<&'static str> {
    EXAMPLES.iter().find(|(command, _)| *command == name).map(|(_, text)| *text)
}

const EXAMPLES: &[(&str, &str)] = &[
    (
        "seekwell",
        r#"Examples:
  seekwell init                        six questions become a lab, mine.toml
  seekwell doctor                      what this machine can measure
  seekwell plan labs/demo.toml         trials, order, time and bytes written; touches nothing
  seekwell run labs/demo.toml          runs the lab on scratch images and names the verdict
  seekwell report demo.seekwell --html demo.html
  seekwell compare before.seekwell after.seekwell
  seekwell watch /dev/sdb              what a disk does now
  seekwell bench seek /dev/sdb         random reads of a disk now, reading only

Exit status: 0 done or verdict reached, 1 error, 2 usage, 3 refused for safety,
4 inconclusive, 5 a threshold failed."#,
    ),
    (
        "doctor",
        r#"Examples:
  seekwell doctor                      filesystems, schedulers, programs, rights
  sudo seekwell doctor                 the same as root, who can measure more
  seekwell doctor --on slurm --partition batch --nodes 40 --folder /shared/runs"#,
    ),
    (
        "init",
        r#"Examples:
  seekwell init                        asks six questions, writes mine.toml
  seekwell init db.toml --runs database --time 1h --defaults

Without a terminal the answers come from the flags, then line by line from standard input."#,
    ),
    (
        "try",
        r#"Examples:
  sudo seekwell try mail               ext4, xfs and btrfs, two minutes at most
  sudo seekwell try mail --fs ext4,xfs --sched none,bfq --for 1min
  sudo seekwell try stream --fs ext4 --sched none,mq-deadline

With your own command; it runs inside the mounted filesystem, whose path is {dir}:
    sudo seekwell try 'tar xf /src/linux.tar' --fs ext4,xfs,btrfs --for 5min

The run file and the lab that was run are kept: change the lab and run it again."#,
    ),
    (
        "advise",
        r#"Examples:
  seekwell advise orders.trace         says what can help, and prints the lab that decides it
  sudo seekwell advise orders.trace --for 5min
  seekwell advise orders.trace --for 5min --place virtual --model NAME

Record the load first: sudo seekwell capture -o orders.trace -- COMMAND

Exit status: 0 winner or tie, or nothing to compare, 4 inconclusive, 1 error or stopped."#,
    ),
    (
        "plan",
        r#"Examples:
  seekwell plan labs/demo.toml
  seekwell plan mine.toml --json | jq '.trials | length'"#,
    ),
    (
        "run",
        r#"Examples:
  sudo seekwell run labs/demo.toml     writes demo.seekwell and prints the verdict
  sudo seekwell run mine.toml -o before.seekwell --scratch /mnt/disk-to-measure
  sudo seekwell run --resume -o before.seekwell
  sudo seekwell run --resume -o before.seekwell --until-decided --at-most 1h
  sudo seekwell run mine.toml --resume -o mine.seekwell --for 10min

On a terminal there is a live screen; q closes it and the run continues. Ctrl-C ends the run after
the current trial, a second Ctrl-C at once. Either way the machine's settings are restored.

Exit status: 0 winner or tie, 4 inconclusive, 1 error or stopped, 3 refused for safety."#,
    ),
    (
        "manifest",
        r#"Examples:
  seekwell manifest mine.toml --workers 40 --image registry.example/seekwell:1 > mine.yaml
  kubectl apply -f mine.yaml
  seekwell manifest mine.toml --claim shared --option=--model=wd-raptor-wd740gd

A pod with the run and one per worker share a volume. For labs on modelled devices."#,
    ),
    (
        "report",
        r#"Examples:
  seekwell report demo.seekwell        the same as at the end of the run
  seekwell report demo.seekwell --all  everything: table, evidence, warnings, how to make it permanent
  seekwell report demo.seekwell --html demo.html
  seekwell report demo.seekwell --json | jq .verdict"#,
    ),
    (
        "watch",
        r#"Examples:
  seekwell watch /dev/sda              on a terminal a screen, elsewhere a line per second
  seekwell watch sda -n 60 --record busy.seekwell
  seekwell watch /dev/nvme0n1 --interval 200ms --json

The columns are those of iostat -x. Latency, queue depth, request sizes and places come from the
kernel's block events, which need root and tracefs; without them only the counters are shown."#,
    ),
    (
        "capture",
        r#"Examples:
  sudo seekwell capture -o /dev/shm/build.trace -- make -j4
  sudo seekwell capture -o /dev/shm/db.trace --unit postgresql --for 5min
  sudo seekwell capture -o /dev/shm/mail.trace --pid 1234 --path /var/mail --for 60s
  seekwell trace info /dev/shm/db.trace

Needs root or CAP_BPF, CAP_PERFMON and CAP_SYS_RESOURCE, and a kernel with BTF. Paths, sizes,
results and times are recorded, never contents or arguments."#,
    ),
    (
        "trace",
        r#"Examples:
  seekwell trace info db.trace         three sentences, then numbers
  seekwell trace requests db.trace     the block requests of the longest syncs
  seekwell trace filter db.trace --from 10s --to 20s -o slow.trace
  seekwell trace import strace log -o db.trace
  seekwell trace merge day-1.trace day-2.trace -o both.trace
  seekwell trace split db.trace --by process -o processes
  seekwell trace pack db.trace -o db.pack
  seekwell trace synthesize db.trace -o db.load"#,
    ),
    (
        "trace requests",
        r#"Examples:
  seekwell trace requests db.trace                     the ten longest syncs
  seekwell trace requests db.trace --call write --path /var/lib/postgresql
  seekwell trace requests db.trace --process 1234 --longest 1000 --json

Calls and requests are joined by time and process. A request is a call's own when the call's process
issued it meanwhile. One of a process without calls in the trace, as the kernel's thread of the
journal, may be of every call in progress then, and is listed for each of them."#,
    ),
    (
        "trace synthesize",
        r#"Examples:
  seekwell trace synthesize db.trace -o db.load        for those who may not share traces
  seekwell trace synthesize load.json -o other         from the description that another made
  seekwell run db.load/lab.toml                        its replay on two filesystems

The description has counts, sizes, times and the shape of the tree; no path, process or program name.
The table shows how far the made load is from the recorded one, by the figures of `trace info`."#,
    ),
    (
        "trace filter",
        r#"Examples:
  seekwell trace requests db.trace     the block requests of the longest syncs
  seekwell trace filter db.trace --from 10s --to 20s -o slow.trace
  seekwell trace filter db.trace --path /var/lib/db/wal -o wal.trace"#,
    ),
    (
        "trace import",
        r#"Examples:
  strace -f -ttt -T -yy -o log make    as any user, without eBPF; slows the program down
  seekwell trace import strace log -o make.trace"#,
    ),
    (
        "trace info",
        r#"Examples:
  seekwell trace info db.trace         three sentences, then numbers
  seekwell trace info db.trace --json | jq .classes"#,
    ),
    (
        "compare",
        r#"Examples:
  seekwell compare before.seekwell after.seekwell
  seekwell compare before.seekwell after.seekwell --fail-above 5%
  seekwell compare before.seekwell after.seekwell --reference ext4/none
  seekwell compare --before b1.seekwell b2.seekwell b3.seekwell --after a1.seekwell a2.seekwell a3.seekwell

Runs share no rounds, so they are compared as independent samples. With one run per side the trials
are the sample, and a difference may come from the machine; while something else kept the processors
busy during one of the runs, none is named. With three or more runs per side each run is one value,
and a reference stack cancels changes of the whole machine: then a difference comes from the change.
Other changes between the runs (kernel, firmware, settings in force) are listed. Runs that judge
another metric, run another workload or ran on another backend are refused. Worse by 5% means 1.05 times a metric that
should be low, or 1/1.05 of one that should be high.

Exit status: 0 every stack is better, worse or the same; with --fail-above none is worse by more.
4 inconclusive for some stack. 5 a stack is certainly worse by more than the threshold.
1 not comparable, or a run cannot be read."#,
    ),
    (
        "claim",
        r#"Examples:
  seekwell claim /dev/disk/by-id/ata-EXAMPLE_123-part3
  seekwell claim /dev/disk/by-id/ata-EXAMPLE_123 --confirm 0123
  seekwell claim nas:/srv/bench

Everything on a claimed disk may be destroyed by the labs that name it. A disk that is mounted,
holds swap, belongs to another layer or carries the running system is refused.

In a claimed directory of an NFS server labs make directories of their own and remove those only.
The claim is the file .seekwell-claim in it. A directory that is not empty is refused."#,
    ),
    (
        "release",
        r#"Examples:
  seekwell release /dev/disk/by-id/ata-EXAMPLE_123-part3"#,
    ),
    (
        "bench",
        r#"Examples:
  seekwell bench seek /dev/sdb --time 5s
  seekwell bench stream ./large-file --cache cold
  seekwell bench seek ./large-file --size 16k --threads 4 --json

A doubtful result says why and what to do: served from a cache, too short, device busy."#,
    ),
    (
        "replicate",
        r#"Examples:
  seekwell replicate --quick           all studies on modelled devices; takes minutes
  seekwell replicate 003 -o kept       one study in full; continues with the runs in the folder
  seekwell replicate --kept -o kept --markdown replications.md
  sudo seekwell replicate 003 --quick --place host --device loop:4GiB"#,
    ),
    (
        "extract",
        r#"Examples:
  seekwell extract demo.html           writes demo.seekwell
  seekwell extract demo.html -o again.seekwell"#,
    ),
    (
        "verify",
        r#"Examples:
  seekwell verify demo.seekwell        ends with 1 when anything was changed
  seekwell verify demo.seekwell --sign ~/.ssh/id_ed25519
  seekwell verify demo.seekwell --key author.pub"#,
    ),
    (
        "clients",
        r#"Examples:
  seekwell clients /shared/scratch --processes 4
  seekwell clients /shared/scratch --on slurm --nodes 8 --processes 16 --files 10000 --block 4GiB
  seekwell clients /shared/scratch --on slurm --nodes 8 --block 0 --stonewall 30s --json

Clients read what those of the next node wrote, so that it comes from the storage and not from their own cache."#,
    ),
    (
        "merge",
        r#"Examples:
  seekwell merge monday.seekwell tuesday.seekwell -o both.seekwell

The files hold trials of one plan: copies of a run that were continued apart. A trial that several
have is kept once. Each file is checked first; the new one holds their seals."#,
    ),
    (
        "repair",
        r#"Examples:
  seekwell repair demo.seekwell        writes demo-repaired.seekwell"#,
    ),
    (
        "kernel",
        r#"Examples:
  seekwell kernel build                the kernel of the virtual backend, once per machine
  seekwell kernel list"#,
    ),
    (
        "device",
        r#"Examples:
  seekwell device list                      modelled devices, each with a description
  seekwell device show wd-raptor-wd740gd    what it does: seeks, bandwidth, latency, writes
  seekwell device import ibm18es.diskspecs -o ibm18es.toml
  seekwell device compare mine.toml predicted.seekwell real.seekwell"#,
    ),
    (
        "probe",
        r#"Examples:
  sudo seekwell probe /dev/sdb -o mine.toml      only reads; three to seven minutes
  seekwell device show mine.toml                 what the model of the file does
  seekwell probe --model wd-raptor-wd740gd       the same on a model, in a few seconds
  sudo seekwell probe /dev/sdb --write           also learns the write cache; destroys what is on it

No other process should use the disk meanwhile."#,
    ),
    (
        "calibrate",
        r#"Examples:
  seekwell calibrate                   prints the value for `run --cpu`
  seekwell calibrate --layers          with the work of LUKS, RAID and zram"#,
    ),
    (
        "bench seek",
        r#"Examples:
  seekwell bench seek /dev/sdb --size 4k --time 5s
  seekwell bench seek ./large-file --threads 1..8
  seekwell bench seek . --file-size 1GiB --mix 70"#,
    ),
    (
        "bench stream",
        r#"Examples:
  seekwell bench stream ./large-file --cache cold
  seekwell bench stream . --file-size 1GiB --size 1MiB --write
  seekwell bench stream . --write --append --size 512B --sync fsync     a log, line by line"#,
    ),
    (
        "bench sweep",
        r#"Examples:
  seekwell bench sweep /dev/sdb --html sweep.html
  seekwell bench sweep /dev/sdb /dev/sdc   are two devices alike, and where do they cross?"#,
    ),
    (
        "bench seekrw",
        r#"Examples:
  seekwell bench seekrw ./large-file --size 512 --count 10000
  seekwell bench seekrw /dev/sdb --size 512 --count 10000"#,
    ),
    (
        "bench chunk",
        r#"Examples:
  seekwell bench chunk . --size 128MiB"#,
    ),
    (
        "bench iozone",
        r#"Examples:
  seekwell bench iozone . --tests 0,1,2 --size 64MiB --record 4KiB --direct"#,
    ),
    (
        "bench bonnie",
        r#"Examples:
  seekwell bench bonnie .
  seekwell bench bonnie . --csv | bon_csv2html > bonnie.html"#,
    ),
    (
        "bench mail",
        r#"Examples:
  seekwell bench mail . --files 5000"#,
    ),
    (
        "bench rrd",
        r#"Examples:
  seekwell bench rrd . --files 1000 --polls 3"#,
    ),
    (
        "bench fio",
        r#"Examples:
  seekwell bench fio . --job-file mine.fio
  seekwell bench fio /dev/sdb --job-file reads.fio"#,
    ),
    (
        "bench replay",
        r#"Examples:
  sudo seekwell bench replay . --trace orders.trace
  sudo seekwell bench replay . --trace orders.trace --speed asap"#,
    ),
    (
        "bench requests",
        r#"Examples:
  sudo seekwell bench requests /dev/sdb --trace orders.trace
  sudo seekwell bench requests /dev/sdb --trace orders.trace --speed recorded"#,
    ),
    (
        "bench age",
        r#"Examples:
  seekwell bench age .                 takes the folder's filesystem as it is"#,
    ),
    (
        "bench maildir",
        r#"Examples:
  seekwell bench maildir . --count 500
  seekwell bench maildir . --threads 8 --sync directory --time 30s"#,
    ),
    (
        "bench pgbench",
        r#"Examples:
  sudo seekwell bench pgbench . --clients 8 --time 30s
  sudo seekwell bench pgbench . --synchronous-commit off"#,
    ),
    (
        "bench sqlite",
        r#"Examples:
  seekwell bench sqlite . --count 500
  seekwell bench sqlite . --journal-mode wal --synchronous normal"#,
    ),
    (
        "bench db_bench",
        r#"Examples:
  seekwell bench db_bench . --threads 4
  seekwell bench db_bench . --benchmark readrandom --keys 1000000"#,
    ),
    (
        "bench capacity",
        r#"Examples:
  sudo seekwell bench capacity /dev/sdb            some blocks, restored afterwards; claim it first
  sudo seekwell bench capacity /dev/sdb --full     every block; destroys the content"#,
    ),
    (
        "bench defragment",
        r#"Examples:
  sudo seekwell bench defragment ."#,
    ),
    (
        "bench layout",
        r#"Examples:
  seekwell bench layout ."#,
    ),
    (
        "completions",
        r#"Examples:
  seekwell completions bash > /etc/bash_completion.d/seekwell
  seekwell completions zsh > "${fpath[1]}/_seekwell"
  seekwell completions fish > ~/.config/fish/completions/seekwell.fish"#,
    ),
];

#[cfg(test)]
mod tests;

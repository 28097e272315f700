//! Worked examples of every command: help opens with them, man pages and the reference hold them.

/// Groups whose commands are also understood without the name of the group.
const MOVED: [&str; 4] = ["file ", "device ", "kernel ", "atlas "];

/// The examples of a command by its name; the whole program's by `seekwell`.
pub fn of(name: &str) -> Option<&'static str> {
    let by_name =
        |name: &str| entries().find(|(command, _)| *command == name).map(|(_, text)| text);
    let moved = || MOVED.iter().find_map(|group| by_name(&format!("{group}{name}")));
    by_name(name).or_else(moved)
}

/// The commands with their texts: each begins with a line of its name behind `== `.
fn entries() -> impl Iterator<Item = (&'static str, &'static str)> {
    let entries = TEXTS.split("\n== ").filter_map(|entry| entry.split_once('\n'));
    entries.map(|(name, text)| (name, text.trim_end()))
}

const TEXTS: &str = r#"
== seekwell
Examples:
  seekwell ask                         three questions, an answer in a second
  seekwell init                        six questions become a lab, mine.toml
  seekwell doctor                      what this machine can measure
  seekwell plan labs/demo.toml         trials, time and bytes; touches nothing
  seekwell run labs/demo.toml          on scratch images; names the verdict
  seekwell report demo.seekwell --html demo.html
  seekwell watch /dev/sdb              what a disk does now
  seekwell bench seek /dev/sdb         random reads of a disk now, reading only

Exit status: 0 done or verdict reached, 1 error, 2 usage, 3 refused for safety,
4 inconclusive, 5 a threshold failed, 6 a run file was changed or damaged.
== doctor
Examples:
  seekwell doctor                      filesystems, schedulers, programs, rights
  sudo seekwell doctor                 the same as root, who can measure more
  seekwell doctor --on slurm --nodes 40 --folder /shared/runs
== ask
Examples:
  seekwell ask                         asks for load, device and filesystem
  seekwell ask --load postgresql --device nvme
  seekwell ask --load log --device /dev/sdb --now ext4
  seekwell ask --load db.trace --device hdd  for the load most like a recording
  seekwell ask --load mail --lab mine.toml   the lab, for a disk of your own

Answers come from the atlas: runs on modelled devices in virtual time, which `seekwell atlas check`
repeats here. Nothing is measured, and a disk is not opened.

Exit status: 0 answered, 4 no answer in the atlas, 1 error, 2 usage or an unknown name.
== atlas
Examples:
  seekwell atlas check log/ssd-nvme-512gb/xfs/none
  seekwell atlas check --random 2
  seekwell atlas run atlas --load log --device nvme
  seekwell atlas publish site
== atlas tune
Examples:
  seekwell tune --load log --device sd
  seekwell tune --load mine.toml --device nvme --trials 500

Around the defaults of each filesystem every option of mkfs, mount and queue is tried alone, then those
that gain together; what can lose synced data is not tried. A lab of the best few is written and run,
with other work than the search has seen: that run answers, and runs again on your disk.

Exit status: 0 answered, 4 inconclusive, 1 error, 2 usage.
== atlas run
Examples:
  seekwell atlas run                   all of it, in ./atlas; continues
  seekwell atlas run atlas --load log --device nvme

Needs the lab kernel: seekwell kernel build. A build of Seekwell holds atlas/cells.jsonl.
== atlas check
Examples:
  seekwell atlas check log/ssd-nvme-512gb/xfs/none
  seekwell atlas check --random 2
  seekwell atlas check --changed       after a change of kernel or model

A cell is the same if its trials sent the same number of requests and bytes in every step, and the
median agrees to 0.01 %; it is near if the median agrees to 0.5 %, as of two builds of one program.
One that is the same with another lab kernel counts, and the line says so.

Exit status: 0 no cell moved, 1 a cell moved.
== atlas publish
Examples:
  seekwell atlas publish site          open site/index.html
== init
Examples:
  seekwell init                        asks six questions, writes mine.toml
  seekwell init db.toml --runs database --time 1h --defaults

Without a terminal the answers come from the flags, then line by line from standard input.
== try
Examples:
  sudo seekwell try mail               ext4, xfs and btrfs, two minutes at most
  sudo seekwell try mail --fs ext4,xfs --sched none,bfq --for 1min

With your own command, inside the mounted filesystem {dir}:
    sudo seekwell try 'tar xf /src/linux.tar' --fs ext4,xfs,btrfs --for 5min

The run file and the lab that was run are kept: change the lab and run it again.
== advise
Examples:
  seekwell advise orders.trace         what can help, and a lab that decides
  seekwell advise orders.trace --for 5min --place virtual --model NAME

Record the load first: sudo seekwell capture -o orders.trace -- COMMAND

Exit status: 0 winner or tie, or nothing to compare, 4 inconclusive, 1 error or stopped.
== plan
Examples:
  seekwell plan labs/demo.toml
  seekwell plan mine.toml --json | jq '.trials | length'

Exit status: 0 the lab can run here, 1 error, also if its images do not fit into the current
directory (below the plan), 2 usage, 3 refused for safety.
== run
Examples:
  sudo seekwell run labs/demo.toml     writes demo.seekwell, prints the verdict
  sudo seekwell run mine.toml -o before.seekwell --scratch /mnt/disk-to-measure
  sudo seekwell run --resume -o before.seekwell --until-decided --at-most 1h
  sudo seekwell run mine.toml --resume -o mine.seekwell --for 10min

On a terminal there is a live screen; q closes it and the run continues. Ctrl-C ends the run after
the current trial, a second Ctrl-C at once. Either way the machine's settings are restored.

Exit status: 0 winner or tie, 4 inconclusive, 1 error or stopped, 3 refused for safety.
== report
Examples:
  seekwell report demo.seekwell        the same as at the end of the run
  seekwell report demo.seekwell --all  also the table, evidence and warnings
  seekwell report demo.seekwell --html demo.html
  seekwell report demo.seekwell --json | jq .verdict

A run file that was changed after it was written is shown with a doubt and ends with status 6; no page
and no table is made from it.
== why
Examples:
  seekwell why disks.seekwell            the pick against the best other value
  seekwell why disks.seekwell ext4/none xfs/none
  seekwell why disks.seekwell --what-if  what would help the pick most
  seekwell why demo.seekwell --twin      on a model of its disk too
  seekwell report disks.seekwell         shows the cause from then on

Repeats the judged trial of both stacks with laws of disk and machine switched off, and says how
much of the difference each explains. On a real machine it runs both again on scratch images: as
they are, without flushes, in memory, without scheduler and memory limit. With --twin it also runs
all stacks in guests, and gives the causes there if the model ranks the stacks as the run does.
== watch
Examples:
  seekwell watch /dev/sda              a screen, or without a terminal lines
  seekwell watch sda -n 60 --record busy.seekwell
  seekwell watch /dev/nvme0n1 --interval 200ms --json

The columns are those of iostat -x. Latency, queue depth, request sizes and places come from the
kernel's block events, which need root and tracefs; without them only the counters are shown.
== capture
Examples:
  sudo seekwell capture -o /dev/shm/build.trace -- make -j4
  sudo seekwell capture -o /dev/shm/db.trace --unit postgresql --for 5min
  sudo seekwell capture -o /dev/shm/mail.trace --pid 1234 --for 60s
  seekwell trace info /dev/shm/db.trace

Needs root or CAP_BPF, CAP_PERFMON and CAP_SYS_RESOURCE, and a kernel with BTF. Paths, sizes,
results and times are recorded, never contents or arguments. A command that fails ends it with 1.
== trace
Examples:
  seekwell trace info db.trace         three sentences, then numbers
  seekwell trace requests db.trace     the block requests of the longest syncs
  seekwell trace filter db.trace --from 10s --to 20s -o slow.trace
  seekwell trace import strace log -o db.trace
== trace requests
Examples:
  seekwell trace requests db.trace                     the ten longest syncs
  seekwell trace requests db.trace --call write --path /var/lib/postgresql
  seekwell trace requests db.trace --process 1234 --longest 1000 --json

A request belongs to a call if the call's process issued it meanwhile. A request of a process without
calls in the trace, such as the journal's kernel thread, is listed with every call in progress then.
== trace filter
Examples:
  seekwell trace requests db.trace     the block requests of the longest syncs
  seekwell trace filter db.trace --from 10s --to 20s -o slow.trace
  seekwell trace filter db.trace --path /var/lib/db/wal -o wal.trace
== trace import
Examples:
  strace -f -ttt -T -yy -o log make    as any user, without eBPF; slows it down
  seekwell trace import strace log -o make.trace
== trace info
Examples:
  seekwell trace info db.trace         three sentences, then numbers
  seekwell trace info db.trace --json | jq .classes
== compare
Examples:
  seekwell compare before.seekwell after.seekwell
  seekwell compare before.seekwell after.seekwell --fail-above 5%
  seekwell compare before.seekwell after.seekwell --reference ext4/none
  seekwell compare --before b1.seekwell b2.seekwell b3.seekwell \
                   --after a1.seekwell a2.seekwell a3.seekwell

With one run per side a difference may come from the machine. With three or more per side, made in
turn, each run is one value; a reference stack cancels changes of the whole machine. Runs with
another metric, workload or backend are refused. Worse by 5% means 1.05 times a metric that should
be low, or 1/1.05 of one that should be high.

Exit status: 0 every stack is better, worse or the same; with --fail-above none is worse by more.
4 inconclusive for some stack. 5 a stack is worse by more than the threshold. 1 not comparable, or
a run cannot be read. 6 a run file was changed or damaged.
== device claim
Examples:
  seekwell claim /dev/disk/by-id/ata-EXAMPLE_123-part3
  seekwell claim /dev/disk/by-id/ata-EXAMPLE_123 --confirm 0123
  seekwell claim nas:/srv/bench

Everything on a claimed disk may be destroyed by the labs that name it. A disk that is mounted,
holds swap, belongs to another layer or carries the running system is refused.

In a claimed directory of an NFS server labs make directories of their own and remove those only.
The claim is the file .seekwell-claim in it. A directory that is not empty is refused.
== device release
Examples:
  seekwell release /dev/disk/by-id/ata-EXAMPLE_123-part3
== bench
Examples:
  seekwell bench seek /dev/sdb --time 5s
  seekwell bench stream ./large-file --cache cold
  seekwell bench seek ./large-file --size 16k --threads 4 --json

Existing files are only read, and a device too unless --write or --mix is given; in a directory a new
folder is used. A doubtful result says why and what to do: served from a cache, too short, device busy.
== device replicate
Examples:
  seekwell device replicate --quick        all studies on models; minutes
  seekwell device replicate 003 -o kept    one study in full; continues
  seekwell device replicate --kept -o kept --markdown replications.md
  sudo seekwell device replicate 003 --quick --place host --device loop:4GiB
== file
Examples:
  seekwell file verify demo.seekwell       was it changed? judged again
  seekwell file repair demo.seekwell       writes demo-repaired.seekwell
  seekwell file merge monday.seekwell tuesday.seekwell -o both.seekwell
  seekwell file extract demo.html          writes demo.seekwell
== file extract
Examples:
  seekwell file extract demo.html           writes demo.seekwell
  seekwell file extract demo.html -o again.seekwell

A page whose run was changed gives no file: exit status 6.
== file verify
Examples:
  seekwell file verify demo.seekwell        status 6 if anything was changed

To show whose it is, sign the file as any other: ssh-keygen -Y sign -n file -f KEY demo.seekwell
== file merge
Examples:
  seekwell file merge monday.seekwell tuesday.seekwell -o both.seekwell

The files hold trials of one plan: copies of a run that were continued apart. A trial that several
have is kept once. Each file is checked first, and one that was changed ends with status 6; the new one
holds their seals.
== file repair
Examples:
  seekwell file repair demo.seekwell        writes demo-repaired.seekwell
== kernel
Examples:
  seekwell kernel build                once per machine; takes minutes
  seekwell kernel list
  seekwell kernel calibrate            the value for `run --cpu`
  seekwell kernel cuts --fs ext4,xfs   does fsync keep its promise?
== kernel cuts
Examples:
  seekwell kernel cuts --fs ext4,xfs,btrfs
  seekwell kernel cuts --fs ext4 --options nobarrier
  seekwell kernel cuts --fs xfs --ops 3 --most 10000

Makes sequences of operations, each with a sync at its end, in guests. After each, the power fails, the
filesystem is mounted and checked, and compared with what was synced. `fsync` of a file promises its data, its
size and its names. A case is reduced to what it needs, and printed as a C program and as a lab.

Exit status: 0 nothing lost, 5 synced data lost or the filesystem damaged, 1 error.
== device
Examples:
  seekwell device list                      modelled devices
  seekwell device show wd-raptor-wd740gd    its numbers and their sources
  sudo seekwell device probe /dev/sdb -o mine.toml
  seekwell device replicate --quick         published studies on the models
  seekwell device check mine.toml again.toml
== device check
Examples:
  sudo seekwell device probe /dev/sdb -o mine.toml
  sudo seekwell device probe /dev/sdb --seed 2 -o again.toml
  seekwell device check mine.toml again.toml

A line for each rule. Schema: a known version of the format. Provenance: drive model, size, version, day
and method of the probe. Accuracy: the model is off by at most 20 % in the mixed trace and by 10 % in the
withheld rates. Agreement: each model meets the other probe's rates within 10 %. Privacy: no name of a
person or host, no serial number, no home folder. What is `open` was not checked.

Exit status: 0 no rule failed, 5 a rule failed, 1 error.
== device probe
Examples:
  sudo seekwell device probe /dev/sdb -o mine.toml   only reads; minutes
  sudo seekwell device probe /dev/sdb --write        destroys its content
  seekwell device probe --model wd-raptor-wd740gd    the same on a model
  seekwell device show mine.toml                     what was found

No other process should use the disk meanwhile.
== kernel calibrate
Examples:
  seekwell kernel calibrate                   prints the value for `run --cpu`
  seekwell kernel calibrate --layers   with LUKS, RAID and zram
== bench seek
Examples:
  seekwell bench seek /dev/sdb --size 4k --time 5s
  seekwell bench seek ./large-file --threads 1..8
  seekwell bench seek . --file-size 1GiB --mix 70
== bench stream
Examples:
  seekwell bench stream ./large-file --cache cold
  seekwell bench stream . --file-size 1GiB --size 1MiB --write
  seekwell bench stream . --write --append --size 512B --sync fsync    a log
== bench sweep
Examples:
  seekwell bench sweep /dev/sdb
  seekwell bench sweep /dev/sdb --json
== bench seekrw
Examples:
  seekwell bench seekrw ./large-file --size 512 --count 10000
  seekwell bench seekrw /dev/sdb --size 512 --count 10000
== bench chunk
Examples:
  seekwell bench chunk . --size 128MiB
== bench iozone
Examples:
  seekwell bench iozone . --tests 0,1,2 --size 64MiB --record 4KiB --direct
== bench bonnie
Examples:
  seekwell bench bonnie .
== bench mail
Examples:
  seekwell bench mail . --files 5000
== bench rrd
Examples:
  seekwell bench rrd . --files 1000 --polls 3
== bench fio
Examples:
  seekwell bench fio . --job-file mine.fio
  seekwell bench fio /dev/sdb --job-file reads.fio
== bench replay
Examples:
  sudo seekwell bench replay . --trace orders.trace
  sudo seekwell bench replay . --trace orders.trace --speed asap
== bench requests
Examples:
  sudo seekwell bench requests /dev/sdb --trace orders.trace
  sudo seekwell bench requests /dev/sdb --trace orders.trace --speed recorded
== bench age
Examples:
  seekwell bench age .                 takes the folder's filesystem as it is
== bench maildir
Examples:
  seekwell bench maildir . --count 500
  seekwell bench maildir . --threads 8 --sync directory --time 30s
== bench pgbench
Examples:
  sudo seekwell bench pgbench . --clients 8 --time 30s
  sudo seekwell bench pgbench . --synchronous-commit off
== bench sqlite
Examples:
  seekwell bench sqlite . --count 500
  seekwell bench sqlite . --journal-mode wal --synchronous normal
== bench db_bench
Examples:
  seekwell bench db_bench . --threads 4
  seekwell bench db_bench . --benchmark readrandom --keys 1000000
== bench capacity
Examples:
  sudo seekwell bench capacity /dev/sdb            some blocks, then restored
  sudo seekwell bench capacity /dev/sdb --full     every block; destroys all

The device must be claimed.
== bench defragment
Examples:
  sudo seekwell bench defragment .
== bench layout
Examples:
  seekwell bench layout .
== completions
Examples:
  seekwell completions bash > /etc/bash_completion.d/seekwell
  seekwell completions zsh > "${fpath[1]}/_seekwell"
  seekwell completions fish > ~/.config/fish/completions/seekwell.fish
"#;

#[cfg(test)]
mod tests;

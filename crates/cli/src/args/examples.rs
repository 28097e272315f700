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
4 not resolved, 5 a threshold failed."#,
    ),
    (
        "doctor",
        r#"Examples:
  seekwell doctor                      filesystems, schedulers, programs, rights
  sudo seekwell doctor                 the same as root, who can measure more"#,
    ),
    (
        "init",
        r#"Examples:
  seekwell init                        asks six questions, writes mine.toml
  seekwell init db.toml --runs database --time 1h --defaults

Without a terminal the answers come from the flags and, line by line, from standard input."#,
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

On a terminal there is a live screen; q leaves it and the run goes on. Ctrl-C ends the run after
the trial under way, a second one at once; either way everything is put back.

Exit status: 0 winner or tie, 4 not resolved, 1 error or stopped, 3 refused for safety."#,
    ),
    (
        "report",
        r#"Examples:
  seekwell report demo.seekwell        the same as at the end of the run
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
kernel's block events, which take root and tracefs; without them there are counters only, and it
says so."#,
    ),
    (
        "compare",
        r#"Examples:
  seekwell compare before.seekwell after.seekwell
  seekwell compare before.seekwell after.seekwell --fail-above 5%

The trials of two runs share no rounds: they are compared as independent samples, and what else
changed between the runs (kernel, firmware, settings in force) is listed. Runs that judge another
metric, do other work or were made in another place are refused.

Exit status: 0 every stack is better, worse or the same; with --fail-above none is worse by more.
4 not resolved for some stack. 5 a stack is shown to be worse by more than the threshold.
1 not comparable, or a run cannot be read."#,
    ),
    (
        "claim",
        r#"Examples:
  seekwell claim /dev/disk/by-id/ata-EXAMPLE_123-part3
  seekwell claim /dev/disk/by-id/ata-EXAMPLE_123 --confirm 0123

Everything on a claimed disk may be destroyed by the labs that name it. A disk that is mounted,
holds swap, belongs to another layer or carries the running system is refused."#,
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

A result that is doubtful says why and what to do: served from a cache, too short, device busy."#,
    ),
    (
        "completions",
        r#"Examples:
  seekwell completions bash > /etc/bash_completion.d/seekwell
  seekwell completions zsh > "${fpath[1]}/_seekwell"
  seekwell completions fish > ~/.config/fish/completions/seekwell.fish"#,
    ),
];

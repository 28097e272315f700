use super::*;

const MOUNTS: &str = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /home rw,relatime shared:2 - nfs4 server:/home rw,vers=4.2,acregmin=1,acdirmax=60
31 22 0:41 / /scratch rw,relatime shared:3 - lustre mgs@tcp:/scratch rw,flock
32 22 0:42 / /fast rw - nfs server:/fast rw,vers=3,actimeo=1
";

const CONFIG: &str = "\
Configuration data as of 2026-01-01T00:00:00
MaxArraySize            = 1001
SLURM_VERSION           = 22.05.8
";

/// The answers of a cluster, by command.
fn answers<'a>(
    list: &'a [(&'a str, Result<&'a str, &'a str>)],
) -> impl Fn(&str, &[&str]) -> Result<String, String> + 'a {
    move |program, arguments| {
        let command = format!("{program} {}", arguments[0]);
        let found = list.iter().find(|(known, _)| *known == command);
        let (_, answer) = found.unwrap_or_else(|| panic!("{command} is not expected"));
        answer.map(str::to_owned).map_err(str::to_owned)
    }
}

/// The findings as lines.
fn said(
    folder: &str,
    partition: Option<&str>,
    nodes: u32,
    list: &[(&str, Result<&str, &str>)],
) -> String {
    let (folder, has_folder) = (Path::new(folder), folder != "/gone");
    let question = ClusterQuestion { partition, nodes, folder, has_folder, mounts: MOUNTS };
    let ask = answers(list);
    let findings = slurm_findings(&question, &|name| !list.is_empty() || name == "squeue", &ask);
    let line = |one: Finding| {
        let remedy = one.remedy.map_or_else(String::new, |remedy| format!(" -> {remedy}"));
        format!("{}: {:?}: {}{remedy}\n", one.what, one.state, one.detail)
    };
    findings.into_iter().map(line).collect()
}

#[test]
fn a_cluster_that_has_everything_is_ready() {
    let list = [
        ("scontrol ping", Ok("Slurmctld(primary) at head is UP\n")),
        ("scontrol show", Ok(CONFIG)),
        ("sbatch --version", Ok("slurm-wlm 22.05.8\n")),
        ("sinfo --noheader", Ok("batch*|up|40|1-00:00:00\ndebug|up|2|infinite\n")),
    ];
    let expected = "\
slurm commands: Ready: sbatch, squeue, scancel
slurm controller: Ready: head answers
slurm version: Ready: 22.05.8
slurm partition: Ready: batch: 40 nodes, at most 1-00:00:00 a job, then the next one continues
slurm job arrays: Ready: up to 1000 workers
shared folder: Ready: /scratch/me is on lustre
";
    assert_eq!(said("/scratch/me", None, 40, &list), expected);
    let debug = said("/fast/me", Some("debug"), 1000, &list);
    assert!(debug.contains("partition: Ready: debug: 2 nodes, no time limit\n"), "{debug}");
    assert!(debug.ends_with("shared folder: Ready: /fast/me is on nfs\n"), "{debug}");
}

#[test]
fn everything_that_is_missing_comes_with_its_remedy() {
    let expected = "\
slurm commands: Missing: sbatch, scancel not found -> install Slurm's commands (Debian: slurm-client) and the cluster's \
slurm.conf and munge key, or run this on a login node
shared folder: Limited: /srv is on ext4, which other machines see only if they mount it from here -> write the run file \
where all nodes see it: -o /shared/NAME.seekwell
";
    assert_eq!(said("/srv", None, 4, &[]), expected);
    let gone = said("/gone", None, 4, &[]);
    let folder = "shared folder: Missing: /gone is not there -> make it where all nodes see it: mkdir -p /gone\n";
    assert!(gone.ends_with(folder), "{gone}");
    let down = [(
        "scontrol ping",
        Err("slurm_load_ctl_conf error: Unable to contact slurm controller (connect failure)"),
    )];
    let expected = "\
slurm commands: Ready: sbatch, squeue, scancel
slurm controller: Missing: slurm_load_ctl_conf error: Unable to contact slurm controller (connect failure) -> check \
SLURM_CONF, the network to the controller, and munge: munge -n | unmunge
shared folder: Limited: /home/me is on nfs4, where workers see new trials up to a minute late -> mount it with actimeo=1
";
    assert_eq!(said("/home/me", None, 4, &down), expected);
}

#[test]
fn a_cluster_that_refuses_the_run_says_why() {
    let list = [
        ("scontrol ping", Ok("Slurmctld(primary) at head is UP\n")),
        ("scontrol show", Ok("MaxArraySize = 31\nSLURM_VERSION = 21.08.0\n")),
        ("sbatch --version", Ok("slurm 23.02.1\n")),
        ("sinfo --noheader", Ok("batch|down|40|infinite\nempty|up|0|infinite\n")),
    ];
    let expected = "\
slurm version: Missing: commands 23.02.1, controller 21.08.0: it refuses newer commands -> install commands that are \
not newer than the controller
slurm partition: Missing: the cluster has no default partition -> choose one with --partition: batch, empty
slurm job arrays: Missing: an array has at most 30 tasks -> use --nodes 30 or fewer
";
    let text = said("/scratch", None, 31, &list);
    assert!(text.contains(expected), "{text}");
    let line = |partition| {
        let text = said("/scratch", Some(partition), 30, &list);
        text.lines().nth(3).unwrap().to_owned()
    };
    let choose = "-> choose one with --partition: batch, empty";
    assert_eq!(line("batch"), format!("slurm partition: Missing: batch is down {choose}"));
    assert_eq!(line("empty"), format!("slurm partition: Missing: empty has no nodes {choose}"));
    assert_eq!(line("gpu"), format!("slurm partition: Missing: gpu not found {choose}"));
}

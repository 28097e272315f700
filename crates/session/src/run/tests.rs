use super::*;
use seekwell_fixtures::{lab, mail, plan, stack};
use seekwell_model::lab::Effort;
use seekwell_model::workloads::WorkloadParams;

/// Each key that a run of an earlier version can have and that its trials would need.
#[test]
fn a_run_that_needs_a_retired_key_is_not_gone_on_with() {
    let made = |change: fn(&mut Plan)| {
        let lab = lab("unpack.elapsed_durable", Effort::Rounds(6), vec![mail()]);
        let mut plan = plan(lab, vec![stack("ext4", "none")], 6);
        change(&mut plan);
        can_go_on(Path::new("old.seekwell"), &plan).map_err(|error| error.to_string())
    };
    assert_eq!(made(|_| ()), Ok(()));
    let with = |key: &str| {
        Err(format!(
            "old.seekwell was started by an earlier version with `{key}`, which this version no longer has; run the \
             lab again without it"
        ))
    };
    assert_eq!(made(|plan| plan.control = Some([0, 0])), with("control"));
    assert_eq!(made(|plan| plan.lab.trial.single_ios = true), with("single_ios"));
    let tar = |plan: &mut Plan| {
        let Some(WorkloadParams::Mail(mail)) = plan.lab.workloads[0].parts.first_mut() else {
            panic!("a mail workload")
        };
        mail.tar = Some("a.tar".into());
    };
    assert_eq!(made(tar), with("tar"));
}

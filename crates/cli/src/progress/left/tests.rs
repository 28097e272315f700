use super::*;
use seekwell_model::plan::BackendFacts;
use seekwell_runner::order::{self, Expanded};

fn plan() -> Plan {
    let lab = "[[filesystem]]\ntype = \"ext4\"\n[scheduler]\nchoose = [\"none\", \"bfq\"]\n\
               [[workload]]\nkind = \"command\"\nrun = \"true {dir}\"\n\
               [judge]\nmetric = \"command.elapsed\"\nrounds = 6\n";
    let file = seekwell_spec::read_lab_bytes(lab.as_bytes(), "lab.toml").unwrap();
    let facts = BackendFacts::default();
    let expansion = seekwell_spec::expand(&file, &facts).unwrap();
    let expanded = Expanded {
        stacks: expansion.stacks,
        candidates: expansion.candidates,
        left_out: vec![],
        warnings: vec![],
    };
    order::plan(&file.lab, expanded, &facts).unwrap()
}

#[test]
fn before_every_candidate_has_run_nothing_better_is_known() {
    let plan = plan();
    let mut left = TimeLeft::new(&plan);
    assert_eq!(left.began(&plan.trials[0]), None);
    left.spent = vec![(10, 1), (0, 0)];
    assert_eq!(left.began(&plan.trials[1]), None);
}

#[test]
fn each_candidate_counts_with_its_own_mean() {
    let plan = plan();
    let mut left = TimeLeft::new(&plan);
    // A slow candidate of 100 ns and a fast one of 1 ns, the slow one seen twice.
    left.spent = vec![(200, 2), (1, 1)];
    for trial in &plan.trials[2..] {
        let rest = plan.trials.iter().filter(|other| other.index >= trial.index);
        let expected: u64 = rest.map(|other| if other.candidate == 0 { 100 } else { 1 }).sum();
        assert_eq!(left.began(trial), Some(expected), "trial {}", trial.index);
    }
}

#[test]
fn the_time_of_an_image_is_not_that_of_a_trial() {
    let plan = plan();
    let mut left = TimeLeft::new(&plan);
    left.began(&plan.trials[0]);
    let hour = std::time::Duration::from_secs(3600);
    left.current = left.current.map(|(candidate, begun)| (candidate, begun - hour));
    left.began_now();
    left.ended();
    let (time, count) = left.spent[plan.trials[0].candidate as usize];
    assert!(u128::from(time) < hour.as_nanos() && count == 1, "{time} ns, {count}");
}

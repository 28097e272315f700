use super::*;
use seekwell_stats::seeded;

/// 8 stacks over 12 rounds with noise of 3 %; `more` adds to the logarithm of a value.
fn trials(more: impl Fn(&Trial, f64) -> f64) -> Vec<Trial> {
    let mut random = seeded(11);
    let mut made = Vec::new();
    for round in 0..12 {
        let of_round = random.normal();
        for stack in 0..8 {
            let mut trial = Trial {
                candidate: stack,
                round,
                value: 0.1 * stack as f64 + 0.03 * random.normal(),
                cpu: Some(20.0 + 10.0 * random.normal()),
                device: Some(1.0 + 0.1 * random.normal()),
                place: ((stack + round * 3) % 8) as f64,
            };
            trial.value += more(&trial, of_round);
            made.push(trial);
        }
    }
    made
}

fn told(trials: &[Trial], step_s: f64) -> String {
    budget(trials, Some(step_s)).join("\n")
}

#[test]
fn noise_that_goes_with_nothing_asks_for_more_work_in_a_short_step_and_else_for_rounds() {
    let text = told(&trials(|_, _| 0.0), 0.1);
    assert!(text.starts_with("Trials of one stack vary by 2.8 % (standard deviation)"), "{text}");
    assert!(!text.contains("of the variance"), "{text}");
    assert!(text.ends_with("give the judged step 5 times the work; it takes 100 ms, and no other cause of the noise was found"), "{text}");
    let text = told(&trials(|_, _| 0.0), 2.0);
    assert!(text.contains("To reduce the noise: run more rounds"), "{text}");
}

#[test]
fn a_busy_cpu_is_named_with_its_share_and_the_way_out() {
    // 0.03 from the CPU and 0.03 of the trial's own: half of the variance each.
    let busy = trials(|trial, _| 0.003 * (trial.cpu.unwrap() - 20.0));
    let share = explained(&busy, &rest(&busy), |trial: &Trial| trial.cpu).unwrap();
    assert!((0.4..0.62).contains(&share), "{share}");
    let text = told(&busy, 0.1);
    assert!(text.contains("of the variance follows the load on the CPUs"), "{text}");
    assert!(text.contains("To reduce the noise: stop other programs"), "{text}");
    // Not observed in every trial: nothing is said of it.
    let mut unseen = busy;
    unseen[3].cpu = None;
    assert!(!told(&unseen, 0.1).contains("CPUs"));
}

fn rest(trials: &[Trial]) -> Vec<f64> {
    let values: Vec<f64> = trials.iter().map(|trial| trial.value).collect();
    let of_stack = centred(trials, &values, |trial| trial.candidate);
    centred(trials, &of_stack, |trial| trial.round)
}

#[test]
fn what_is_common_to_a_round_is_told_to_cancel() {
    let text = told(&trials(|_, of_round| 0.06 * of_round), 2.0);
    assert!(text.contains("shared by all stacks of a round"), "{text}");
    assert!(text.contains("run more rounds"), "{text}");
}

#[test]
fn a_source_of_pure_noise_is_named_in_few_runs() {
    let mut named = 0;
    for seed in 0..200 {
        let mut random = seeded(seed);
        let mut made = trials(|_, _| 0.0);
        made.iter_mut().for_each(|trial| trial.value = random.normal());
        named += usize::from(told(&made, 2.0).contains("of the variance"));
    }
    // Four sources at 1 % each.
    assert!(named <= 16, "{named} of 200");
}

#[test]
fn values_that_never_vary_have_no_budget() {
    let mut equal = trials(|_, _| 0.0);
    equal.iter_mut().for_each(|trial| trial.value = 1.0);
    assert_eq!(budget(&equal, Some(1.0)), Vec::<String>::new());
}

use super::*;

fn on_slurm(backend: &str, options: &[&str]) -> Options {
    let options = options.iter().map(|option| (*option).to_owned()).collect();
    let workers = Workers::Slurm { tasks: 40, options };
    Options {
        cluster: Some(OnCluster { workers, stop: Arc::default(), say: Say::default() }),
        ..Options::of(backend)
    }
}

fn again(options: &Options) -> String {
    options.again().join(" ")
}

#[test]
fn a_run_is_continued_where_it_ran() {
    assert_eq!(again(&Options::of("host")), "");
    assert_eq!(again(&Options::of("virtual")), "--place virtual");
    let changes = vec![Change::new("ram", "fixed.parallel", 2.0)];
    let guests = Options { changes, check: true, ..Options::of("virtual") };
    assert_eq!(again(&guests), "--place virtual --set ram:fixed.parallel=2 --check");
    let given = ["--partition=batch", "--account=a", "--time=60"];
    let expected = "--on slurm --nodes 40 --partition=batch --account=a --sbatch=--time=60";
    assert_eq!(again(&on_slurm("virtual", &given)), expected);
    assert_eq!(again(&on_slurm("host", &[])), "--place host --on slurm --nodes 40");
    let local = Options { scratch: Some("/local".into()), ..on_slurm("host", &[]) };
    assert_eq!(again(&local), "--place host --on slurm --nodes 40 --scratch /local");
    let others = OnCluster { workers: Workers::Others, stop: Arc::default(), say: Say::default() };
    let pods = Options { cluster: Some(others), ..Options::of("virtual") };
    assert_eq!(again(&pods), "--on workers");
}

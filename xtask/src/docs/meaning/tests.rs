use super::*;
use seekwell_model::lab::Workload;
use seekwell_spec::draft::{Answers, FRUGALITIES, RUNS, lab_text};
use seekwell_spec::read_lab_bytes;

/// The kind whose step a metric `STEP.METRIC` judges, and the metric's name.
fn judged(workload: &Workload, path: &str) -> Option<(String, String)> {
    let (step, metric) = path.split_once('.')?;
    let outline = workload.outlines().into_iter().find(|one| one.outline.name == step)?;
    let side = if outline.beside { &workload.beside } else { &workload.parts };
    Some((side.get(outline.part)?.kind_name().to_owned(), metric.to_owned()))
}

fn assert_covered(audit: &Audit, text: &str, name: &str) {
    let file = read_lab_bytes(text.as_bytes(), name).unwrap();
    let path = &file.lab.judge.metric;
    let found: Vec<_> =
        file.lab.workloads.iter().filter_map(|workload| judged(workload, path)).collect();
    assert!(!found.is_empty(), "{name}: {path} is of no workload");
    for (kind, metric) in found {
        // What a command prints itself is the user's.
        let own = kind == "command" && seekwell_model::metrics::metric(&metric).is_none();
        let covers = |row: &Row| row.kind == kind && row.metrics.contains(&metric);
        assert!(own || audit.row.iter().any(covers), "{name} judges {kind} by {metric}: no row");
    }
}

/// Lab files below a folder; beside those of the studies are claims and how they are measured.
fn labs(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(labs(&path));
        } else if name.ends_with(".toml")
            && !name.ends_with(".measure.toml")
            && name != "claims.toml"
        {
            found.push(path);
        }
    }
    found
}

#[test]
fn every_metric_that_a_lab_judges_has_a_row() {
    let audit = audit();
    let all = labs(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../labs"));
    for path in &all {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert_covered(&audit, &std::fs::read_to_string(path).unwrap(), &name);
    }
    let replicated = all.iter().filter(|path| path.to_string_lossy().contains("/replicate/"));
    assert!(all.len() >= 50 && replicated.count() >= 25, "{}", all.len());
}

#[test]
fn every_kind_and_every_step_of_a_trial_has_a_row_or_a_reason() {
    let audit = audit();
    let names: Vec<&str> = audit.unaudited.iter().map(|one| one.name.as_str()).collect();
    let has_row = |kind: &str| audit.row.iter().any(|row| row.kind == kind);
    let kinds = seekwell_model::workloads::WORKLOAD_KINDS.iter().map(|kind| kind.name);
    let steps = seekwell_model::workloads::HOUSEKEEPING_STEPS.iter().copied();
    for name in kinds.chain(steps).chain([seekwell_model::power_cut::STEP]) {
        assert!(has_row(name) != names.contains(&name), "{name}: a row or a reason, not both");
    }
    assert!(audit.unaudited.iter().all(|one| one.why.ends_with('.')));
}

/// A figure belongs to metrics, not to a row: one of another metric shows nothing.
#[test]
fn every_metric_of_a_row_has_a_figure_or_a_reason() {
    for row in audit().row {
        let Row { kind, metrics, figures, without, .. } = &row;
        let has_figure =
            |metric: &String| figures.iter().any(|figure| figure.metrics.contains(metric));
        let has_reason = |metric: &String| without.iter().any(|one| one.metric == *metric);
        for metric in metrics {
            assert!(
                has_figure(metric) || has_reason(metric),
                "{kind}.{metric}: no figure of its own"
            );
        }
        let named = figures.iter().flat_map(|figure| &figure.metrics);
        for metric in named.chain(without.iter().map(|one| &one.metric)) {
            assert!(metrics.contains(metric), "{kind}: {metric} is not in the row");
        }
        assert!(without.iter().all(|one| !one.why.ends_with('.')), "{kind}");
    }
}

#[test]
fn every_metric_that_a_drafted_lab_judges_has_a_row() {
    let audit = audit();
    for (runs, _) in RUNS.choices {
        for matters in ["throughput", "waiting"] {
            let list = [*runs, "scratch", "usual", "nothing", matters, "10min"].map(str::to_owned);
            let answers = Answers::from_list(list);
            let text = lab_text("mine", &answers, FRUGALITIES[0], None);
            assert_covered(&audit, &text, &format!("init --runs {runs} --matters {matters}"));
        }
    }
}

#[test]
fn every_row_names_metrics_of_its_kind_and_has_a_figure_or_says_why_not() {
    for row in audit().row {
        let kind = seekwell_model::workloads::workload_kind(&row.kind);
        assert!(kind.is_some(), "{} is no kind", row.kind);
        for metric in &row.metrics {
            assert!(seekwell_model::metrics::metric(metric).is_some(), "{metric} is no metric");
        }
        assert!(row.figures.is_empty() == row.missing.is_some(), "{} {:?}", row.kind, row.metrics);
        for sentence in [&row.believed, &row.measured] {
            assert!(sentence.ends_with('.'), "{sentence}");
        }
    }
}

#[test]
fn every_row_has_figures_that_were_measured_and_explains_those_that_are_far() {
    for row in audit().row {
        let Row { kind, metrics, .. } = &row;
        assert!(!row.figures.is_empty(), "{kind} {metrics:?}: no independent figure");
        for figure in &row.figures {
            let Some(found) = found(figure) else { panic!("{}: not measured", figure.pairs) };
            let is_near = (found.ratio - 1.0).abs() <= NEAR;
            assert!(is_near || figure.note.is_some(), "{}: {:.3}", figure.pairs, found.ratio);
        }
    }
}

#[test]
fn the_page_counts_its_figures_and_folds_each_kind() {
    let (audit, page) = (audit(), markdown());
    let kinds: std::collections::BTreeSet<&str> =
        audit.row.iter().map(|row| row.kind.as_str()).collect();
    for mark in ["<details>", "</details>"] {
        assert_eq!(
            page.matches(mark).count(),
            kinds.len() + 1,
            "each kind, and those without a row"
        );
    }
    let figures: Vec<&Figure> = audit.row.iter().flat_map(|row| &row.figures).collect();
    let far = figures.iter().filter(|one| (found(one).unwrap().ratio - 1.0).abs() > NEAR).count();
    let said = format!("**{} of {} figures are within 10 %", figures.len() - far, figures.len());
    assert!(page.contains(&said), "{said}");
}

#[test]
fn figures_are_those_of_the_raw_pairs() {
    let found = of_pairs("round,ours,original\n0,2,1\n1,8,4\n2,4,2\n").unwrap();
    assert_eq!(found.pairs, 3);
    assert!((found.ratio - 2.0).abs() < 1e-12 && (found.ours - 4.0).abs() < 1e-9);
    assert!((found.theirs - 2.0).abs() < 1e-9);
    assert!(of_pairs("round,ours,original\n0,2,1\n").is_none());
    assert!(of_pairs("").is_none());
}

#[test]
fn numbers_have_three_digits() {
    assert_eq!([three(5812.4), three(94.71), three(0.012_34)], ["5812", "94.7", "0.0123"]);
}

use super::*;
use crate::claims::{self, Form};
use crate::{CLAIMS, FILES, STUDY_END};
use seekwell_model::replication::ValueUse;

fn frozen() -> Claims {
    let (name, text) = FILES.iter().find(|(name, _)| *name == CLAIMS).unwrap();
    claims::read(name, text).unwrap()
}

fn wrong(text: &str) -> String {
    read("x.toml", &format!("study = \"003\"\n{text}"), &frozen()).unwrap_err().to_string()
}

#[test]
fn a_claim_with_a_test_is_not_one_that_cannot_be_tested() {
    let text = "[[test]]\nclaim = \"003.fragments\"\nall = [{ value = \"1\" }]\n[[cannot]]\nof = \"003.fragments\"\ntext = \"no\"\n";
    assert!(
        wrong(text).contains("'003.fragments' has a test and cannot be tested"),
        "{}",
        wrong(text)
    );
}

#[test]
fn every_study_is_read_and_says_of_every_claim_how_it_is_tested_or_why_not() {
    let claims = frozen();
    for (name, text) in FILES.iter().filter(|(name, _)| name.ends_with(STUDY_END)) {
        let study = read(name, text, &claims).unwrap();
        for claim in claims.of_study(&study.key) {
            if matches!(claim.form, Form::Cannot { .. })
                || study.not_measured.contains_key(&claim.id)
                || study.cannot.contains_key(&claim.id)
            {
                continue;
            }
            for needed in claim.form.names() {
                let said = study.measures.contains_key(needed)
                    || study.not_measured.contains_key(needed)
                    || study.cannot.contains_key(needed);
                assert!(said, "{name}: {} needs {needed}", claim.id);
            }
            match &claim.form {
                Form::Sign { .. } | Form::Range { .. } => {
                    assert!(study.tests.contains_key(&claim.id), "{name}: {}", claim.id);
                }
                Form::Cross { curves } => {
                    for curve in curves {
                        assert!(study.curves.contains_key(curve), "{name}: {curve}");
                    }
                }
                _ => {}
            }
        }
        for lab in &study.labs {
            for file in [&lab.whole, &lab.quick].into_iter().flatten() {
                assert!(FILES.iter().any(|(name, _)| *name == format!("{file}.toml")), "{file}");
            }
        }
    }
}

#[test]
fn every_fit_reads_a_value_that_is_for_fitting() {
    let claims = frozen();
    let values = claims.fit_values();
    for (name, text) in FILES.iter().filter(|(name, _)| name.ends_with(STUDY_END)) {
        for fit in &read(name, text, &claims).unwrap().fits {
            assert!(values.get(&fit.value).is_ok(), "{name}: {}", fit.value);
            assert!(fit.range[0] < fit.range[1] && fit.step > 0.0, "{name}: {}", fit.parameter);
        }
    }
}

#[test]
fn mistakes_are_said_with_their_line() {
    let lab = "[[lab]]\nname = \"l\"\n";
    assert_eq!(
        wrong("[[measure]]\nid = \"a\"\nlab = \"other\"\nvalue = \"1\""),
        "x.toml:3: 'other' is not a [[lab]] of this file"
    );
    assert_eq!(
        wrong("[[measure]]\nid = \"a\"\nvalue = \"[s.elapsed]\""),
        "x.toml:3: a reads a step and names no lab"
    );
    assert_eq!(
        wrong(&format!("{lab}[[measure]]\nid = \"a\"\nlab = \"l\"\nvalue = \"(1\"")),
        "x.toml:7: the formula '(1' lacks a closing parenthesis"
    );
    assert_eq!(
        wrong("[[measure]]\nid = \"a\"\nvalue = \"{b}\""),
        "x.toml:1: a needs b, which nothing measures"
    );
    let circle =
        "[[measure]]\nid = \"a\"\nvalue = \"{b}\"\n[[measure]]\nid = \"b\"\nvalue = \"{a}\"";
    assert_eq!(wrong(circle), "x.toml:1: a needs itself");
    assert_eq!(
        wrong("[[test]]\nclaim = \"003.nothing\""),
        "x.toml:3: '003.nothing' is not a claim of the study"
    );
    assert_eq!(
        wrong("[[also]]\nof = \"003.fragments\"\nsays = \"s\"\nvalue = \"[s.elapsed]\""),
        "x.toml:5: measures in {…} are compared here; give the step a [[measure]]"
    );
    assert_eq!(
        wrong("[[reason]]\nof = \"003.nothing\"\ntext = \"t\""),
        "x.toml:3: '003.nothing' is neither a claim nor a value"
    );
    let cells = |of: &str| {
        let curve = "[[curve]]\nname = \"a\"\nvalue = \"$\"\npoints = [[\"x\", \"1\"]]\n";
        wrong(&format!(
            "{curve}[[test]]\nclaim = \"003.fragments\"\ncells = [{{ above = 1, {of} }}]"
        ))
    };
    assert_eq!(cells("of = [\"b.*\"], count = \"one\""), "x.toml:7: nothing measures b.*");
    assert_eq!(
        cells("of = [\"a.*\"], count = \"most-in\""),
        "x.toml:7: count = \"most-in\" and most_in belong together"
    );
    assert!(wrong("odd = 1").starts_with("x.toml:2: unknown field `odd`"));
}

#[test]
fn a_grid_is_a_measure_for_each_combination() {
    let text = "study = \"003\"\n[[lab]]\nname = \"l\"\n[[grid]]\nid = \"$filesystem.$scheduler\"\nlab = \"l\"\nstack = { device = \"d\" }\nover = { filesystem = [\"a\", \"b\"], scheduler = [\"x\", \"y\"] }\nvalue = \"[s.elapsed]\"\n";
    let study = read("x.toml", text, &frozen()).unwrap();
    let names: Vec<&str> = study.measures.keys().map(String::as_str).collect();
    assert_eq!(names, ["a.x", "a.y", "b.x", "b.y"]);
    let stack = &study.measures["b.x"].stack;
    assert_eq!(stack.device.as_deref(), Some("d"));
    assert_eq!((stack.filesystem.as_deref(), stack.scheduler.as_deref()), (Some("b"), Some("x")));
}

#[test]
fn words_of_a_grid_stand_in_name_and_formula_and_are_no_axis() {
    let text = "study = \"003\"\n[[lab]]\nname = \"l\"\n[[grid]]\nid = \"$test.$filesystem\"\nlab = \"l\"\nover = { filesystem = [\"a\"], words = { test = [\"read\", \"reread\"] } }\nvalue = \"[$test-4k.elapsed]\"\n[[grid]]\nid = \"twice.$test\"\nover = { words = { test = [\"read\", \"reread\"] } }\nvalue = \"{$test.a} * 2\"\n";
    let study = read("x.toml", text, &frozen()).unwrap();
    let names: Vec<&str> = study.measures.keys().map(String::as_str).collect();
    assert_eq!(names, ["read.a", "reread.a", "twice.read", "twice.reread"]);
    let measure = &study.measures["reread.a"];
    assert_eq!(measure.formula.text, "[reread-4k.elapsed]");
    assert_eq!(measure.stack.filesystem.as_deref(), Some("a"));
    assert_eq!(study.measures["twice.reread"].formula.text, "{reread.a} * 2");
}

#[test]
fn each_predicted_value_has_a_name_in_a_picture() {
    let claims = frozen();
    for (name, text) in FILES.iter().filter(|(name, _)| name.ends_with(STUDY_END)) {
        let study = read(name, text, &claims).unwrap();
        let bars: Vec<_> = study.page.panels.iter().flat_map(|panel| &panel.bars).collect();
        let predicted = claims.values(&study.key).filter(|value| value.usage == ValueUse::Predict);
        for value in predicted {
            let shown = bars.iter().filter(|bar| bar.value.as_deref() == Some(value.id()));
            assert_eq!(shown.count(), 1, "{}", value.id());
        }
        assert!(!study.page.asked.is_empty() && study.page.findings.len() >= 3, "{name}");
    }
}

#[test]
fn what_is_wrong_in_a_page_is_named_by_its_line() {
    for (page, problem) in [
        ("findings = [\"[[{odd}]]\"]", "x.toml:4: nothing measures odd"),
        ("findings = [\"takes [[1 + 1\"]", "x.toml:4: a figure lacks its ]]"),
        ("findings = [\"[[[s.elapsed]]]\"]", "x.toml:4: the formula '[s.elapsed' lacks a ']'"),
        (
            "panel = [{ title = \"t\", bars = [{ name = \"n\", value = \"003.odd\" }] }]",
            "x.toml:4: '003.odd' is not a published value",
        ),
        (
            "panel = [{ title = \"t\", lines = [{ name = \"n\", at = { odd = \"1\" } }] }]",
            "x.toml:4: 'odd' is not a tick of the panel",
        ),
    ] {
        assert_eq!(wrong(&format!("[page]\nasked = \"a\"\n{page}\n")), problem);
    }
}

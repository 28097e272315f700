use super::*;

struct Scripted;

impl Source for Scripted {
    fn path(&self, path: &str) -> Option<f64> {
        (path == "step-a.elapsed").then_some(8.0)
    }

    fn measure(&self, name: &str) -> Option<f64> {
        match name {
            "a.1" => Some(1.0),
            "a.2" => Some(4.0),
            "a.3" => Some(9.0),
            "b.1" => Some(10.0),
            "b.2" => Some(30.0),
            "b.3" => Some(20.0),
            _ => None,
        }
    }

    fn group(&self, begin: &str) -> Vec<String> {
        let names = ["a.1", "a.2", "a.3", "b.1", "b.2", "b.3"];
        names.iter().filter(|name| name.starts_with(begin)).map(|name| (*name).to_owned()).collect()
    }
}

fn value(text: &str) -> Option<f64> {
    parse(text).unwrap().value(&Scripted)
}

#[test]
fn arithmetic_is_what_it_is_at_school() {
    assert_eq!(value("1 + 2 * 3 - 4 / 2"), Some(5.0));
    assert_eq!(value("(1 + 2) * 3"), Some(9.0));
    assert_eq!(value("10 - 3 - 2"), Some(5.0));
    assert_eq!(value("100_000 / 8"), Some(12_500.0));
    assert_eq!(value("[step-a.elapsed] / {a.2}"), Some(2.0));
}

#[test]
fn functions_take_groups() {
    assert_eq!(value("max({a.*})"), Some(9.0));
    assert_eq!(value("min({a.*}, 0.5)"), Some(0.5));
    // Orders 1 2 3 and 1 3 2: two of three pairs agree.
    assert!((value("tau({a.*}, {b.*})").unwrap() - 1.0 / 3.0).abs() < 1e-12);
}

#[test]
fn what_is_unknown_makes_all_of_it_unknown() {
    assert_eq!(value("{nothing} * 0"), None);
    assert_eq!(value("[other.elapsed] + 1"), None);
    assert_eq!(value("max({a.*}, {nothing})"), None);
    assert_eq!(value("1 / 0"), None);
    assert_eq!(value("tau({a.*}, {a.1})"), None);
}

#[test]
fn mistakes_are_said() {
    let problem = |text: &str| parse(text).unwrap_err().to_string();
    assert_eq!(
        problem("1 +"),
        "the formula '1 +' has '' where a number, [STEP.METRIC], {MEASURE} or a function is expected"
    );
    assert_eq!(problem("(1"), "the formula '(1' lacks a closing parenthesis");
    assert_eq!(problem("{a"), "the formula '{a' lacks a '}'");
    assert_eq!(
        problem("1 2"),
        "the formula '1 2' has '2' where an operator or its end is expected"
    );
    assert_eq!(
        problem("max"),
        "the formula 'max' names a function without its arguments in parentheses"
    );
    let deep = format!("{}1{}", "(".repeat(40), ")".repeat(40));
    assert!(problem(&deep).ends_with("is nested too deeply"));
}

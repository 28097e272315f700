use super::*;

const LAB: &str = "# words\n[lab]\nname = \"l\"\n[[device]]\nname = \"a\"\n[[device]]\nname = \"b\"\n[[exclude]]\ndevice = \"a\"\n[[stack]]\ndevice = \"b\"\n[judge]\nrounds = 6\n";

#[test]
fn only_the_named_stacks_are_left_and_all_else_stays() {
    let only =
        Match { device: Some("a".into()), scheduler: Some("bfq".into()), ..Match::default() };
    let lab: Table = narrowed(LAB, &only).unwrap().parse().unwrap();
    assert_eq!(lab["lab"]["stacks_only"], Value::Boolean(true));
    assert_eq!(lab["lab"]["name"].as_str(), Some("l"));
    let stacks = lab["stack"].as_array().unwrap();
    assert_eq!(stacks.len(), 1);
    assert_eq!(stacks[0]["device"].as_str(), Some("a"));
    assert_eq!(stacks[0]["scheduler"].as_str(), Some("bfq"));
    assert!(!lab.contains_key("exclude"));
    assert_eq!(lab["device"].as_array().unwrap().len(), 2);
    assert_eq!(lab["judge"]["rounds"].as_integer(), Some(6));
}

#[test]
fn a_measure_of_every_stack_leaves_the_lab_as_it_is() {
    assert_eq!(narrowed(LAB, &Match::default()).unwrap(), LAB);
    assert!(narrowed("[lab", &Match { device: Some("a".into()), ..Match::default() }).is_err());
}

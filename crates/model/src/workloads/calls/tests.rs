use super::*;

#[test]
fn each_call_is_read_back_from_its_text() {
    for (kind, word, paths, numbers) in FORMS {
        let text = [word, "A/foo", "B/bar"][..=paths].join(" ");
        let text = [&*text, "512", "4096"][..=numbers].join(" ");
        let call: Call = text.parse().unwrap();
        assert_eq!((call.kind, call.to_string()), (kind, text));
        assert_eq!(call.to.is_some(), paths == 2);
    }
}

#[test]
fn what_is_no_call_or_leaves_its_directory_is_refused() {
    for (text, problem) in [
        ("chmod a", "begins with none of"),
        ("", "begins with none of"),
        ("link a", "takes 2 paths"),
        ("sync a", "takes 0 paths"),
        ("write a 0 x", "no number of bytes"),
        ("write a 0 99999999999", "ends beyond"),
        ("creat ../a", "no path below"),
        ("creat /a", "no path below"),
        ("rename a b/./c", "no path below"),
    ] {
        let found = text.parse::<Call>().unwrap_err();
        assert!(found.contains(problem), "{text}: {found}");
    }
}

#[test]
fn a_lab_names_sequences() {
    let mut values = Values::default();
    let text = "creat a; write a 0 4096; fsync a";
    values.set("run", crate::field::Value::List(vec![text.to_owned()]));
    let Ok(WorkloadParams::Calls(calls)) = CALLS.params(&values) else { panic!("not calls") };
    assert_eq!(calls.run.iter().map(|one| sequence_text(one)).collect::<Vec<_>>(), [text]);
    assert_eq!(calls.steps()[0].operations, Some(3));
    let kept = serde_json::to_string(&calls).unwrap();
    assert_eq!(serde_json::from_str::<CallsParams>(&kept).unwrap(), calls);
}

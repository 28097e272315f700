use super::*;
use crate::{CLAIMS, FILES};

const HEAD: &str = "frozen = \"2026-01-01\"\n[[study]]\nkey = \"9\"\ntitle = \"t\"\nauthor = \"a\"\nkernel = \"k\"\nstands_for = \"s\"\n";

fn value(id: &str, rest: &str) -> String {
    format!("[[value]]\nid = \"{id}\"\ngroup = \"g\"\nunit = \"s\"\nline = 1\n{rest}\n")
}

fn wrong(text: &str) -> String {
    read("x.toml", &format!("{HEAD}{text}")).unwrap_err().to_string()
}

fn frozen() -> Claims {
    let (name, text) = FILES.iter().find(|(name, _)| *name == CLAIMS).unwrap();
    read(name, text).unwrap()
}

#[test]
fn the_frozen_file_is_read() {
    let claims = frozen();
    assert_eq!(claims.frozen, "2026-11-20");
    assert_eq!(claims.values.len(), 74);
    assert_eq!(claims.claims.len(), 104);
    let keys: Vec<&str> = claims.studies.iter().map(|study| study.key.as_str()).collect();
    assert_eq!(keys, ["000", "001", "002", "003", "004"]);
}

#[test]
fn a_fit_is_handed_nothing_that_must_be_predicted() {
    let claims = frozen();
    let values = claims.fit_values();
    assert_eq!(values.get("003.raw.elapsed"), Ok(1478.523379));
    let withheld = FitValueError::Withheld("003.ext3.direct.elapsed".to_owned());
    assert_eq!(values.get("003.ext3.direct.elapsed"), Err(withheld));
    assert_eq!(values.get("nothing"), Err(FitValueError::Unknown("nothing".to_owned())));
    for value in &claims.values {
        assert_eq!(values.get(value.id()).is_ok(), value.usage == ValueUse::Fit, "{}", value.id());
    }
    // Not even inside: the numbers to be predicted are nowhere in what a fit holds.
    let inside = format!("{values:?}");
    let fit: Vec<f64> = values.published.iter().map(|(_, number)| *number).collect();
    for value in claims.values.iter().filter(|value| value.usage == ValueUse::Predict) {
        let told = inside.contains(&format!(", {:?})", value.value));
        assert!(!told || fit.contains(&value.value), "{}", value.id());
    }
}

#[test]
fn mistakes_are_said_with_their_line() {
    let two = [value("9.a", "value = 1\nuse = \"fit\""), value("9.a", "value = 1\nuse = \"fit\"")];
    assert_eq!(
        wrong(&two.concat()),
        "x.toml:16:duplicate name 9.a; rename one of them".replace(":16:", ":16: ")
    );
    let stray = value("8.a", "value = 1\nuse = \"fit\"");
    assert_eq!(wrong(&stray), "x.toml:9: 8.a belongs to no study in this file");
    let known = value("9.a", "value = 1\nuse = \"fit\"");
    let claim = |rest: &str| {
        wrong(&format!("{known}[[claim]]\nid = \"9.c\"\nline = 1\nsays = \"s\"\n{rest}\n"))
    };
    assert_eq!(
        claim("lab = \"l\"\nform = \"ratio\"\nof = \"9.a\""),
        "x.toml:20: 9.c has form ratio but no `over`"
    );
    assert_eq!(
        claim("form = \"range\"\nlow = 1\nhigh = 2"),
        "x.toml:19: 9.c has no `lab`; name the lab that measures it"
    );
    assert!(
        claim("form = \"guess\"")
            .starts_with("x.toml:19: 9.c has the unknown form 'guess'; use order")
    );
    assert!(claim("form = \"sign\"\nodd = 1").starts_with("x.toml:20: unknown field `odd`"));
}

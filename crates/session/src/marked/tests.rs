use super::*;
use seekwell_model::warning::{Severity, WARNINGS};

#[test]
fn every_mark_names_a_key_of_the_lab() {
    for definition in WARNINGS.iter().filter(|one| one.severity == Severity::NotRanked) {
        let has_key = KEYS.iter().any(|(code, _)| code.definition().code == definition.code);
        assert!(has_key, "{}", definition.code);
    }
    let mark =
        Warning::new(WarningCode::ServedFromCache, "delivery: 4 MB read, 1 MB by the device");
    assert_eq!(
        sentence(6, &mark),
        "none of 6 trials can be ranked, all are marked served-from-cache (delivery: 4 MB read, 1 MB by the device); change `cache` or the amount of data in [[workload]]: read with cache = \"direct\", or more data than the memory holds"
    );
}

use super::*;

fn range(start: u64, bytes: u64) -> DataRange {
    DataRange { start, bytes }
}

#[test]
fn ranges_come_out_as_they_went_in_and_others_end_the_list() {
    let ranges = vec![range(4096, 8192), range(12_288, 1), range(1 << 40, 1 << 40)];
    let stored = DataRange::stored(&ranges).unwrap();
    assert_eq!(stored, "4096+8192 12288+1 1099511627776+1099511627776");
    assert_eq!(DataRange::read(&stored), ranges);
    assert_eq!(DataRange::stored(&[]), None);
    for (damaged, read) in [
        ("", 0),
        ("no", 0),
        ("0+0", 0),
        ("-1+5", 0),
        ("0+4096 4095+1", 1),
        ("8192+1 0+1", 1),
        ("18446744073709551615+2 0+1", 1),
    ] {
        assert_eq!(DataRange::read(damaged).len(), read, "{damaged}");
    }
    assert_eq!(DataRange::read("0+1 1+1 ").len(), 2);
    let many: Vec<DataRange> = (0..2_000).map(|nth| range(nth * 10, 5)).collect();
    assert_eq!(DataRange::read(&DataRange::stored(&many).unwrap()).len(), DataRange::MOST);
}

#[test]
fn attributes_come_out_as_they_went_in() {
    let named = |name: &str, bytes| InitialAttribute { name: name.to_owned(), bytes };
    let all = vec![named("user.a b", 0), named("system.posix_acl_access", 44)];
    let stored = InitialAttribute::stored(&all).unwrap();
    assert_eq!(InitialAttribute::read(&stored), all);
    assert_eq!(InitialAttribute::read("no length\n5 user.a\n-1 user.b"), [named("user.a", 5)]);
}

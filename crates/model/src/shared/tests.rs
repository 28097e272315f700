use super::*;

#[test]
fn equal_values_share_memory_until_one_changes() {
    let mut pool = Pool::default();
    let mut all = [vec![1, 2], vec![3], vec![1, 2]].map(Shared::from);
    all.iter_mut().for_each(|one| one.share(&mut pool));
    assert!(Arc::ptr_eq(&all[0].0, &all[2].0));
    assert!(!Arc::ptr_eq(&all[0].0, &all[1].0));
    all[2].push(9);
    assert_eq!(all, [vec![1, 2], vec![3], vec![1, 2, 9]].map(Shared::from));
}

#[test]
fn its_text_is_that_of_the_value() {
    let shared = Shared::from(vec![1, 2]);
    let text = serde_json::to_string(&shared).unwrap();
    assert_eq!(text, "[1,2]");
    assert_eq!(serde_json::from_str::<Shared<Vec<i32>>>(&text).unwrap(), shared);
}

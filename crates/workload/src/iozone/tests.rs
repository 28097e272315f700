use super::*;
use seekwell_model::workloads::iozone::IOZONE_PASSES;

fn order(name: &str, records: u64, stride: u64) -> Vec<u64> {
    let pass = IOZONE_PASSES.iter().find(|pass| pass.name == name).unwrap();
    Order::new(pass, records, stride, 7).collect()
}

#[test]
fn every_order_but_the_record_rewrite_visits_each_record_once() {
    for pass in IOZONE_PASSES.iter().filter(|pass| pass.test != 4) {
        let mut all = order(pass.name, 100, 17);
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<u64>>(), "{}", pass.name);
    }
    assert_eq!(order("record-rewrite", 3, 17), [0, 0, 0]);
}

#[test]
fn backward_strided_and_random_are_what_they_are_called() {
    assert_eq!(order("backward-read", 3, 17), [2, 1, 0]);
    assert_eq!(order("stride-read", 7, 3), [0, 3, 6, 1, 4, 2, 5]);
    assert_ne!(order("random-read", 100, 17), (0..100).collect::<Vec<u64>>());
}

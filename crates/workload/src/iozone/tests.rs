use super::*;
use seekwell_model::workloads::iozone::IOZONE_PASSES;

#[test]
fn every_order_visits_each_record_once_and_the_random_ones_in_another_order() {
    for pass in IOZONE_PASSES {
        let order: Vec<u64> = Order::new(pass, 100, 7).collect();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<u64>>(), "{}", pass.name);
        assert_eq!(order != sorted, pass.test == 2, "{}", pass.name);
    }
}

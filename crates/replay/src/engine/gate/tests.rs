use super::Gate;

#[test]
fn threads_pass_together_or_not_at_all() {
    for all_come in [true, false] {
        let gate = Gate::new(3);
        let passed: Vec<bool> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..2).map(|_| scope.spawn(|| gate.pass())).collect();
            if all_come {
                assert!(gate.pass());
            } else {
                gate.give_up();
            }
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(passed, [all_come; 2]);
    }
}

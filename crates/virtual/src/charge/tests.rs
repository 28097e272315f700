use super::*;

#[test]
fn a_charge_is_read_as_it_is_shown() {
    let charge = CpuCharge { syscall_ns: 310, copy_ns_per_kib: 42, ..CpuCharge::default() };
    assert_eq!(charge.to_string(), "310,42");
    assert_eq!("310,42".parse(), Ok(charge));
    assert_eq!(" 310 , 42".parse(), Ok(charge));
    let work = WorkCharge { cipher: 400, parity: 30, ..WorkCharge::default() };
    let charge = CpuCharge { work, ..charge };
    assert_eq!(charge.to_string(), "310,42,cipher=400,parity=30");
    assert_eq!("310,42,parity=30, cipher=400".parse(), Ok(charge));
}

#[test]
fn what_is_no_charge_is_refused_in_words() {
    let message = |text: &str| text.parse::<CpuCharge>().unwrap_err().to_string();
    assert_eq!(
        message("300"),
        "'300' is not a CPU charge; write NANOSECONDS PER CALL,NANOSECONDS PER KIB, for example 300,40"
    );
    assert_eq!(
        message("300,x"),
        "'x' is not a number of nanoseconds: invalid digit found in string; write for example 300,40"
    );
    assert!(message("1,2,luks=4").starts_with("'luks=4' is not the work of a layer"));
    assert!(message("1,2,cipher").starts_with("'' is not a number of nanoseconds"));
    assert!(message("-1,2").starts_with("'-1' is not a number of nanoseconds"));
}

#[test]
fn a_measurement_finds_that_nothing_is_free() {
    let charge = measure().unwrap();
    assert!(charge.syscall_ns > 0, "{charge}");
    assert!(charge.copy_ns_per_kib > 0, "{charge}");
}

#[test]
fn the_fastest_batch_counts() {
    let mut calls = 0;
    let time = fastest(1, || {
        calls += 1;
        // All but one batch are slow.
        if calls != 7 {
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    });
    assert!(time.unwrap() < Duration::from_millis(2));
    assert_eq!(calls, BATCHES);
    assert!(fastest(1, || Err(io::Error::other("no"))).is_err());
}

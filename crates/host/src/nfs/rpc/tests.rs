use super::*;

/// A call of a procedure as the kernel sends it: no credentials, then arguments.
fn called(procedure: u32, arguments: &[u32]) -> Vec<u8> {
    let mut call = words(&[77, 0, 2, 100_005, 3, procedure, 0, 0, 0, 0]);
    call.extend(words(arguments));
    call
}

#[test]
fn registrations_are_confirmed() {
    let answer = |procedure| reply(&called(procedure, &[]), &Program::Registry).unwrap();
    assert_eq!(answer(0), words(&[77, 1, 0, 0, 0, 0]));
    assert_eq!(answer(1), words(&[77, 1, 0, 0, 0, 0, 1]));
    assert_eq!(answer(2), words(&[77, 1, 0, 0, 0, 0, 1]));
    assert_eq!(answer(3), words(&[77, 1, 0, 0, 0, NO_SUCH_PROCEDURE]));
}

#[test]
fn a_mount_gets_the_handle_filled_up_to_whole_words() {
    let mounts = Program::Mounts(vec![1, 2, 3, 4, 5]);
    let found = reply(&called(1, &[1, 0x2f00_0000]), &mounts).unwrap();
    let mut expected = words(&[77, 1, 0, 0, 0, 0, 0, 5]);
    expected.extend([1, 2, 3, 4, 5, 0, 0, 0]);
    expected.extend(words(&[1, 1]));
    assert_eq!(found, expected);
    assert_eq!(reply(&called(1, &[])[..20], &mounts), None);
}

#[test]
fn calls_of_one_connection_are_answered_in_turn() {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let server = std::thread::spawn(move || answer_all(theirs, &Program::Registry));
    for procedure in [0, 1] {
        let call = called(procedure, &[]);
        ours.write_all(&words(&[call.len() as u32 | LAST])).unwrap();
        ours.write_all(&call).unwrap();
        let mut found = vec![0; 4 + 24 + 4 * procedure as usize];
        ours.read_exact(&mut found).unwrap();
        assert_eq!(found[..4], words(&[(24 + 4 * procedure) | LAST]));
    }
    ours.write_all(&words(&[LONGEST_CALL as u32 + 1])).unwrap();
    let error = server.join().unwrap().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
}

#[test]
fn a_service_ends_when_it_is_dropped() {
    // No other test listens at this name, and it is of this network namespace alone.
    let service = match Service::registry() {
        Ok(service) => service,
        Err(error) => {
            assert!(error.to_string().contains("listen where rpcbind does"), "{error}");
            return seekwell_testing::skip(
                "a_service_ends_when_it_is_dropped",
                "rpcbind runs on this machine",
            );
        }
    };
    drop(service);
    // A program that another test starts at this moment holds a copy of the socket until it runs.
    let again = (0..500).find_map(|_| {
        let found = Service::registry().ok();
        if found.is_none() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        found
    });
    assert!(again.is_some(), "its name is still taken");
}

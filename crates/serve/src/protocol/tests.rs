use super::*;

const ROOT: u64 = 1;

/// A request of the kernel: its kind, its node, and its arguments.
fn request(opcode: u32, node: u64, arguments: &[u8]) -> Vec<u8> {
    let mut bytes = ((HEADER + arguments.len()) as u32).to_le_bytes().to_vec();
    bytes.extend(opcode.to_le_bytes());
    bytes.extend(7_u64.to_le_bytes());
    bytes.extend(node.to_le_bytes());
    bytes.resize(HEADER, 0);
    bytes.extend(arguments);
    bytes
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn ask(bytes: &[u8]) -> Ask<'_> {
    let call = parse(bytes).unwrap();
    assert_eq!(call.unique, 7);
    call.ask
}

#[test]
fn requests_have_their_fields() {
    assert_eq!(ask(&request(1, ROOT, b"name\0")), Ask::Lookup(b"name"));
    assert_eq!(ask(&request(3, FILE, &[0; 16])), Ask::Attributes(FILE));
    assert_eq!(ask(&request(14, FILE, &[0; 8])), Ask::Open(FILE));
    // Handle, offset 4096 + 2^32, size 512.
    let read = words(&[0, 0, 4096, 1, 512, 0, 0, 0, 0, 0]);
    let offset = 4096 + (1 << 32);
    assert_eq!(ask(&request(15, FILE, &read)), Ask::Disk(offset, disk::Ask::Read(512)));
    let mut write = read.clone();
    write[16] = 3;
    write[17] = 0;
    write.extend(b"abcd");
    assert_eq!(ask(&request(16, FILE, &write)), Ask::Disk(offset, disk::Ask::Write(b"abc")));
    let fallocate = |mode| request(43, FILE, &words(&[0, 0, 4096, 1, 512, 0, mode, 0]));
    assert_eq!(ask(&fallocate(3)), Ask::Disk(offset, disk::Ask::Discard(512)));
    assert_eq!(ask(&fallocate(17)), Ask::Disk(offset, disk::Ask::Zero(512)));
    assert_eq!(ask(&fallocate(0)), Ask::Unknown);
    assert_eq!(ask(&request(20, FILE, &[0; 16])), Ask::Disk(0, disk::Ask::Flush));
    assert_eq!(ask(&request(2, FILE, &[0; 8])), Ask::Unanswered);
    assert_eq!(ask(&request(99, FILE, &[])), Ask::Unknown);
}

#[test]
fn torn_requests_and_kernels_that_are_too_old_are_errors() {
    let write = words(&[0, 0, 0, 0, 4, 0, 0, 0, 0, 0]);
    let torn = request(16, FILE, &write);
    assert_eq!(parse(&torn), Err(Malformed::Short { bytes: 80, opcode: 16 }));
    assert_eq!(parse(&torn[..50]), Err(Malformed::Short { bytes: 50, opcode: 16 }));
    assert_eq!(parse(&[0; 3]), Err(Malformed::Short { bytes: 3, opcode: 0 }));
    let init = |major, minor, flags| request(26, 0, &words(&[major, minor, 0, flags]));
    assert_eq!(ask(&init(7, 41, u32::MAX)), Ask::Init);
    assert_eq!(parse(&init(7, 30, u32::MAX)), Err(Malformed::Old(7, 30)));
    assert_eq!(parse(&init(7, 31, !ASYNC_DIO)), Err(Malformed::NotAsynchronous));
}

#[test]
fn answers_have_the_kernels_sizes() {
    // fuse_init_out, fuse_entry_out, fuse_attr_out, fuse_open_out, fuse_kstatfs of linux/fuse.h.
    let sizes = [
        init_answer(1 << 17).len(),
        lookup_answer(1).len(),
        attributes_answer(ROOT, 1).len(),
        open_answer().len(),
        statfs_answer(1).len(),
    ];
    assert_eq!(sizes, [64, 128, 104, 16, 80]);
    let header = header(7, 5, 8);
    assert_eq!(header[..8], [24, 0, 0, 0, 251, 255, 255, 255]);
}

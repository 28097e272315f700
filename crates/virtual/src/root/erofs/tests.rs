use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// Reads an image back by the format's own description, independent of the writer.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number<const N: usize>(&self, at: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes[..N].copy_from_slice(&self.0[at..at + N]);
        u64::from_le_bytes(bytes)
    }

    fn inode(&self, number: u64) -> (u16, Vec<u8>) {
        let meta = self.number::<4>(1024 + 40) as usize * 4096;
        let at = meta + number as usize * 32;
        assert_eq!(self.number::<2>(at), 0, "compact, flat");
        let size = self.number::<4>(at + 8) as usize;
        let block = self.number::<4>(at + 16) as usize;
        let data = self.0[block * 4096..block * 4096 + size].to_vec();
        (self.number::<2>(at + 4) as u16, data)
    }

    fn entries(&self, data: &[u8]) -> Vec<(String, u64, u8)> {
        let mut found = Vec::new();
        for block in data.chunks(4096) {
            let reader = Reader(block);
            let count = reader.number::<2>(8) as usize / 12;
            let name_at = |index: usize| reader.number::<2>(index * 12 + 8) as usize;
            for index in 0..count {
                let end = if index + 1 < count { name_at(index + 1) } else { block.len() };
                let name = &block[name_at(index)..end];
                let name = name.split(|byte| *byte == 0).next().unwrap();
                let name = String::from_utf8(name.to_vec()).unwrap();
                found.push((name, reader.number::<8>(index * 12), block[index * 12 + 10]));
            }
        }
        found
    }

    fn walk(
        &self,
        number: u64,
        path: &str,
        parent: u64,
        found: &mut BTreeMap<String, (u16, Vec<u8>)>,
    ) {
        let (mode, data) = self.inode(number);
        if mode & 0o170_000 == 0o040_000 {
            let entries = self.entries(&data);
            let names: Vec<&String> = entries.iter().map(|(name, ..)| name).collect();
            assert!(names.is_sorted(), "the kernel searches by halves");
            for (name, child, _) in &entries {
                match name.as_str() {
                    "." => assert_eq!(*child, number),
                    ".." => assert_eq!(*child, parent),
                    _ => self.walk(*child, &format!("{path}/{name}"), number, found),
                }
            }
            found.insert(path.to_owned(), (mode, Vec::new()));
        } else {
            found.insert(path.to_owned(), (mode, data));
        }
    }
}

fn read_back(image: &[u8]) -> BTreeMap<String, (u16, Vec<u8>)> {
    let reader = Reader(image);
    assert_eq!(reader.number::<4>(1024), 0xe0f5_e1e2);
    assert_eq!(reader.number::<1>(1024 + 12), 12);
    assert_eq!(reader.number::<4>(1024 + 36) as usize * 4096, image.len());
    let mut found = BTreeMap::new();
    reader.walk(reader.number::<2>(1024 + 14), "", 0, &mut found);
    found
}

fn file(bytes: &[u8]) -> Node {
    Node::File { executable: false, bytes: bytes.to_vec() }
}

#[test]
fn a_tree_is_read_back() {
    let mut tree = Tree::default();
    tree.add("/bin/tool", Node::File { executable: true, bytes: vec![7; 5000] });
    tree.add("/etc/empty", file(b""));
    tree.add("/lib", Node::Link { target: "usr/lib".to_owned() });
    let found = read_back(&image(&tree));
    let expected = BTreeMap::from([
        (String::new(), (0o040_755, vec![])),
        ("/bin".to_owned(), (0o040_755, vec![])),
        ("/bin/tool".to_owned(), (0o100_755, vec![7; 5000])),
        ("/etc".to_owned(), (0o040_755, vec![])),
        ("/etc/empty".to_owned(), (0o100_644, vec![])),
        ("/lib".to_owned(), (0o120_777, b"usr/lib".to_vec())),
    ]);
    assert_eq!(found, expected);
}

#[test]
fn a_directory_of_many_names_takes_several_blocks() {
    let mut tree = Tree::default();
    for number in 0..2000 {
        tree.add(&format!("/many/{number:05}-{}", "x".repeat(number % 90)), file(b"1"));
    }
    let found = read_back(&image(&tree));
    assert_eq!(found.len(), 2002);
}

#[test]
fn the_same_tree_gives_the_same_image() {
    let mut one = Tree::default();
    one.add("/a/b", file(b"1"));
    one.add("/c", file(b"2"));
    let mut other = Tree::default();
    other.add("/c", file(b"2"));
    other.add("/a/b", file(b"1"));
    assert_eq!(image(&one), image(&other));
}

proptest! {
    #[test]
    fn any_tree_is_read_back(
        files in proptest::collection::btree_map("[a-z]{1,3}(/[a-z.-]{1,200}){0,3}",
            proptest::collection::vec(any::<u8>(), 0..9000), 0..40),
    ) {
        let mut tree = Tree::default();
        let mut expected = BTreeMap::new();
        for (path, bytes) in files {
            let path = format!("/{path}");
            let dots = path.split('/').any(|part| part == "." || part == "..");
            let mut above = path.as_str();
            let mut free = !dots && !tree.contains(&path);
            while above != "/" {
                above = Tree::parent(above);
                free &= !expected.contains_key(above);
            }
            if free {
                tree.add(&path, file(&bytes));
                expected.insert(path, bytes);
            }
        }
        let found = read_back(&image(&tree));
        let files: BTreeMap<String, Vec<u8>> = found
            .into_iter()
            .filter(|(_, (mode, _))| mode & 0o170_000 == 0o100_000)
            .map(|(path, (_, bytes))| (path, bytes))
            .collect();
        prop_assert_eq!(files, expected);
    }
}

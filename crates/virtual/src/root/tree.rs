//! Files, directories and links by absolute path.

use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

/// The file, directory or link at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A directory.
    Directory,
    /// A file.
    File {
        /// The file is executable.
        executable: bool,
        /// Content of the file.
        bytes: Vec<u8>,
    },
    /// A symbolic link.
    Link {
        /// Target of the link.
        target: String,
    },
}

/// A tree of files. The root directory is always there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree(BTreeMap<String, Node>);

impl Default for Tree {
    fn default() -> Self {
        Self(BTreeMap::from([("/".to_owned(), Node::Directory)]))
    }
}

impl Tree {
    /// Puts a node at an absolute path, with the directories above it. What was there stays.
    pub fn add(&mut self, path: &str, node: Node) {
        if self.0.contains_key(path) {
            return;
        }
        let parent = Self::parent(path).to_owned();
        if parent != path {
            self.add(&parent, Node::Directory);
        }
        self.0.insert(path.to_owned(), node);
    }

    /// Returns true if there is something at a path.
    #[must_use]
    pub fn contains(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    /// Every path with its node, sorted; the root first.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.0.iter().map(|(path, node)| (path.as_str(), node))
    }

    /// Names, paths and nodes in a directory.
    pub fn children<'a>(
        &'a self,
        directory: &str,
    ) -> impl Iterator<Item = (&'a str, &'a str, &'a Node)> {
        let prefix = if directory == "/" { "/".to_owned() } else { format!("{directory}/") };
        let skip = prefix.len();
        self.0
            .range(prefix.clone()..)
            .take_while(move |(path, _)| path.starts_with(&prefix))
            .filter(move |(path, _)| path.len() > skip && !path[skip..].contains('/'))
            .map(move |(path, node)| (&path[skip..], path.as_str(), node))
    }

    /// The directory above a path; the root is above itself.
    #[must_use]
    pub fn parent(path: &str) -> &str {
        match path.rfind('/') {
            None | Some(0) => "/",
            Some(slash) => &path[..slash],
        }
    }
}

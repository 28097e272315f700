//! Files that are compiled for tests only: those that a `#[cfg(test)] mod name;` leads to. The
//! file's own name decides nothing: calling a production file `tests.rs` frees it from no rule.

use std::collections::BTreeSet;

use syn::{Expr, ExprLit, Item, ItemMod, Lit, Meta};

use super::rust_file::{Purpose, RustFile, marks_test};
use crate::tree::Tree;

/// Paths of all test-only module files.
pub(super) fn find(tree: &Tree, files: &[RustFile<'_>]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in files.iter().filter(|file| file.purpose == Purpose::Production) {
        let base = base_folder(file.path);
        collect(tree, &file.syntax.items, &Place { file: file.path, base }, &mut found);
    }
    found
}

/// Search path of the modules declared in a file.
struct Place<'t> {
    file: &'t str,
    base: String,
}

fn collect(tree: &Tree, items: &[Item], place: &Place<'_>, found: &mut BTreeSet<String>) {
    for item in items {
        let Item::Mod(module) = item else { continue };
        let below = format!("{}/{}", place.base, module.ident);
        if let Some((_, items)) = &module.content {
            collect(tree, items, &Place { file: place.file, base: below }, found);
        } else if module.attrs.iter().any(marks_test) {
            let (own, below) = match stated_path(module) {
                Some(path) => beside(place.file, &path),
                None => (vec![format!("{below}.rs"), format!("{below}/mod.rs")], below),
            };
            found.extend(own.into_iter().filter(|path| tree.text(path).is_some()));
            let folder = format!("{below}/");
            let inside = tree.iter().map(|(path, _)| path).filter(|path| path.starts_with(&folder));
            found.extend(inside.map(String::from));
        }
    }
}

/// `src/foo.rs` has its modules in `src/foo`, a crate root and a `mod.rs` in their own folder.
fn base_folder(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
    let is_root = ["lib.rs", "main.rs", "mod.rs"].contains(&name) || folder.ends_with("src/bin");
    if is_root {
        return folder.to_owned();
    }
    format!("{folder}/{}", name.trim_end_matches(".rs"))
}

fn stated_path(module: &ItemMod) -> Option<String> {
    module.attrs.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    })
}

/// The file that `#[path]` names, and the folder of its own modules.
fn beside(file: &str, path: &str) -> (Vec<String>, String) {
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let whole = format!("{folder}/{path}");
    let below = base_folder(&whole);
    (vec![whole], below)
}

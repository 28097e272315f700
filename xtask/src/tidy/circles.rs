//! Circles of modules inside a crate: modules that import each other, directly or through others.
//!
//! A module and its submodules count as one, and so do the names that the crate's root re-exports
//! from it. Imports of tests do not count.

use std::collections::{BTreeMap, BTreeSet};

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Item, UseTree};

use super::rust_file::{Purpose, RustFile, marks_test};
use super::{Finding, Rule};

/// Top-level modules of one crate, each with the modules it imports from.
type Graph = BTreeMap<String, BTreeSet<String>>;

pub(super) fn check(files: &[RustFile<'_>], findings: &mut Vec<Finding>) {
    let mut crates: BTreeMap<&str, Vec<&RustFile<'_>>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.purpose == Purpose::Production) {
        if let Some((folder, _)) = file.path.split_once("/src/") {
            crates.entry(folder).or_default().push(file);
        }
    }
    for (folder, files) in crates {
        for circle in circles(&graph(folder, &files)) {
            let path = files.iter().find(|file| module_path(folder, file.path) == circle[..1]);
            let path = path.map_or(folder, |file| file.path);
            let what = format!("modules that import each other: {}", circle.join(", "));
            findings.push(Finding::new(Rule::Circle, path, 1, &circle.join(","), what));
        }
    }
}

/// The imports between top-level modules of the crate in `folder`.
fn graph(folder: &str, files: &[&RustFile<'_>]) -> Graph {
    let mut graph = Graph::new();
    for file in files {
        if let [top, ..] = module_path(folder, file.path).as_slice() {
            graph.entry(top.clone()).or_default();
        }
    }
    let exports = exports(folder, files, &graph);
    for file in files {
        let module = module_path(folder, file.path);
        let Some(top) = module.first().cloned() else { continue };
        let mut imports = Imports { file, module: &module, found: BTreeSet::new() };
        imports.visit_file(&file.syntax);
        for name in imports.found {
            let target =
                if graph.contains_key(&name) { Some(name) } else { exports.get(&name).cloned() };
            if let Some(target) = target.filter(|target| *target != top) {
                graph.entry(top.clone()).or_default().insert(target);
            }
        }
    }
    graph
}

/// Names that the crate's root re-exports, with the module of each.
fn exports(folder: &str, files: &[&RustFile<'_>], graph: &Graph) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    for file in files.iter().filter(|file| module_path(folder, file.path).is_empty()) {
        for item in &file.syntax.items {
            let Item::Use(item) = item else { continue };
            for path in flattened(&item.tree) {
                let inside = path.iter().position(|part| graph.contains_key(part));
                if let (Some(at), Some(name)) = (inside, path.last()) {
                    exports.insert(name.clone(), path[at].clone());
                }
            }
        }
    }
    exports
}

/// The modules that lead to a file, outermost first; empty for a crate's root.
fn module_path(folder: &str, path: &str) -> Vec<String> {
    let inside = path.trim_start_matches(folder).trim_start_matches("/src/");
    let inside = inside.trim_end_matches(".rs").trim_end_matches("/mod");
    if ["lib", "main"].contains(&inside) || inside.starts_with("bin/") {
        return Vec::new();
    }
    inside.split('/').map(str::to_owned).collect()
}

/// First names, below the crate's root, of the paths that a file uses.
struct Imports<'f, 't> {
    file: &'f RustFile<'t>,
    module: &'f [String],
    found: BTreeSet<String>,
}

impl Imports<'_, '_> {
    /// Adds the path when it leads to the crate's root and down again.
    fn add(&mut self, path: &[String]) {
        let ups = path.iter().take_while(|part| *part == "super").count();
        let below = match path.first().map(String::as_str) {
            Some("crate") => path.get(1),
            Some("super") if ups == self.module.len() => path.get(ups),
            _ => None,
        };
        self.found.extend(below.cloned());
    }
}

impl<'ast> Visit<'ast> for Imports<'_, '_> {
    fn visit_item_use(&mut self, node: &'ast syn::ItemUse) {
        if !node.attrs.iter().any(marks_test) && !self.file.is_test(node.span().start()) {
            for path in flattened(&node.tree) {
                self.add(&path);
            }
        }
    }

    fn visit_path(&mut self, node: &'ast syn::Path) {
        if !self.file.is_test(node.span().start()) {
            let parts = node.segments.iter().map(|segment| segment.ident.to_string());
            self.add(&parts.collect::<Vec<_>>());
        }
        visit::visit_path(self, node);
    }
}

/// Every path of a use tree, as written before a rename.
fn flattened(tree: &UseTree) -> Vec<Vec<String>> {
    match tree {
        UseTree::Path(path) => {
            let below = flattened(&path.tree).into_iter();
            below.map(|rest| [vec![path.ident.to_string()], rest].concat()).collect()
        }
        UseTree::Name(name) => vec![vec![name.ident.to_string()]],
        UseTree::Rename(rename) => vec![vec![rename.ident.to_string()]],
        UseTree::Glob(_) => vec![Vec::new()],
        UseTree::Group(group) => group.items.iter().flat_map(flattened).collect(),
    }
}

/// Groups of at least two modules that all reach each other.
fn circles(graph: &Graph) -> Vec<Vec<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        graph.keys().map(|module| (module, reach(graph, module))).collect();
    let mut seen = BTreeSet::new();
    let mut circles = Vec::new();
    for module in graph.keys() {
        let back = |other: &&&String| reached.get(*other).is_some_and(|from| from.contains(module));
        let circle: Vec<String> =
            reached[module].iter().filter(back).map(|name| (*name).clone()).collect();
        if circle.len() > 1 && seen.insert(circle.clone()) {
            circles.push(circle);
        }
    }
    circles
}

/// Modules that can be reached from `start`, itself among them only where a circle leads back.
fn reach<'g>(graph: &'g Graph, start: &String) -> BTreeSet<&'g String> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&String> = graph[start].iter().collect();
    while let Some(module) = next.pop() {
        if found.insert(module) {
            next.extend(graph.get(module).into_iter().flatten());
        }
    }
    found
}

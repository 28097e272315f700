//! The device catalogue is loaded at one site: a run in which two parts load it can disagree about a device.
//!
//! A *loader* is the catalogue's own function, or a function that calls a loader and returns devices. Every call
//! of a loader from another function is a loading; one is allowed. The command that lists and draws devices runs
//! nothing and may load for itself.

use std::collections::BTreeSet;

use quote::ToTokens;
use syn::visit::{self, Visit};

use super::rust_file::{Purpose, RustFile, marks_test};
use super::{Finding, Rule};

const OWNER: &str = "device";
const SHOWS_DEVICES: &str = "crates/cli/src/commands/device.rs";
const LOADER: &str = "catalogue";
const DEVICE_TYPE: &str = "DeviceFile";

/// Adds each loading after the first, by path and line.
pub(super) fn check(files: &[RustFile<'_>], findings: &mut Vec<Finding>) {
    let mut functions: Vec<Function<'_>> = Vec::new();
    for file in files {
        let skipped = [OWNER, "xtask"].contains(&file.room()) || file.path == SHOWS_DEVICES;
        if file.purpose == Purpose::Production && !skipped {
            let mut visitor = Functions { file, found: Vec::new() };
            visitor.visit_file(&file.syntax);
            functions.append(&mut visitor.found);
        }
    }
    let loaders = loaders(&functions);
    let mut loadings: Vec<(&str, usize)> = functions
        .iter()
        .filter(|function| !function.is_loader(&loaders))
        .flat_map(|function| function.loadings(&loaders).map(|line| (function.file.path, line)))
        .collect();
    loadings.sort_unstable();
    for (path, line) in loadings.into_iter().skip(1) {
        let what = "a second loading of the device catalogue".to_owned();
        findings.push(Finding::new(Rule::DeviceCatalogue, path, line, LOADER, what));
    }
}

/// Loaders by room and name; the catalogue itself belongs to its owner.
type Loaders = BTreeSet<(String, String)>;

fn loaders(functions: &[Function<'_>]) -> Loaders {
    let mut loaders = BTreeSet::from([(OWNER.to_owned(), LOADER.to_owned())]);
    loop {
        let more: Vec<_> = functions
            .iter()
            .filter(|function| !function.is_loader(&loaders))
            .filter(|function| function.gives_devices && function.loadings(&loaders).count() > 0)
            .map(|function| (function.file.room().to_owned(), function.name.clone()))
            .collect();
        if more.is_empty() {
            return loaders;
        }
        loaders.extend(more);
    }
}

struct Function<'f> {
    file: &'f RustFile<'f>,
    name: String,
    gives_devices: bool,
    /// Crate (or nothing for its own), name and line of each function called.
    calls: Vec<(Option<String>, String, usize)>,
}

impl Function<'_> {
    fn is_loader(&self, loaders: &Loaders) -> bool {
        self.gives_devices && loaders.contains(&(self.file.room().to_owned(), self.name.clone()))
    }

    fn loadings(&self, loaders: &Loaders) -> impl Iterator<Item = usize> {
        self.calls.iter().filter_map(|(room, name, line)| {
            let room = room.clone().unwrap_or_else(|| self.file.room().to_owned());
            loaders.contains(&(room, name.clone())).then_some(*line)
        })
    }
}

struct Functions<'f> {
    file: &'f RustFile<'f>,
    found: Vec<Function<'f>>,
}

impl Functions<'_> {
    fn add(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let gives_devices = signature.output.to_token_stream().to_string().contains(DEVICE_TYPE);
        let mut calls = Calls::default();
        calls.visit_block(body);
        let name = signature.ident.to_string();
        self.found.push(Function { file: self.file, name, gives_devices, calls: calls.0 });
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        if !node.attrs.iter().any(marks_test) {
            self.add(&node.sig, &node.block);
        }
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        self.add(&node.sig, &node.block);
    }
}

#[derive(Default)]
struct Calls(Vec<(Option<String>, String, usize)>);

impl<'ast> Visit<'ast> for Calls {
    fn visit_expr_call(&mut self, node: &'ast syn::ExprCall) {
        if let syn::Expr::Path(called) = node.func.as_ref() {
            self.add(called);
        }
        visit::visit_expr_call(self, node);
    }
}

impl Calls {
    fn add(&mut self, called: &syn::ExprPath) {
        let segments: Vec<String> =
            called.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let Some(name) = segments.last() else { return };
        let room = segments.first().and_then(|first| first.strip_prefix("seekwell_"));
        let line = syn::spanned::Spanned::span(called).start().line;
        self.0.push((room.map(String::from), name.clone(), line));
    }
}

//! A parsed Rust file: its syntax, its tokens, and which stretches of it are tests or carry a
//! reasoned `allow`.

use proc_macro2::{LineColumn, Span, TokenStream};
use quote::ToTokens;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{AttrStyle, Attribute, Meta, Token};

use super::{Finding, Rule, test_modules};
use crate::tree::Tree;

/// Target that a file is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Production,
    /// `build.rs`, which by cargo's protocol prints and reads the environment.
    BuildScript,
    /// Integration tests, benches, examples, fuzz targets and modules behind `#[cfg(test)]`.
    Test,
}

pub(super) struct RustFile<'t> {
    pub path: &'t str,
    pub text: &'t str,
    pub syntax: syn::File,
    pub tokens: TokenStream,
    pub purpose: Purpose,
    /// `allow` and `expect` attributes as written, at any place.
    pub allows: Vec<Allow>,
    tests: Vec<Range>,
    reasons: Vec<(String, Range)>,
}

/// One lint switched off by an attribute.
pub(super) struct Allow {
    pub lint: String,
    pub line: usize,
    pub reasoned: bool,
}

#[derive(Clone, Copy)]
pub(super) struct Range {
    pub start: LineColumn,
    pub end: LineColumn,
}

impl Range {
    fn of(span: Span) -> Self {
        Self { start: span.start(), end: span.end() }
    }

    pub(super) fn holds(self, place: LineColumn) -> bool {
        self.start <= place && place < self.end
    }
}

impl RustFile<'_> {
    /// The folder below `crates/`, or `xtask`, or nothing for a file outside every crate.
    pub(super) fn room(&self) -> &str {
        room(self.path)
    }

    pub(super) fn is_test(&self, place: LineColumn) -> bool {
        self.purpose == Purpose::Test || self.in_test_item(place)
    }

    /// Returns true if `place` is in an item that is compiled for tests only.
    pub(super) fn in_test_item(&self, place: LineColumn) -> bool {
        self.tests.iter().any(|range| range.holds(place))
    }

    /// Returns true for a program that a person runs and reads: an example or a benchmark.
    pub(super) fn is_program(&self) -> bool {
        let folders = self.path.split('/');
        folders.take(3).any(|folder| folder == "examples" || folder == "benches")
    }

    /// Returns true if an item or statement around `place` switches `lint` off and gives a reason.
    pub(super) fn has_reason(&self, lint: &str, place: LineColumn) -> bool {
        self.reasons.iter().any(|(name, range)| name == lint && range.holds(place))
    }
}

pub(super) fn room(path: &str) -> &str {
    let mut parts = path.split('/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some("crates"), Some(room), Some(_)) => room,
        (Some("xtask"), Some(_), _) => "xtask",
        _ => "",
    }
}

/// Parses every Rust file; one that does not parse becomes a finding.
pub(super) fn parse_all<'t>(tree: &'t Tree, findings: &mut Vec<Finding>) -> Vec<RustFile<'t>> {
    let mut files = Vec::new();
    for (path, text) in tree.iter().filter(|(path, _)| path.ends_with(".rs")) {
        match syn::parse_file(text) {
            Ok(syntax) => files.push(survey(path, text, syntax)),
            Err(error) => {
                let line = error.span().start().line;
                let what = format!("not Rust that parses ({error})");
                findings.push(Finding::new(Rule::Syntax, path, line, "", what));
            }
        }
    }
    let test_files = test_modules::find(tree, &files);
    for file in &mut files {
        if test_files.contains(file.path) {
            file.purpose = Purpose::Test;
        }
    }
    files
}

fn survey<'t>(path: &'t str, text: &'t str, syntax: syn::File) -> RustFile<'t> {
    let mut survey = Survey::default();
    survey.visit_file(&syntax);
    RustFile {
        path,
        text,
        tokens: syntax.to_token_stream(),
        purpose: purpose_by_path(path),
        allows: survey.allows,
        tests: survey.tests,
        reasons: survey.reasons,
        syntax,
    }
}

fn purpose_by_path(path: &str) -> Purpose {
    let inside = match path.split('/').collect::<Vec<_>>().as_slice() {
        ["crates", _, inside @ ..] | ["xtask", inside @ ..] => inside.join("/"),
        _ => path.to_owned(),
    };
    if inside == "build.rs" {
        return Purpose::BuildScript;
    }
    let folder = inside.split('/').next().unwrap_or_default();
    if ["tests", "benches", "examples", "fuzz"].contains(&folder) {
        return Purpose::Test;
    }
    Purpose::Production
}

#[derive(Default)]
struct Survey {
    allows: Vec<Allow>,
    tests: Vec<Range>,
    reasons: Vec<(String, Range)>,
}

impl Survey {
    /// Notes what the attributes in front of `node` say about it.
    fn enter(&mut self, node: &impl ToTokens) {
        let range = Range::of(node.span());
        let attributes = outer_attributes(node.to_token_stream());
        if attributes.iter().any(marks_test) {
            self.tests.push(range);
        }
        for attribute in &attributes {
            let reasoned = switched_off(&attribute.meta).into_iter().filter(|allow| allow.reasoned);
            self.reasons.extend(reasoned.map(|allow| (allow.lint, range)));
        }
    }

    /// `#![cfg(test)]` in a file or module. An inner `allow` excuses nothing: a reason belongs to
    /// one case.
    fn enter_inner(&mut self, range: Range, attributes: &[Attribute]) {
        let inner = |attribute: &&Attribute| matches!(attribute.style, AttrStyle::Inner(_));
        if attributes.iter().filter(inner).any(marks_test) {
            self.tests.push(range);
        }
    }
}

impl<'ast> Visit<'ast> for Survey {
    fn visit_item(&mut self, node: &'ast syn::Item) {
        self.enter(node);
        visit::visit_item(self, node);
    }

    fn visit_file(&mut self, node: &'ast syn::File) {
        self.enter_inner(Range::of(node.span()), &node.attrs);
        visit::visit_file(self, node);
    }

    fn visit_item_mod(&mut self, node: &'ast syn::ItemMod) {
        self.enter_inner(Range::of(node.span()), &node.attrs);
        visit::visit_item_mod(self, node);
    }

    fn visit_impl_item(&mut self, node: &'ast syn::ImplItem) {
        self.enter(node);
        visit::visit_impl_item(self, node);
    }

    fn visit_trait_item(&mut self, node: &'ast syn::TraitItem) {
        self.enter(node);
        visit::visit_trait_item(self, node);
    }

    fn visit_stmt(&mut self, node: &'ast syn::Stmt) {
        self.enter(node);
        visit::visit_stmt(self, node);
    }

    fn visit_arm(&mut self, node: &'ast syn::Arm) {
        self.enter(node);
        visit::visit_arm(self, node);
    }

    fn visit_field_value(&mut self, node: &'ast syn::FieldValue) {
        self.enter(node);
        visit::visit_field_value(self, node);
    }

    fn visit_attribute(&mut self, node: &'ast Attribute) {
        self.allows.extend(switched_off(&node.meta));
        visit::visit_attribute(self, node);
    }
}

fn outer_attributes(tokens: TokenStream) -> Vec<Attribute> {
    let parser = |input: syn::parse::ParseStream<'_>| {
        let attributes = Attribute::parse_outer(input)?;
        input.parse::<TokenStream>()?;
        Ok(attributes)
    };
    parser.parse2(tokens).unwrap_or_default()
}

/// `#[test]`, `#[…::test]`, `#[cfg(test)]` and `#[cfg(all(test, …))]`.
pub(super) fn marks_test(attribute: &Attribute) -> bool {
    if attribute.path().is_ident("cfg") {
        return attribute.parse_args::<Meta>().is_ok_and(|condition| needs_test(&condition));
    }
    attribute.path().segments.last().is_some_and(|last| last.ident == "test")
}

fn needs_test(condition: &Meta) -> bool {
    if condition.path().is_ident("all") {
        return nested(condition).iter().any(needs_test);
    }
    matches!(condition, Meta::Path(path) if path.is_ident("test"))
}

fn nested(meta: &Meta) -> Vec<Meta> {
    let Meta::List(list) = meta else { return Vec::new() };
    list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
        .map(|metas| metas.into_iter().collect())
        .unwrap_or_default()
}

/// The lints that `allow(…)` or `expect(…)` names, also inside `cfg_attr`.
fn switched_off(meta: &Meta) -> Vec<Allow> {
    if meta.path().is_ident("cfg_attr") {
        return nested(meta).iter().skip(1).flat_map(switched_off).collect();
    }
    if !meta.path().is_ident("allow") && !meta.path().is_ident("expect") {
        return Vec::new();
    }
    let metas = nested(meta);
    let reasoned = metas.iter().any(gives_reason);
    let line = meta.path().span().start().line;
    metas
        .iter()
        .filter_map(|lint| match lint {
            Meta::Path(path) => Some(Allow { lint: lint_name(path), line, reasoned }),
            _ => None,
        })
        .collect()
}

fn gives_reason(meta: &Meta) -> bool {
    let Meta::NameValue(pair) = meta else { return false };
    let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &pair.value else {
        return false;
    };
    pair.path.is_ident("reason") && !text.value().trim().is_empty()
}

fn lint_name(path: &syn::Path) -> String {
    let names: Vec<String> =
        path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    names.join("::")
}

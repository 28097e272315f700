//! The two lengths: of a function and of a production file.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::rust_file::{Purpose, RustFile};
use super::{Finding, Rule};

/// Longest function, from the line of its signature to its closing brace.
pub(super) const FUNCTION_LINES: usize = 70;

/// Longest production file, blank lines and comments included.
pub(super) const FILE_LINES: usize = 800;

pub(super) fn check(file: &RustFile<'_>, findings: &mut Vec<Finding>) {
    let lines = file.text.lines().count();
    if file.purpose != Purpose::Test && lines > FILE_LINES {
        let what = format!("production file of {lines} lines (limit {FILE_LINES})");
        let finding = Finding::new(Rule::FileLength, file.path, 1, "", what);
        findings.push(Finding { size: Some(lines), ..finding });
    }
    let mut functions = Functions::default();
    functions.visit_file(&file.syntax);
    for function in functions.found.iter().filter(|function| function.lines > FUNCTION_LINES) {
        let Function { name, line, lines } = function;
        let what = format!("function `{name}` of {lines} lines (limit {FUNCTION_LINES})");
        let finding = Finding::new(Rule::FunctionLength, file.path, *line, name, what);
        findings.push(Finding { size: Some(*lines), ..finding });
    }
}

struct Function {
    name: String,
    line: usize,
    lines: usize,
}

/// Named functions with a body; a closure belongs to the function around it.
#[derive(Default)]
struct Functions {
    found: Vec<Function>,
}

impl Functions {
    fn add(&mut self, name: &syn::Ident, start: Span, end: Span) {
        let line = start.start().line;
        let lines = end.end().line.saturating_sub(line) + 1;
        self.found.push(Function { name: name.to_string(), line, lines });
    }

    fn add_with_body(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let end = body.brace_token.span.close();
        self.add(&signature.ident, signature.fn_token.span, end);
    }

    /// Finds functions among the tokens of a macro, which are not parsed: a function still reads
    /// `fn name … { … }`.
    fn add_from_tokens(&mut self, tokens: TokenStream) {
        let mut open: Option<(syn::Ident, Span)> = None;
        let mut after_fn: Option<Span> = None;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) if ident == "fn" => after_fn = Some(ident.span()),
                TokenTree::Ident(ident) => {
                    if let Some(start) = after_fn.take() {
                        open = Some((ident, start));
                    }
                }
                TokenTree::Group(group) => {
                    after_fn = None;
                    if group.delimiter() == Delimiter::Brace
                        && let Some((name, start)) = open.take()
                    {
                        self.add(&name, start, group.span_close());
                    }
                    self.add_from_tokens(group.stream());
                }
                TokenTree::Punct(punct) => {
                    after_fn = None;
                    if punct.as_char() == ';' {
                        open = None;
                    }
                }
                TokenTree::Literal(_) => after_fn = None,
            }
        }
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        self.add_with_body(&node.sig, &node.block);
        visit::visit_item_fn(self, node);
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        self.add_with_body(&node.sig, &node.block);
        visit::visit_impl_item_fn(self, node);
    }

    fn visit_trait_item_fn(&mut self, node: &'ast syn::TraitItemFn) {
        if let Some(body) = &node.default {
            self.add_with_body(&node.sig, body);
        }
        visit::visit_trait_item_fn(self, node);
    }

    fn visit_macro(&mut self, node: &'ast syn::Macro) {
        self.add_from_tokens(node.tokens.clone());
    }
}

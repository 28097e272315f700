//! Places of a source file that can be changed without breaking its types.

use std::ops::Range;

use anyhow::{Context, Result};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ImplItemFn, ItemFn, Pat, ReturnType, Signature, Type, UnOp};

/// A change: its form in the text, the line, and words for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Bytes that are replaced, or the empty range before which something is put.
    pub range: Range<usize>,
    /// Form.
    pub form: Form,
    /// Line, counted from 1.
    pub line: usize,
    /// The change in words.
    pub change: String,
}

/// Form of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// Two operands get another operator.
    Operator {
        /// Operands.
        left: Range<usize>,
        /// The second one.
        right: Range<usize>,
        /// As it is.
        before: &'static str,
        /// As it becomes.
        after: &'static str,
    },
    /// A negation goes; the range is that of its operand.
    Negation(Range<usize>),
    /// A condition becomes its opposite.
    Condition,
    /// A function returns this at once.
    Return(&'static str),
    /// An arm of a match, whose pattern ends here, is never taken.
    Arm,
}

/// Every place of a file.
///
/// # Errors
/// When the text is no Rust.
pub fn places(text: &str) -> Result<Vec<Place>> {
    let file = syn::parse_file(text).context("a source file cannot be parsed")?;
    let mut finder = Finder { found: Vec::new(), is_constant: false };
    finder.visit_file(&file);
    Ok(finder.found)
}

struct Finder {
    found: Vec<Place>,
    /// Inside of a constant no function can be called.
    is_constant: bool,
}

impl Finder {
    fn add(&mut self, range: Range<usize>, line: usize, form: Form, change: String) {
        if !self.is_constant {
            self.found.push(Place { range, form, line, change });
        }
    }

    fn function(&mut self, signature: &Signature, block: &syn::Block) {
        let open = block.brace_token.span.open().byte_range().end;
        let line = signature.ident.span().start().line;
        for value in values(&signature.output) {
            let change = format!("{} returns {} at once", signature.ident, shown(value));
            self.add(open..open, line, Form::Return(value), change);
        }
    }

    fn within(&mut self, is_constant: bool, visit: impl FnOnce(&mut Self)) {
        let before = self.is_constant;
        self.is_constant |= is_constant;
        visit(self);
        self.is_constant = before;
    }
}

fn shown(value: &str) -> &str {
    if value.is_empty() { "nothing" } else { value }
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.within(function.sig.constness.is_some(), |finder| {
            finder.function(&function.sig, &function.block);
            visit::visit_item_fn(finder, function);
        });
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.within(function.sig.constness.is_some(), |finder| {
            finder.function(&function.sig, &function.block);
            visit::visit_impl_item_fn(finder, function);
        });
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.within(true, |finder| visit::visit_item_const(finder, item));
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.within(true, |finder| visit::visit_item_static(finder, item));
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.within(true, |finder| visit::visit_impl_item_const(finder, item));
    }

    fn visit_type(&mut self, _: &'ast Type) {}

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        let binds = has_let(&binary.left) || has_let(&binary.right);
        if let (Some((before, after)), false) = (other(&binary.op), binds) {
            let form = Form::Operator {
                left: binary.left.span().byte_range(),
                right: binary.right.span().byte_range(),
                before,
                after,
            };
            let line = binary.op.span().start().line;
            self.add(binary.span().byte_range(), line, form, format!("{before} becomes {after}"));
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        if let UnOp::Not(not) = &unary.op {
            let form = Form::Negation(unary.expr.span().byte_range());
            let line = not.span.start().line;
            self.add(unary.span().byte_range(), line, form, "! goes".to_owned());
        }
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_if(&mut self, branch: &'ast syn::ExprIf) {
        if !has_let(&branch.cond) {
            let line = branch.if_token.span.start().line;
            let change = "the condition becomes its opposite".to_owned();
            self.add(branch.cond.span().byte_range(), line, Form::Condition, change);
        }
        visit::visit_expr_if(self, branch);
    }

    fn visit_expr_match(&mut self, choice: &'ast syn::ExprMatch) {
        let is_rest = |arm: &syn::Arm| matches!(arm.pat, Pat::Wild(_));
        if choice.arms.last().is_some_and(is_rest) {
            let plain = |arm: &&syn::Arm| !matches!(arm.pat, Pat::Wild(_) | Pat::Guard(_));
            for arm in choice.arms.iter().filter(plain) {
                let end = arm.pat.span().byte_range().end;
                let line = arm.pat.span().start().line;
                self.add(end..end, line, Form::Arm, "this arm is never taken".to_owned());
            }
        }
        visit::visit_expr_match(self, choice);
    }
}

/// The operator and the one that it becomes.
fn other(operator: &BinOp) -> Option<(&'static str, &'static str)> {
    Some(match operator {
        BinOp::Eq(_) => ("==", "!="),
        BinOp::Ne(_) => ("!=", "=="),
        BinOp::Lt(_) => ("<", "<="),
        BinOp::Le(_) => ("<=", "<"),
        BinOp::Gt(_) => (">", ">="),
        BinOp::Ge(_) => (">=", ">"),
        BinOp::And(_) => ("&&", "||"),
        BinOp::Or(_) => ("||", "&&"),
        _ => return None,
    })
}

/// True for a condition that binds names, which stands nowhere but after `if` and `while`.
fn has_let(expression: &Expr) -> bool {
    struct Lets(bool);
    impl<'ast> Visit<'ast> for Lets {
        fn visit_expr_let(&mut self, _: &'ast syn::ExprLet) {
            self.0 = true;
        }
    }
    let mut lets = Lets(false);
    lets.visit_expr(expression);
    lets.0
}

/// Values that a function of this type could return without having done anything.
fn values(output: &ReturnType) -> &'static [&'static str] {
    let ReturnType::Type(_, kind) = output else { return &[""] };
    let text: String = quote::ToTokens::to_token_stream(kind).to_string().replace(' ', "");
    match text.as_str() {
        "bool" => &["true", "false"],
        "()" => &["()"],
        "usize" | "u32" | "u64" | "i64" => &["0", "1"],
        "String" => &["String::new()"],
        "Result<bool>" | "io::Result<bool>" => &["Ok(true)", "Ok(false)"],
        _ if text.starts_with("Option<") => &["None"],
        _ if text.starts_with("Vec<") => &["Vec::new()"],
        _ if text.starts_with("Result<()") || text.starts_with("io::Result<()") => &["Ok(())"],
        _ if text.starts_with("Result<Option<") => &["Ok(None)"],
        _ if text.starts_with("Result<Vec<") => &["Ok(Vec::new())"],
        _ => &[],
    }
}

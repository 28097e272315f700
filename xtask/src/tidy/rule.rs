//! The rules: name, reason and remedy of each.

/// One check, with its name in `xtask/tidy.toml`, its reason and its remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// A Rust file that does not parse cannot be judged.
    Syntax,
    /// A function of more than `super::size::FUNCTION_LINES` lines.
    FunctionLength,
    /// A production file of more than `super::size::FILE_LINES` lines.
    FileLength,
    /// `unwrap` or `expect` in production code without a reason.
    Unwrap,
    /// A lint switched off without a reason.
    AllowReason,
    /// A crate outside the workspace's lints, or a lint missing there.
    Lints,
    /// `missing_docs` switched off.
    Docs,
    /// A dependency against the arrows of the design.
    Arrow,
    /// Printing, ending the process or reading the environment outside `cli`.
    Door,
    /// A `mod.rs` with more than declarations.
    ModRs,
    /// A module named after no concept.
    VagueName,
    /// Unit tests inside a production file.
    InlineTests,
    /// Modules of a crate that import each other.
    Circle,
    /// A path, tool or host of one developer's machine.
    Workplace,
    /// A lock file that points anywhere but the public registry.
    Lock,
    /// An entry of `xtask/tidy.toml` that is wrong or fits nothing.
    Exceptions,
    /// A phrase that a native-speaking engineer would not say, in text that people read.
    Phrase,
    /// A doc comment that opens with a relative clause instead of naming the thing.
    DocOpening,
    /// The command line's parser outside `cli`.
    Clap,
}

/// The words of one rule.
pub(super) struct RuleText {
    pub(super) rule: Rule,
    pub(super) name: &'static str,
    why: &'static str,
    remedy: &'static str,
}

/// In the order of [`Rule`]'s variants, which a test checks.
pub(super) const RULES: [RuleText; 19] = [
    RuleText {
        rule: Rule::Syntax,
        name: "syntax",
        why: "no other rule can look at it",
        remedy: "fix the syntax",
    },
    RuleText {
        rule: Rule::FunctionLength,
        name: "function-length",
        why: "a reader should see the whole function at once",
        remedy: "split it where the story has chapters",
    },
    RuleText {
        rule: Rule::FileLength,
        name: "file-length",
        why: "a file should hold one concept",
        remedy: "move a concept, with its tests, to a file of its own",
    },
    RuleText {
        rule: Rule::Unwrap,
        name: "unwrap",
        why: "a panic tells the user neither where nor what to do",
        remedy: "return a typed error, or say why it cannot fail: #[allow(..., reason = \"...\")]",
    },
    RuleText {
        rule: Rule::AllowReason,
        name: "allow-reason",
        why: "the next reader cannot tell whether it still holds",
        remedy: "add reason = \"...\" or remove the attribute",
    },
    RuleText {
        rule: Rule::Lints,
        name: "lints",
        why: "the compiler checks only what is switched on",
        remedy: "write that entry",
    },
    RuleText {
        rule: Rule::Docs,
        name: "docs",
        why: "a public item without its shape, units and errors cannot be used safely",
        remedy: "document the items",
    },
    RuleText {
        rule: Rule::Arrow,
        name: "arrow",
        why: "dependencies point one way, from cli down to model",
        remedy: "move what both need to a lower room",
    },
    RuleText {
        rule: Rule::Door,
        name: "door",
        why: "a library that reaches for the terminal or the environment cannot be tested",
        remedy: "return the value and let cli do it",
    },
    RuleText {
        rule: Rule::ModRs,
        name: "mod-rs",
        why: "many files bear that name and none says what it holds",
        remedy: "move the logic to a file named after its concept",
    },
    RuleText {
        rule: Rule::VagueName,
        name: "vague-name",
        why: "such a module attracts everything that has no home",
        remedy: "name it after what it holds",
    },
    RuleText {
        rule: Rule::InlineTests,
        name: "inline-tests",
        why: "a file's length must show its production code",
        remedy: "write `#[cfg(test)] mod tests;` and move the tests to the sibling file",
    },
    RuleText {
        rule: Rule::Circle,
        name: "circle",
        why: "a reader cannot understand one of them without the others",
        remedy: "move what both need to a module below them",
    },
    RuleText {
        rule: Rule::Workplace,
        name: "workplace",
        why: "it means nothing on any other machine",
        remedy: "say it without that name",
    },
    RuleText {
        rule: Rule::Lock,
        name: "lock",
        why: "a build must not depend on one place's mirror",
        remedy: "restore the lock file with the public registry",
    },
    RuleText {
        rule: Rule::Exceptions,
        name: "exceptions",
        why: "exceptions are worth something only while each of them is true",
        remedy: "fix or remove the entry",
    },
    RuleText {
        rule: Rule::Phrase,
        name: "phrase",
        why: "a sentence that has to be read twice is a bug",
        remedy: "rewrite the sentence in plain English",
    },
    RuleText {
        rule: Rule::DocOpening,
        name: "doc-opening",
        why: "a relative clause makes the reader wait for the noun",
        remedy: "name the thing: \"Returns the queue depth\", \"Devices with a write cache\"",
    },
    RuleText {
        rule: Rule::Clap,
        name: "clap",
        why: "a program that uses the libraries has no command line",
        remedy: "pass plain values, parse them in cli",
    },
];

impl Rule {
    fn text(self) -> &'static RuleText {
        &RULES[self as usize]
    }

    /// The name used in `xtask/tidy.toml`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.text().name
    }

    /// The damage that the rule prevents, as a fragment.
    #[must_use]
    pub fn why(self) -> &'static str {
        self.text().why
    }

    /// The fix for a finding, as a fragment.
    #[must_use]
    pub fn remedy(self) -> &'static str {
        self.text().remedy
    }

    pub(super) fn by_name(name: &str) -> Option<Self> {
        RULES.iter().find(|text| text.name == name).map(|text| text.rule)
    }

    /// Returns true if an exception must state its own limit.
    pub(super) fn has_limit(self) -> bool {
        matches!(self, Self::FunctionLength | Self::FileLength)
    }
}

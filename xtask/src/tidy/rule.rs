//! The rules: name, reason and remedy of each.

/// Makes the rules of one list, so that none lacks its words.
macro_rules! rules {
    ($($(#[$doc:meta])* $rule:ident = $name:literal, why $why:literal, remedy $remedy:literal;)*) => {
        /// One check, with its name in `xtask/tidy.toml`, its reason and its remedy.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Rule {
            $($(#[$doc])* $rule,)*
        }

        impl Rule {
            pub(super) const ALL: &[Self] = &[$(Self::$rule),*];

            /// Its name, its reason and its remedy.
            fn words(self) -> [&'static str; 3] {
                match self {
                    $(Self::$rule => [$name, $why, $remedy],)*
                }
            }
        }
    };
}

rules! {
    /// A Rust file that does not parse cannot be judged.
    Syntax = "syntax",
        why "no other rule can look at it",
        remedy "fix the syntax";
    /// A function of more than `super::size::FUNCTION_LINES` lines.
    FunctionLength = "function-length",
        why "a reader should see the whole function at once",
        remedy "split it where the story has chapters";
    /// A production file of more than `super::size::FILE_LINES` lines.
    FileLength = "file-length",
        why "a file should hold one concept",
        remedy "move a concept, with its tests, to a file of its own";
    /// `unwrap` or `expect` in production code without a reason.
    Unwrap = "unwrap",
        why "a panic tells the user neither where nor what to do",
        remedy "return a typed error, or say why it cannot fail: #[allow(..., reason = \"...\")]";
    /// A lint switched off without a reason.
    AllowReason = "allow-reason",
        why "the next reader cannot tell whether it still holds",
        remedy "add reason = \"...\" or remove the attribute";
    /// A crate outside the workspace's lints, or a lint missing there.
    Lints = "lints",
        why "the compiler checks only what is switched on",
        remedy "write that entry";
    /// `missing_docs` switched off.
    Docs = "docs",
        why "a public item without its shape, units and errors cannot be used safely",
        remedy "document the items";
    /// A dependency against the arrows of the design.
    Arrow = "arrow",
        why "dependencies point one way, from cli down to model",
        remedy "move what both need to a lower room";
    /// Printing, ending the process or reading the environment outside `cli`.
    Door = "door",
        why "a library that reaches for the terminal or the environment cannot be tested",
        remedy "return the value and let cli do it";
    /// A `mod.rs` with more than declarations.
    ModRs = "mod-rs",
        why "many files bear that name and none says what it holds",
        remedy "move the logic to a file named after its concept";
    /// A module named after no concept.
    VagueName = "vague-name",
        why "such a module attracts everything that has no home",
        remedy "name it after what it holds";
    /// Unit tests inside a production file.
    InlineTests = "inline-tests",
        why "a file's length must show its production code",
        remedy "write `#[cfg(test)] mod tests;` and move the tests to the sibling file";
    /// Modules of a crate that import each other.
    Circle = "circle",
        why "a reader cannot understand one of them without the others",
        remedy "move what both need to a module below them";
    /// A path, tool or host of one developer's machine.
    Workplace = "workplace",
        why "it means nothing on any other machine",
        remedy "say it without that name";
    /// A lock file that points anywhere but the public registry.
    Lock = "lock",
        why "a build must not depend on one place's mirror",
        remedy "restore the lock file with the public registry";
    /// An entry of `xtask/tidy.toml` that is wrong or fits nothing.
    Exceptions = "exceptions",
        why "exceptions are worth something only while each of them is true",
        remedy "fix or remove the entry";
    /// A phrase that a native-speaking engineer would not say, in text that people read.
    Phrase = "phrase",
        why "a sentence that has to be read twice is a bug",
        remedy "rewrite the sentence in plain English";
    /// A doc comment that opens with a relative clause instead of naming the thing.
    DocOpening = "doc-opening",
        why "a relative clause makes the reader wait for the noun",
        remedy "name the thing: \"Returns the queue depth\", \"Devices with a write cache\"";
    /// The command line's parser outside `cli`.
    Clap = "clap",
        why "a program that uses the libraries has no command line",
        remedy "pass plain values, parse them in cli";
}

impl Rule {
    /// The name used in `xtask/tidy.toml`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.words()[0]
    }

    /// The damage that the rule prevents, as a fragment.
    #[must_use]
    pub fn why(self) -> &'static str {
        self.words()[1]
    }

    /// The fix for a finding, as a fragment.
    #[must_use]
    pub fn remedy(self) -> &'static str {
        self.words()[2]
    }

    pub(super) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|rule| rule.name() == name)
    }

    /// Returns true if an exception must state its own limit.
    pub(super) fn has_limit(self) -> bool {
        matches!(self, Self::FunctionLength | Self::FileLength)
    }
}

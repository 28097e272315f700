//! `cargo xtask`: see the library for what each command does.

fn main() {}

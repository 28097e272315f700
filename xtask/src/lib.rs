//! What keeps the Seekwell tree in order: `tidy` (budgets and dependency arrows), `docs` (documents generated
//! from the code) and `test` (every check and every test, skips counted).
//!
//! Not part of the product: nothing under `crates/` may depend on it.

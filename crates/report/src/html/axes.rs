//! What each axis did, where the verdict says so.

use super::page::Page;
use crate::view::RunView;

pub(super) fn axes(_page: &mut Page, _view: &RunView) {}

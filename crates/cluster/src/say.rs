//! Words for the user during a run.

use std::fmt;
use std::sync::Arc;

type Told = dyn Fn(&str) + Send + Sync;

/// The way in which the user is told something; by default none.
#[derive(Clone, Default)]
pub struct Say(Option<Arc<Told>>);

impl Say {
    /// Tells it so.
    #[must_use]
    pub fn new(say: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(say)))
    }

    pub(crate) fn say(&self, words: &str) {
        if let Some(say) = &self.0 {
            say(words);
        }
    }
}

impl fmt::Debug for Say {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "Say(..)" } else { "Say" })
    }
}

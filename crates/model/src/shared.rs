//! Values that many records have in common, kept once in memory.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::HashSet;
use std::hash::Hash;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// A value that equal ones may share. A change makes a copy of its own first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shared<T>(Arc<T>);

impl<T: Eq + Hash> Shared<T> {
    /// Shares the memory of an equal value that the pool has seen, or adds this one to the pool.
    pub fn share(&mut self, pool: &mut Pool<T>) {
        match pool.0.get(&self.0) {
            Some(known) => self.0 = Arc::clone(known),
            None => {
                pool.0.insert(Arc::clone(&self.0));
            }
        }
    }
}

/// Values to share.
#[derive(Debug)]
pub struct Pool<T>(HashSet<Arc<T>>);

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self(HashSet::new())
    }
}

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

impl<T: Serialize> Serialize for Shared<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::from)
    }
}

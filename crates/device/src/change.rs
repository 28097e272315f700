//! Changes of single numbers of a device file.

use std::fmt;
use std::str::FromStr;

use seekwell_model::laws::Law;

use crate::build::build;
use crate::error::DeviceError;
use crate::file::DeviceFile;

#[cfg(test)]
mod tests;

/// A changed number of a device file, written `KEY=NUMBER`. A lab writes changes after a model's name
/// (`model = "NAME,KEY=NUMBER"`), the command line writes `--set NAME:KEY=NUMBER` for all of its stacks.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Dotted key of the number in the file.
    pub key: String,
    /// The new value, in the unit of the key.
    pub value: f64,
}

impl FromStr for Change {
    type Err = DeviceError;

    /// Reads `KEY=NUMBER`; digits may be grouped with `_`.
    fn from_str(text: &str) -> Result<Self, DeviceError> {
        let parts = text.split_once('=').and_then(|(key, number)| {
            let value = number.trim().replace('_', "").parse().ok()?;
            Some(Self { key: key.trim().to_owned(), value })
        });
        parts.ok_or_else(|| DeviceError::NotAChange(text.trim().to_owned()))
    }
}

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}={}", self.key, self.value)
    }
}

impl DeviceFile {
    /// The device with this number changed.
    ///
    /// # Errors
    ///
    /// As [`DeviceFile::with`].
    pub fn changed(&self, change: &Change) -> Result<Self, DeviceError> {
        self.with(&change.key, change.value)
    }

    /// The same device without a law, as `seekwell why` switches it off.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoSuchKey`] when the device has no such law.
    pub fn without(&self, law: &str) -> Result<Self, DeviceError> {
        let known = Law::from_name(law).filter(|law| build(self, 1).laws().contains(*law));
        let known =
            known.ok_or_else(|| DeviceError::NoSuchKey { place: "off", key: law.to_owned() })?;
        let mut file = self.clone();
        file.off = file.off.with(known, true);
        Ok(file)
    }
}

//! Origin of a file that a probe made (`[probed]`), so that others can use it for the same drive.

use serde::{Deserialize, Serialize};
use toml::value::Datetime;

use crate::error::{DeviceError, refuse};

/// Drive, program, day and method of a probe. It never names the single drive: no serial number, no path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probed {
    /// Model of the drive as the kernel names it; `None` for a modelled device and a drive without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<String>,
    /// Version of Seekwell.
    pub seekwell: String,
    /// Day of the probe in UTC, `YYYY-MM-DD`.
    pub date: String,
    /// Requests of the probe: `reads`, or `reads and writes`.
    pub method: String,
}

impl Probed {
    pub(crate) fn check(&self) -> Result<(), DeviceError> {
        let drive = self.drive.as_ref().map(|drive| ("drive", drive));
        let texts = [("seekwell", &self.seekwell), ("method", &self.method)];
        if let Some((key, _)) =
            drive.into_iter().chain(texts).find(|(_, text)| text.trim().is_empty())
        {
            return Err(refuse(&format!("probed.{key}"), "''", "must not be empty"));
        }
        let day = self.date.parse::<Datetime>();
        if day.is_ok_and(|day| day.date.is_some() && day.time.is_none()) {
            return Ok(());
        }
        Err(refuse("probed.date", &self.date, "must be a day such as 2026-11-30"))
    }
}

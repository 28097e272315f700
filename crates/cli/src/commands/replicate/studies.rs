//! The files of the studies: those that came with the program, or those of a directory.

use crate::failure::Failure;
use seekwell_replicate::claims::{self, Claims};
use seekwell_replicate::study::{self, Study};
use seekwell_replicate::{CLAIMS, FILES, STUDY_END};
use std::collections::BTreeMap;
use std::path::Path;

/// Claims, studies and labs.
pub struct Studies {
    files: BTreeMap<String, String>,
    claims: Claims,
    studies: Vec<Study>,
}

impl Studies {
    /// Reads them.
    ///
    /// # Errors
    /// When a file cannot be read, or what is in it is wrong.
    pub fn read(directory: Option<&Path>) -> Result<Self, Failure> {
        let files = match directory {
            Some(directory) => of_directory(directory)?,
            None => {
                FILES.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
            }
        };
        let Some(text) = files.get(CLAIMS) else {
            return Err(Failure::Error(format!("{CLAIMS} not found in the study directory")));
        };
        let claims = claims::read(CLAIMS, text)?;
        let of_studies = files.iter().filter(|(name, _)| name.ends_with(STUDY_END));
        let studies = of_studies
            .map(|(name, text)| study::read(name, text, &claims))
            .collect::<Result<_, _>>()?;
        Ok(Self { files, claims, studies })
    }

    /// The claims.
    pub fn claims(&self) -> &Claims {
        &self.claims
    }

    /// Every study, or that with this number.
    ///
    /// # Errors
    /// When no study has that number.
    pub fn chosen(&self, key: Option<&str>) -> Result<Vec<&Study>, Failure> {
        let chosen: Vec<&Study> =
            self.studies.iter().filter(|study| key.is_none_or(|key| key == study.key)).collect();
        if chosen.is_empty() {
            let known: Vec<&str> = self.studies.iter().map(|study| study.key.as_str()).collect();
            return Err(Failure::Usage(format!(
                "unknown study {}; the studies are {}",
                key.unwrap_or_default(),
                known.join(", ")
            )));
        }
        Ok(chosen)
    }

    /// Text of a lab's file.
    ///
    /// # Errors
    /// When no lab has that name.
    pub fn lab(&self, name: &str) -> Result<&str, Failure> {
        let text = self.files.get(&format!("{name}.toml"));
        text.map(String::as_str).ok_or_else(|| {
            Failure::Error(format!("lab {name} of a study not found: {name}.toml is missing"))
        })
    }
}

fn of_directory(directory: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let wrong = |error: std::io::Error| {
        Failure::Error(format!("cannot read the studies in {}: {error}", directory.display()))
    };
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(directory).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            files.insert(name, seekwell_trust::read_text(&path, 1 << 24).map_err(wrong)?);
        }
    }
    Ok(files)
}

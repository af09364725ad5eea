//! Reports that are written at the end of a run: `junit=PATH`. What they say is in `document`.

use std::path::PathBuf;
use std::str::FromStr;

use crate::document::junit;
use crate::driving::write_whole;
use crate::ended::Ended;
use crate::trouble::Trouble;

/// A report that is wanted.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    path: PathBuf,
}

impl FromStr for Report {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some(("junit", path)) if !path.is_empty() => Ok(Self { path: path.into() }),
            Some((format, _)) if format != "junit" => {
                Err(format!("there is no report `{format}`; there is: junit=PATH"))
            }
            _ => Err("a report is written as junit=PATH".to_owned()),
        }
    }
}

impl Report {
    pub(crate) fn write(&self, ended: &[Ended]) -> Result<(), Trouble> {
        let reports: Vec<_> = ended.iter().map(|ended| &ended.report).collect();
        write_whole(&self.path, &junit::write_all(&reports))
    }
}

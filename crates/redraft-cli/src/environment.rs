//! Variables: those of the process, and behind them those of the project's `.env`. Nothing is ever set; the file never
//! overrides what is there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::settings::{Origin, Sourced};

/// Where variables are looked up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    file: PathBuf,
    written: BTreeMap<String, String>,
}

impl Environment {
    /// Reads the `.env` of a folder, if there is one.
    pub(crate) fn of_project(folder: &Path) -> Self {
        let file = folder.join(".env");
        // A file that cannot be read is as good as none: it may belong to another program.
        let written = std::fs::read_to_string(&file).map(|text| parse(&text)).unwrap_or_default();
        Self { file, written }
    }

    /// Looks a variable up. A blank one counts as not set.
    pub(crate) fn get(&self, name: &str) -> Option<Sourced<String>> {
        if let Some(value) = std::env::var(name).ok().filter(|value| !value.trim().is_empty()) {
            return Some(Sourced { value, origin: Origin::Variable(name.to_owned()) });
        }
        // One that is set and empty says no, and the file does not override it.
        if std::env::var_os(name).is_some() {
            return None;
        }
        let value = self.written.get(name).filter(|value| !value.trim().is_empty())?.clone();
        Some(Sourced { value, origin: Origin::File(self.file.clone(), name.to_owned()) })
    }
}

/// Reads `NAME=value` lines. Lines that are something else are left to whoever wrote them.
fn parse(text: &str) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    for line in text.trim_start_matches('\u{feff}').lines() {
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line);
        let Some((name, value)) = line.split_once('=') else { continue };
        let name = name.trim();
        let good = !name.is_empty()
            && !name.starts_with(|first: char| first.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if good {
            variables.insert(name.to_owned(), unquoted(value.trim()));
        }
    }
    variables
}

fn unquoted(value: &str) -> String {
    if let Some((inside, _)) = value.strip_prefix('\'').and_then(|rest| rest.split_once('\'')) {
        return inside.to_owned();
    }
    if let Some(rest) = value.strip_prefix('"') {
        let mut inside = String::new();
        let mut letters = rest.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '"' => return inside,
                '\\' => match letters.next() {
                    Some('n') => inside.push('\n'),
                    Some('t') => inside.push('\t'),
                    Some(other) => inside.push(other),
                    None => break,
                },
                other => inside.push(other),
            }
        }
    }
    value.split(" #").next().unwrap_or_default().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_variables_is_read_as_shells_read_it() {
        let text = "# a comment\nPLAIN=one two # said aside\nexport SHOUTED = loud\nSINGLE='as $it is # here'\n\
                    DOUBLE=\"a\\nb \\\"c\\\"\"\nEMPTY=\nHASH=a#b\nnot a variable\n1X=no\nA-B=no\n";
        let read = parse(text);
        let expected = [
            ("DOUBLE", "a\nb \"c\""),
            ("EMPTY", ""),
            ("HASH", "a#b"),
            ("PLAIN", "one two"),
            ("SHOUTED", "loud"),
            ("SINGLE", "as $it is # here"),
        ];
        assert_eq!(read.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect::<Vec<_>>(), expected);
    }
}

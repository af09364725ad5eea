//! A draft as files: named code blocks, or the whole text as one file.
//!
//! Pure: nothing is written here, so a path is judged by its letters alone. Whoever writes the files does so below a
//! folder of its own, and does not follow links. A path that could lead out of that folder never leaves this module.
//!
//! A block is named by what stands behind its fence (```` ```rust src/lib.rs ````, `path=`, `file=`, `title=`) or by the
//! line before it, if that holds a path and nothing else (`` `src/lib.rs` ``, a heading, bold, `File: src/lib.rs`).

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fence::{Fence, fences};
use super::{Error, Finding, Position};

/// The files of a draft, in its order. No two have the same path, and none stands where another needs a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files(Vec<File>);

/// A file of a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct File {
    /// Where it belongs: relative, of plain names only.
    pub path: PathBuf,
    /// What it holds.
    pub text: String,
    /// The line of the draft on which it begins, counted from 1.
    pub line: u32,
}

impl Files {
    /// Goes through the files.
    pub fn iter(&self) -> std::slice::Iter<'_, File> {
        self.0.iter()
    }

    /// Returns the file of a path.
    #[must_use]
    pub fn get(&self, path: &Path) -> Option<&File> {
        self.0.iter().find(|file| file.path == path)
    }

    /// Tells which line of the draft a line of a file is.
    #[must_use]
    pub fn line_in_draft(&self, path: &Path, line: u32) -> Option<u32> {
        self.get(path).map(|file| file.line.saturating_add(line.saturating_sub(1)))
    }
}

impl IntoIterator for Files {
    type Item = File;
    type IntoIter = std::vec::IntoIter<File>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Files {
    type Item = &'a File;
    type IntoIter = std::slice::Iter<'a, File>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Patterns of file names, read as in `.gitignore`: without a slash a pattern holds in every folder, and one that fits a
/// folder covers all that is in it. Upper and lower case are the same.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
#[schemars(with = "Vec<String>")]
pub struct Globs {
    patterns: Vec<String>,
    set: GlobSet,
}

impl Globs {
    /// Reads patterns.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn new(patterns: impl IntoIterator<Item = impl Into<String>>) -> Result<Self, Error> {
        let patterns: Vec<String> = patterns.into_iter().map(Into::into).collect();
        let mut set = GlobSetBuilder::new();
        for pattern in &patterns {
            let bad = |reason: String| Error::BadGlob { pattern: pattern.clone(), reason };
            let bare = pattern.trim_start_matches("./").trim_start_matches('/').trim_end_matches('/');
            if bare.is_empty() {
                return Err(bad("it names nothing".to_owned()));
            }
            let anchored = pattern.trim_end_matches('/').contains('/');
            let stem = if anchored { bare.to_owned() } else { format!("**/{bare}") };
            for form in [format!("{stem}/**"), stem] {
                let glob = GlobBuilder::new(&form).literal_separator(true).case_insensitive(true).build();
                set.add(glob.map_err(|error| bad(error.kind().to_string()))?);
            }
        }
        let set = set
            .build()
            .map_err(|error| Error::BadGlob { pattern: patterns.join(" "), reason: error.to_string() })?;
        Ok(Self { patterns, set })
    }

    /// Says whether a path fits one of the patterns.
    #[must_use]
    pub fn holds(&self, path: &Path) -> bool {
        self.set.is_match(path)
    }

    /// Returns the patterns as they were written.
    #[must_use]
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }
}

impl PartialEq for Globs {
    fn eq(&self, other: &Self) -> bool {
        self.patterns == other.patterns
    }
}

impl TryFrom<Vec<String>> for Globs {
    type Error = Error;

    fn try_from(patterns: Vec<String>) -> Result<Self, Error> {
        Self::new(patterns)
    }
}

impl From<Globs> for Vec<String> {
    fn from(globs: Globs) -> Self {
        globs.patterns
    }
}

/// Lays a draft out as files. Blocks without a name are left out if others have one; if none has, there must be only one
/// block, or none, and that is `default_file`.
///
/// # Errors
/// What keeps the draft from being laid out, each blocking: no name, a path that leads elsewhere, a path twice, a
/// protected file.
pub fn lay_out(draft: &str, default_file: Option<&str>, protected: &Globs) -> Result<Files, Vec<Finding>> {
    let blocks = fences(draft);
    let is_markdown = default_file.is_some_and(|name| has_extension(name, &["md", "markdown"]));
    let parts: Vec<Part<'_>> = if is_markdown {
        // The blocks of a Markdown file are its own, unless one is wrapped around the whole of it.
        Vec::new()
    } else {
        blocks.iter().filter_map(|block| Part::of(draft, block)).collect()
    };
    let parts = if parts.is_empty() { vec![only_part(draft, &blocks, default_file)?] } else { parts };

    let mut files = Files::default();
    let mut findings = Vec::new();
    for part in parts {
        match accepted(&part, &files, protected) {
            Ok(path) => {
                let text = draft.get(part.body.clone()).unwrap_or_default().to_owned();
                let line = Position::of(draft, part.body.start).line;
                files.0.push(File { path, text, line });
            }
            Err(finding) => findings.push(finding.about(part.name).span(draft, part.place)),
        }
    }
    if findings.is_empty() { Ok(files) } else { Err(findings) }
}

/// A file before its name is judged.
struct Part<'a> {
    name: &'a str,
    /// Where the name stands.
    place: std::ops::Range<usize>,
    body: std::ops::Range<usize>,
}

impl<'a> Part<'a> {
    fn of(draft: &'a str, block: &Fence<'a>) -> Option<Self> {
        let body = block.body.clone();
        if let Some(name) = name_in_info(block.info) {
            return Some(Self { name, place: block.opening.clone(), body });
        }
        let before = draft.get(..block.opening.start)?.trim_end();
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.get(start..)?;
        // More than one empty line between them: the line speaks of something else.
        let gap = draft.get(before.len()..block.opening.start)?.matches('\n').count();
        let name = (gap <= 2).then(|| name_in_line(line)).flatten()?;
        Some(Self { name, place: start..before.len(), body })
    }
}

fn only_part<'a>(
    draft: &str,
    blocks: &[Fence<'_>],
    default_file: Option<&'a str>,
) -> Result<Part<'a>, Vec<Finding>> {
    let how = "write the path behind the opening fence: ```rust src/lib.rs";
    let Some(name) = default_file else {
        let finding = Finding::new("no-file", "the draft names no file").about("draft").suggest(how);
        return Err(vec![finding]);
    };
    let whole = 0..draft.len();
    let is_markdown = has_extension(name, &["md", "markdown"]);
    let body = match blocks {
        [block, ..] if is_markdown && wraps(block, draft) => block.body.clone(),
        [block] if !is_markdown => block.body.clone(),
        [_, second, ..] if !is_markdown => {
            let message =
                format!("the draft has {} code blocks, and none says which file it is", blocks.len());
            let finding = Finding::new("unnamed-files", message).about("draft").suggest(how);
            return Err(vec![finding.span(draft, second.opening.clone())]);
        }
        _ => whole.clone(),
    };
    Ok(Part { name, place: whole, body })
}

/// Says whether a block stands around the whole of a Markdown text.
fn wraps(block: &Fence<'_>, draft: &str) -> bool {
    let is_empty = |text: Option<&str>| text.is_some_and(|text| text.trim().is_empty());
    is_empty(draft.get(..block.opening.start))
        && is_empty(draft.get(block.end..))
        && matches!(block.info, "" | "md" | "markdown")
}

/// Judges the name of a file, given those before it.
fn accepted(part: &Part<'_>, files: &Files, protected: &Globs) -> Result<PathBuf, Box<Finding>> {
    let name = part.name;
    let unsafe_path = |why: &str| {
        let message = format!("`{}` cannot be a file of the draft: {why}", name.escape_debug());
        Box::new(
            Finding::new("unsafe-path", message)
                .suggest("use a relative path of plain names, with forward slashes"),
        )
    };
    let path = plain_path(name).map_err(unsafe_path)?;
    if protected.holds(&path) {
        let finding = Finding::new("protected-file", format!("`{name}` is protected and cannot be changed"));
        return Err(Box::new(finding.suggest("leave it as it is; change other files")));
    }
    for other in files {
        if other.path == path {
            let finding = Finding::new("duplicate-file", format!("`{name}` is given twice"));
            return Err(Box::new(finding.suggest("give each file once, whole")));
        }
        if other.path.starts_with(&path) || path.starts_with(&other.path) {
            let other = other.path.display();
            return Err(unsafe_path(&format!("of it and `{other}`, one is a file and the other its folder")));
        }
    }
    Ok(path)
}

/// Reads a path that cannot lead out of a folder.
fn plain_path(name: &str) -> Result<PathBuf, &'static str> {
    let bare = name.strip_prefix("./").unwrap_or(name);
    let is_drive = bare.as_bytes().get(1) == Some(&b':');
    match bare {
        "" => return Err("it is empty"),
        _ if bare.starts_with(['/', '~']) || is_drive => return Err("it is not relative"),
        _ if bare.contains('\\') => return Err("it has a backslash"),
        _ if bare.chars().any(char::is_control) => return Err("it has a control character"),
        _ if bare.len() > 1000 => return Err("it is too long"),
        _ => {}
    }
    let mut path = PathBuf::new();
    for part in bare.split('/') {
        match part {
            "" => return Err("a part of it is empty"),
            "." | ".." => return Err("it has a part of dots"),
            _ if part.len() > 255 => return Err("a part of it is too long"),
            _ if part.trim() != part => return Err("a part of it begins or ends with a space"),
            _ => path.push(part),
        }
    }
    Ok(path)
}

/// Finds the name in what stands behind a fence.
fn name_in_info(info: &str) -> Option<&str> {
    let info = info.trim_matches(['{', '}']).trim();
    for key in ["path", "filename", "file", "title", "name"] {
        let mut rest = info;
        while let Some(at) = rest.find(key) {
            let starts_a_word = rest.get(..at)?.ends_with([' ', ',', '{']) || at == 0;
            rest = rest.get(at + key.len()..)?;
            if let Some(value) = rest.strip_prefix('=').filter(|_| starts_a_word) {
                let quote = value.chars().next().filter(|first| matches!(first, '"' | '\''));
                let name = match quote {
                    Some(quote) => value.get(1..)?.split(quote).next().unwrap_or_default(),
                    None => value.split([' ', ',', '}']).next().unwrap_or_default(),
                };
                // A title may as well be a caption.
                if !matches!(key, "title" | "name") || is_path_like(name) {
                    return Some(name);
                }
            }
        }
    }
    let mut words = info.split_whitespace();
    let first = words.next()?;
    let language_and_path = first.split_once(':').map(|(_, path)| path).filter(|path| is_path_like(path));
    if let Some(path) = language_and_path.filter(|_| first.find(':') > Some(1)) {
        return Some(path);
    }
    if is_path_like(first) && !["asp.net", "vb.net", "node.js", "vue.js"].contains(&first) {
        return Some(first);
    }
    words.next().filter(|word| is_path_like(word))
}

/// Finds the name in the line before a fence: a path, dressed up or not, and nothing else.
fn name_in_line(line: &str) -> Option<&str> {
    const DRESS: [char; 6] = ['*', '_', '`', ':', ' ', '\t'];
    let line = line.trim_start_matches(['#', '>', '-', '+']).trim_matches(DRESS);
    let line =
        line.trim_start_matches(|sign: char| sign.is_ascii_digit()).trim_start_matches(['.', ')', ' ']);
    let mut path = line.trim_matches(DRESS);
    for label in ["file name", "filename", "file path", "file", "path"] {
        let labelled = path.get(..label.len()).is_some_and(|start| start.eq_ignore_ascii_case(label));
        let rest =
            path.get(label.len()..).filter(|_| labelled).map(|rest| rest.trim_start_matches(['*', '_']));
        if let Some(rest) = rest.and_then(|rest| rest.trim_start().strip_prefix(':')) {
            path = rest.trim_matches(DRESS);
            break;
        }
    }
    is_path_like(path).then_some(path)
}

/// Says whether a word is most likely a path.
fn is_path_like(word: &str) -> bool {
    const BARE: [&str; 7] =
        ["Makefile", "Dockerfile", "Justfile", "justfile", "Gemfile", "Rakefile", "LICENSE"];
    let is_one_word =
        !word.is_empty() && !word.contains(|sign: char| sign.is_whitespace() || "`\"'=".contains(sign));
    let has_ending = word.rsplit_once('.').is_some_and(|(_, ending)| {
        (1..=12).contains(&ending.len()) && ending.chars().all(|sign| sign.is_ascii_alphanumeric())
    });
    let is_address = word.contains("://");
    is_one_word && !is_address && (has_ending || word.contains(['/', '\\']) || BARE.contains(&word))
}

fn has_extension(name: &str, extensions: &[&str]) -> bool {
    Path::new(name)
        .extension()
        .and_then(|extension| extension.to_str())
        .is_some_and(|extension| extensions.iter().any(|known| known.eq_ignore_ascii_case(extension)))
}

#[cfg(test)]
mod tests;

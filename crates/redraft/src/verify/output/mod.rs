//! What compilers, linters and test runners print, as findings with a place.
//!
//! Pure: text in, findings out; nothing is run here. The text is untrusted, for a draft can print what it likes: whoever
//! decides whether a program succeeded asks its exit code, never this module.
//!
//! Errors and failed tests are blocking, warnings are minor. The subject of a finding has no line numbers, so that a
//! finding that only moved keeps its id. To add a format: a variant of [`Format`], a reader in one of the files below
//! that gives nothing when it does not recognise the text, and a recorded output in `fixtures`.

mod javascript;
mod lines;
mod python;
mod rust;

use std::borrow::Cow;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Finding, Place, Position, Severity};

/// Which program's words they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Format {
    /// Whatever is recognised.
    #[default]
    Auto,
    /// `cargo --message-format=json` and `rustc --error-format=json`; tests among it as [`Format::RustTest`].
    Cargo,
    /// `rustc` and `cargo` as people see them.
    Rustc,
    /// Rust's test runner, and panics.
    RustTest,
    /// pytest.
    Pytest,
    /// Python's `unittest`.
    Unittest,
    /// A Python traceback.
    Python,
    /// The TypeScript compiler.
    Tsc,
    /// ESLint, as people see it or with `--format json`.
    Eslint,
    /// `file:line:column: error: message`: gcc, clang, javac and many others.
    Gcc,
    /// `go build`, `go vet` and `go test`.
    Go,
    /// Nothing that could be read: only the end of it is kept.
    Plain,
}

/// How many findings are kept; what is left out is counted.
const MOST_FINDINGS: usize = 50;

/// How many characters of output a finding keeps.
const MOST_EVIDENCE: usize = 2000;

/// How many bytes of each stream are read; of a longer one the middle is left out.
const MOST_READ: usize = 1 << 20;

/// Reads what a program printed.
///
/// At most fifty findings are given, errors before warnings, and one that counts the rest. If nothing is recognised,
/// there is one with the end of the output, as [`tail`] gives it.
#[must_use]
pub fn findings(format: Format, stdout: &str, stderr: &str) -> Vec<Finding> {
    let (out, err) =
        (without_escapes(&readable(stdout)).into_owned(), without_escapes(&readable(stderr)).into_owned());
    let both = format!("{err}\n{out}");
    let read = |reader: fn(&str) -> Vec<Finding>| reader(&both);
    let found = match format {
        Format::Auto => recognised(&both),
        Format::Cargo => [read(rust::json), read(rust::tests)].concat(),
        Format::Rustc => read(rust::human),
        Format::RustTest => [read(rust::human), read(rust::tests)].concat(),
        Format::Pytest => read(python::pytest),
        Format::Unittest => read(python::unittest),
        Format::Python => read(python::tracebacks),
        Format::Tsc => read(javascript::tsc),
        Format::Eslint => [read(javascript::eslint_json), read(javascript::eslint)].concat(),
        Format::Gcc => read(lines::gcc),
        Format::Go => read(lines::go),
        Format::Plain => Vec::new(),
    };
    if found.is_empty() { vec![tail(stdout, stderr)] } else { bounded(found) }
}

/// Makes a finding of the end of a program's output, for when nothing else tells what is wrong.
#[must_use]
pub fn tail(stdout: &str, stderr: &str) -> Finding {
    let (out, err) = (without_escapes(stdout), without_escapes(stderr));
    let text = if err.trim().is_empty() { out.trim_end() } else { err.trim_end() };
    let Some(last) = text.lines().last() else {
        return Finding::new("output", "the program failed without a word").about("output");
    };
    let start = text.char_indices().rev().nth(MOST_EVIDENCE).map_or(0, |(at, _)| at);
    let message = format!("the program failed; the last thing it said was: {}", shortened(last.trim(), 200));
    Finding::new("output", message).about("output").evidence(text.get(start..).unwrap_or(text))
}

/// Writes paths below a folder relative to it, so that the same finding has the same words wherever the draft was
/// checked.
pub fn relative_to(root: &Path, findings: &mut [Finding]) {
    let root = format!("{}/", root.display());
    let strip = |text: &mut String| {
        if root.len() > 1 && text.contains(&root) {
            *text = text.replace(&root, "");
        }
    };
    for finding in findings {
        if let Some(Place::Span { file: Some(file), .. }) = &mut finding.place {
            strip(file);
        }
        strip(&mut finding.message);
        for text in
            [&mut finding.evidence, &mut finding.suggestion, &mut finding.subject].into_iter().flatten()
        {
            strip(text);
        }
    }
}

fn recognised(text: &str) -> Vec<Finding> {
    let readers: [fn(&str) -> Vec<Finding>; 9] = [
        |text| {
            let found = rust::json(text);
            if found.is_empty() { found } else { [found, rust::tests(text)].concat() }
        },
        javascript::eslint_json,
        python::pytest,
        python::unittest,
        javascript::tsc,
        |text| [rust::human(text), rust::tests(text)].concat(),
        javascript::eslint,
        lines::go,
        // A traceback of a compiler that is written in Python says less than what it printed before.
        |text| {
            let found = lines::gcc(text);
            if found.is_empty() { python::tracebacks(text) } else { found }
        },
    ];
    readers.iter().map(|reader| reader(text)).find(|found| !found.is_empty()).unwrap_or_default()
}

fn bounded(mut found: Vec<Finding>) -> Vec<Finding> {
    found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let rest: Vec<Finding> = found.drain(found.len().min(MOST_FINDINGS)..).collect();
    if let Some(worst) = rest.iter().map(|finding| finding.severity).max() {
        let message = format!("and {} more", rest.len());
        found.push(Finding::new("more", message).severity(worst).about("more"));
    }
    found
}

/// A place in a file, as programs print it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Spot {
    file: String,
    line: u32,
    column: Option<u32>,
    end: Option<(u32, u32)>,
}

impl Spot {
    fn new(file: &str, line: u32, column: Option<u32>) -> Self {
        Self { file: file.strip_prefix("./").unwrap_or(file).to_owned(), line, column, end: None }
    }

    /// Reads `file:line:column` or `file:line`.
    fn parse(text: &str) -> Option<Self> {
        let (front, last) = text.rsplit_once(':')?;
        let last: u32 = last.parse().ok()?;
        if let Some((file, line)) = front.rsplit_once(':')
            && let Ok(line) = line.parse()
        {
            return (!file.is_empty()).then(|| Self::new(file, line, Some(last)));
        }
        (!front.is_empty()).then(|| Self::new(front, last, None))
    }

    fn place(&self) -> Place {
        Place::Span {
            file: Some(self.file.clone()),
            start: Position { line: self.line, column: self.column },
            end: self.end.map(|(line, column)| Position { line, column: Some(column) }),
        }
    }
}

/// Makes a finding of what a compiler or linter says.
fn said(rule: &str, severity: Severity, message: &str, spot: Option<&Spot>) -> Finding {
    let message = shortened(message.trim(), 500);
    let file = spot.map_or("", |spot| spot.file.as_str());
    let finding = Finding::new(rule, message.clone()).severity(severity).about(format!("{file}: {message}"));
    match spot {
        Some(spot) => finding.at(spot.place()),
        None => finding,
    }
}

/// Makes a finding of a failed test.
fn failed(test: &str, message: &str, spot: Option<&Spot>) -> Finding {
    let message = format!("`{test}` failed: {}", shortened(message.trim(), 500));
    let finding = Finding::new(test, message).about(test);
    match spot {
        Some(spot) => finding.at(spot.place()),
        None => finding,
    }
}

/// Adds the lines that show a finding, if there are any.
fn shown(finding: Finding, text: &str) -> Finding {
    let text = text.trim_matches('\n').trim_end();
    if text.is_empty() { finding } else { finding.evidence(shortened(text, MOST_EVIDENCE)) }
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}

/// Leaves out the middle of what is too long to be read.
fn readable(text: &str) -> Cow<'_, str> {
    if text.len() <= MOST_READ {
        return Cow::Borrowed(text);
    }
    let head = text.floor_char_boundary(MOST_READ / 2);
    let rest = text.ceil_char_boundary(text.len() - MOST_READ / 2);
    Cow::Owned([text.get(..head), text.get(rest..)].map(Option::unwrap_or_default).join("\n"))
}

/// Takes out what only colours a terminal, and the carriage returns of Windows.
fn without_escapes(text: &str) -> Cow<'_, str> {
    if !text.contains(['\u{1b}', '\r']) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut signs = text.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '\r' => {}
            '\u{1b}' => match signs.next() {
                // CSI: up to a letter or the like. OSC: up to BEL or the string terminator.
                Some('[') => while signs.next().is_some_and(|sign| !('@'..='~').contains(&sign)) {},
                Some(']') => {
                    while let Some(sign) = signs.next() {
                        if sign == '\u{7}' || (sign == '\u{1b}' && signs.next_if_eq(&'\\').is_some()) {
                            break;
                        }
                    }
                }
                _ => {}
            },
            _ => plain.push(sign),
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests;

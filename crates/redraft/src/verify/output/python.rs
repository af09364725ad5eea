//! Python: tracebacks, `unittest`, pytest.

use std::collections::HashSet;

use super::{Finding, Severity, Spot, failed, said, shown};

/// How many lines a failed test may say.
const LONGEST: usize = 500;

/// Says whether a file belongs to Python or a package rather than to the draft.
fn is_foreign(file: &str) -> bool {
    ["site-packages/", "dist-packages/", "lib/python3", "/unittest/"].iter().any(|part| file.contains(part))
        || file.starts_with('<')
}

/// The innermost place of the draft's own, or the innermost of all.
fn own(spots: &[Spot]) -> Option<&Spot> {
    spots.iter().rev().find(|spot| !is_foreign(&spot.file)).or_else(|| spots.last())
}

/// Reads `  File "app.py", line 6, in first`.
fn frame(line: &str) -> Option<Spot> {
    let (file, rest) = line.trim_start().strip_prefix("File \"")?.split_once("\", line ")?;
    let number = rest.split(',').next()?.trim();
    Some(Spot::new(file, number.parse().ok()?, None))
}

/// Reads `IndexError: list index out of range`: the kind, and the words.
fn exception(line: &str) -> Option<(&str, &str)> {
    let (name, words) = line.split_once(':').unwrap_or((line, ""));
    let is_name = !name.is_empty()
        && name.split('.').all(|part| {
            part.starts_with(|sign: char| sign.is_alphabetic() || sign == '_')
                && part.chars().all(|sign| sign.is_alphanumeric() || sign == '_')
        });
    let kind = name.rsplit('.').next().unwrap_or(name);
    let is_kind = kind.starts_with(char::is_uppercase)
        && (words.starts_with(' ') || words.is_empty())
        && (line.contains(':')
            || kind.ends_with("Error")
            || kind.ends_with("Exception")
            || kind.ends_with("Exit"));
    (is_name && is_kind).then(|| (kind, words.trim()))
}

/// A traceback that has been read: what ended it, and where it was.
struct Traceback<'a> {
    kind: &'a str,
    words: &'a str,
    spots: Vec<Spot>,
    /// The lines of it.
    lines: std::ops::Range<usize>,
}

/// Reads the tracebacks of a text; those that one another caused count as one, the last.
fn read<'a>(lines: &[&'a str]) -> Vec<Traceback<'a>> {
    let mut found: Vec<Traceback<'a>> = Vec::new();
    let (mut spots, mut start) = (Vec::new(), 0);
    let mut chained = false;
    for (at, line) in lines.iter().enumerate() {
        if let Some(spot) = frame(line) {
            if spots.is_empty() {
                let has_title =
                    at > 0 && lines.get(at - 1).is_some_and(|line| line.starts_with("Traceback "));
                start = if has_title { at - 1 } else { at };
            }
            spots.push(spot);
        } else if line.starts_with("The above exception was")
            || line.starts_with("During handling of the above")
        {
            chained = true;
        } else if !spots.is_empty()
            && !line.starts_with(' ')
            && let Some((kind, words)) = exception(line)
        {
            if chained && let Some(cause) = found.pop() {
                start = cause.lines.start;
            }
            chained = false;
            found.push(Traceback { kind, words, spots: std::mem::take(&mut spots), lines: start..at + 1 });
        }
    }
    found
}

/// Reads tracebacks.
pub(super) fn tracebacks(text: &str) -> Vec<Finding> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for traceback in read(&lines) {
        let message = match traceback.words {
            "" => traceback.kind.to_owned(),
            words => format!("{}: {words}", traceback.kind),
        };
        let shows = lines.get(traceback.lines.clone()).unwrap_or_default().join("\n");
        found.push(shown(said(traceback.kind, Severity::Blocking, &message, own(&traceback.spots)), &shows));
    }
    found
}

/// Reads what `unittest` prints.
pub(super) fn unittest(text: &str) -> Vec<Finding> {
    let lines: Vec<&str> = text.lines().collect();
    let is_rule = |line: Option<&&str>, sign: char| {
        line.is_some_and(|line| line.len() >= 60 && line.chars().all(|other| other == sign))
    };
    let mut found = Vec::new();
    for at in 1..lines.len() {
        let title = lines
            .get(at)
            .and_then(|line| line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: ")));
        let Some(title) = title.filter(|_| is_rule(lines.get(at - 1), '=')) else { continue };
        let body: Vec<&str> = lines.iter().skip(at + 1).take(LONGEST).copied().collect();
        let first = usize::from(is_rule(body.first(), '-'));
        let rest = body.get(first..).unwrap_or_default();
        let end = (0..rest.len()).find(|&at| is_rule(rest.get(at), '=') || is_rule(rest.get(at), '-'));
        let body = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        let traceback = read(body).pop();
        let message = traceback.as_ref().map_or_else(
            || "it said nothing".to_owned(),
            |traceback| format!("{}: {}", traceback.kind, traceback.words),
        );
        let spot = traceback.as_ref().and_then(|traceback| own(&traceback.spots));
        found.push(shown(failed(&unittest_name(title), &message, spot), &body.join("\n")));
    }
    found
}

/// Turns `test_adds (test_unit.AddTest.test_adds) (n=0)` into `AddTest.test_adds (n=0)`.
fn unittest_name(title: &str) -> String {
    let read = || {
        let (method, rest) = title.split_once(" (")?;
        let (path, rest) = rest.split_once(')')?;
        let class =
            path.strip_suffix(method).map_or(path, |path| path.trim_end_matches('.')).rsplit('.').next()?;
        Some(format!("{class}.{method}{rest}"))
    };
    read().unwrap_or_else(|| title.to_owned())
}

/// Reads what pytest prints, in any of its styles.
pub(super) fn pytest(text: &str) -> Vec<Finding> {
    let lines: Vec<&str> = text.lines().collect();
    let summary = summary(&lines);
    if summary.is_empty() && !text.contains("= test session starts =") {
        return Vec::new();
    }
    let mut found = Vec::new();
    let places = places(&lines);
    let mut told: HashSet<String> = HashSet::new();
    let mut at = 0;
    while at < lines.len() {
        let Some(title) = lines.get(at).and_then(|line| title(line, '_')) else {
            at += 1;
            continue;
        };
        let is_end = |line: &&str| title_of_section(line) || self::title(line, '_').is_some();
        let length = lines.iter().skip(at + 1).take_while(|line| !is_end(line)).count();
        let body = lines.get(at + 1..at + 1 + length).unwrap_or_default();
        at += 1 + length;
        let name = ["ERROR at setup of ", "ERROR at teardown of ", "ERROR collecting "]
            .iter()
            .find_map(|start| title.strip_prefix(start))
            .unwrap_or(title);
        let words: Vec<&str> =
            body.iter().filter_map(|line| line.strip_prefix("E ")).map(str::trim).collect();
        if words.is_empty() && body.iter().all(|line| line.trim().is_empty()) {
            continue;
        }
        let spots: Vec<Spot> = body.iter().filter_map(|line| location(line)).collect();
        // The line with which a failed `assert` begins says nothing that the test's name does not.
        let message = words.first().copied().unwrap_or("it said nothing");
        told.insert(name.to_owned());
        let spot = own(&spots).cloned().or_else(|| spot_of(&places, message));
        found.push(shown(failed(name, message, spot.as_ref()), &body.join("\n")));
    }
    for (id, message) in summary {
        let name = id.split_once("::").map_or(id, |(_, name)| name).replace("::", ".");
        if told.insert(name.clone()) {
            found.push(failed(&name, message, spot_of(&places, message).as_ref()));
        }
    }
    found
}

/// Reads `____ test_adds ____`.
fn title(line: &str, sign: char) -> Option<&str> {
    let start = line.trim_start_matches(sign);
    let inner = start.trim_end_matches(sign);
    let is_title = start.len() < line.len() && inner.len() < start.len();
    let title = inner.strip_prefix(' ')?.strip_suffix(' ')?;
    (is_title && !title.is_empty() && !title.starts_with(sign)).then_some(title)
}

fn title_of_section(line: &str) -> bool {
    line.len() >= 40 && title(line, '=').is_some()
}

/// Reads `FAILED test_app.py::test_adds - AssertionError: two and three`.
fn summary<'a>(lines: &[&'a str]) -> Vec<(&'a str, &'a str)> {
    let start = lines.iter().position(|line| title(line, '=') == Some("short test summary info"));
    let after = start.and_then(|at| lines.get(at + 1..)).unwrap_or_default();
    after
        .iter()
        .filter_map(|line| line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR ")))
        .map(|line| line.split_once(" - ").unwrap_or((line, "it said nothing")))
        .collect()
}

/// Reads `app.py:6: IndexError` and `app.py:6: in first`.
fn location(line: &str) -> Option<Spot> {
    if line.starts_with([' ', '>', 'E']) && !line.starts_with("E:") {
        return None;
    }
    let (place, after) = line.split_once(": ").or_else(|| line.strip_suffix(':').map(|place| (place, "")))?;
    let is_place = after.is_empty() || after.starts_with("in ") || exception(after.trim()).is_some();
    Spot::parse(place).filter(|spot| is_place && spot.column.is_none() && !spot.file.contains(' '))
}

/// Finds the place that stands before this message.
fn spot_of(places: &[(Spot, &str)], message: &str) -> Option<Spot> {
    let start = message.trim_end_matches("...");
    places.iter().find(|(_, words)| words.starts_with(start)).map(|(spot, _)| spot.clone())
}

/// Reads the lines `app.py:6: words`, by which style `line` says where.
fn places<'a>(lines: &[&'a str]) -> Vec<(Spot, &'a str)> {
    let place = |line: &&'a str| {
        let (place, words) = line.split_once(": ")?;
        let spot = Spot::parse(place).filter(|spot| spot.column.is_none() && !spot.file.contains(' '))?;
        Some((spot, words))
    };
    lines.iter().filter_map(place).take(LONGEST).collect()
}

//! rustc and cargo, as JSON and as people see them; Rust's test runner.

use std::collections::HashSet;

use serde::Deserialize;

use super::{Finding, Severity, Spot, failed, said, shown};

/// A line of `--message-format=json` holds the diagnostic inside; one of `--error-format=json` is the diagnostic.
#[derive(Deserialize)]
struct Line {
    reason: Option<String>,
    message: Option<serde_json::Value>,
    level: Option<String>,
}

#[derive(Deserialize)]
struct Diagnostic {
    message: String,
    level: String,
    code: Option<Code>,
    #[serde(default)]
    spans: Vec<Span>,
    #[serde(default)]
    children: Vec<Diagnostic>,
    rendered: Option<String>,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    line_start: u32,
    line_end: u32,
    column_start: u32,
    column_end: u32,
    is_primary: bool,
    label: Option<String>,
    suggested_replacement: Option<String>,
    expansion: Option<Box<Expansion>>,
}

/// Where a macro was called: what it holds is the draft's, what it expands to may not be.
#[derive(Deserialize)]
struct Expansion {
    span: Span,
}

impl Span {
    fn spot(&self) -> Spot {
        match &self.expansion {
            Some(expansion) if self.file_name.starts_with(['<', '/']) => expansion.span.spot(),
            _ => Spot {
                end: Some((self.line_end, self.column_end)),
                ..Spot::new(&self.file_name, self.line_start, Some(self.column_start))
            },
        }
    }
}

/// Reads the JSON of cargo and rustc.
pub(super) fn json(text: &str) -> Vec<Finding> {
    text.lines()
        .filter(|line| line.starts_with('{'))
        .filter_map(diagnostic)
        .filter_map(of_diagnostic)
        .collect()
}

fn diagnostic(line: &str) -> Option<Diagnostic> {
    let head: Line = serde_json::from_str(line).ok()?;
    match (head.reason.as_deref(), head.level) {
        (Some("compiler-message"), _) => serde_json::from_value(head.message?).ok(),
        (None, Some(_)) => serde_json::from_str(line).ok(),
        _ => None,
    }
}

fn of_diagnostic(diagnostic: Diagnostic) -> Option<Finding> {
    let severity = severity(&diagnostic.level)?;
    if is_summary(&diagnostic.message) {
        return None;
    }
    let primary = diagnostic.spans.iter().find(|span| span.is_primary).or_else(|| diagnostic.spans.first());
    let message = match primary.and_then(|span| span.label.as_ref()) {
        Some(label) => format!("{}: {label}", diagnostic.message),
        None => diagnostic.message,
    };
    let rule = diagnostic.code.map_or_else(|| rule_of(severity).to_owned(), |code| code.code);
    let finding = said(&rule, severity, &message, primary.map(Span::spot).as_ref());
    let helps: Vec<String> = diagnostic.children.iter().filter_map(help).take(3).collect();
    let finding = if helps.is_empty() { finding } else { finding.suggest(helps.join("; or ")) };
    Some(shown(finding, diagnostic.rendered.as_deref().unwrap_or_default()))
}

fn help(child: &Diagnostic) -> Option<String> {
    let fixes: Vec<String> = child
        .spans
        .iter()
        .filter_map(|span| {
            let spot = span.spot();
            let place = format!("{}:{}:{}", spot.file, spot.line, span.column_start);
            Some(match span.suggested_replacement.as_deref()? {
                "" => format!("remove what is at {place}"),
                text => format!("`{}` at {place}", text.trim_end()),
            })
        })
        .collect();
    match fixes.as_slice() {
        [] if child.level == "help" => Some(child.message.clone()),
        [] => None,
        fixes => Some(format!("{}: {}", child.message, fixes.join(", "))),
    }
}

/// Reads what rustc and cargo print for people.
pub(super) fn human(text: &str) -> Vec<Finding> {
    let lines: Vec<&str> = text.lines().collect();
    let is_cargo = text.contains("could not compile");
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let Some((severity, code, message)) = heading(line) else {
            at += 1;
            continue;
        };
        let end = end_of_block(&lines, at);
        let block = lines.get(at..end).unwrap_or_default();
        let spot = block
            .iter()
            .find_map(|line| line.trim_start().strip_prefix("--> "))
            .and_then(|place| Spot::parse(place.trim()));
        // Without a place it may be any program that says "error"; cargo's own words are known by their summary.
        if !is_summary(message) && (spot.is_some() || code.is_some() || is_cargo) {
            let rule = code.unwrap_or_else(|| rule_of(severity));
            let finding = shown(said(rule, severity, message, spot.as_ref()), &block.join("\n"));
            found.push(match helps(block).as_slice() {
                [] => finding,
                helps => finding.suggest(helps.join("; or ")),
            });
        }
        at = end;
    }
    found
}

/// Reads `error[E0308]: message`.
fn heading(line: &str) -> Option<(Severity, Option<&str>, &str)> {
    let (word, message) = line.split_once(": ")?;
    let (level, code) = match word.strip_suffix(']').and_then(|word| word.split_once('[')) {
        Some((level, code)) => (level, Some(code)),
        None => (word, None),
    };
    Some((severity(level)?, code, message))
}

/// Finds where a message ends: at an empty line, unless what follows still belongs to it.
fn end_of_block(lines: &[&str], start: usize) -> usize {
    let belongs = |line: &str| {
        line.starts_with([' ', '|', '=']) || line.starts_with(|sign: char| sign.is_ascii_digit())
    };
    let mut at = start + 1;
    while let Some(line) = lines.get(at) {
        let next_belongs = lines.get(at + 1).is_some_and(|next| belongs(next));
        if heading(line).is_some() || (line.is_empty() && !next_belongs) {
            break;
        }
        at += 1;
    }
    at
}

fn helps(block: &[&str]) -> Vec<String> {
    block
        .iter()
        .enumerate()
        .filter_map(|(at, line)| {
            let help = line.trim_start_matches([' ', '=']).strip_prefix("help: ")?;
            // The line with the number, two below, shows the text as it would be.
            let after = block.get(at + 2).filter(|_| line.starts_with("help"));
            let code = after.and_then(|line| line.split_once(" | ").or_else(|| line.split_once(" + ")));
            Some(match code {
                Some((number, code)) if number.trim().parse::<u32>().is_ok() => {
                    format!("{help}: `{}`", code.trim())
                }
                _ => help.to_owned(),
            })
        })
        .take(3)
        .collect()
}

fn severity(level: &str) -> Option<Severity> {
    match level {
        "error" | "error: internal compiler error" => Some(Severity::Blocking),
        "warning" => Some(Severity::Minor),
        _ => None,
    }
}

fn rule_of(severity: Severity) -> &'static str {
    if severity == Severity::Blocking { "error" } else { "warning" }
}

/// Says whether a message only counts others.
fn is_summary(message: &str) -> bool {
    let starts =
        ["aborting due to", "could not compile", "test failed, to rerun", "doctest failed, to rerun"];
    starts.iter().any(|start| message.starts_with(start))
        || message.ends_with("target failed:")
        || message.ends_with("targets failed:")
        || message.ends_with("warning emitted")
        || message.ends_with("warnings emitted")
        || (message.contains(" generated ") && message.contains(" warning"))
}

/// Reads what Rust's test runner prints, and panics elsewhere.
pub(super) fn tests(text: &str) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    let mut section: Option<(&str, Vec<&str>)> = None;
    let mut outside = Vec::new();
    let mut names = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("---- ").and_then(|line| line.strip_suffix(" stdout ----")) {
            found.extend(section.replace((name, Vec::new())).map(of_section));
        } else if line == "failures:" || line.starts_with("test result:") {
            found.extend(section.take().map(of_section));
        } else if let Some((_, lines)) = &mut section {
            lines.push(line);
        } else if let Some(name) =
            line.strip_prefix("test ").and_then(|line| line.strip_suffix(" ... FAILED"))
        {
            names.push(plain_name(name.strip_suffix(" - should panic").unwrap_or(name)));
        } else {
            outside.push(line);
        }
    }
    found.extend(section.take().map(of_section));
    let mut told: HashSet<String> = found.iter().map(|finding| finding.rule.clone()).collect();
    for name in names {
        if told.insert(name.clone()) {
            found.push(failed(&name, "it said nothing", None));
        }
    }
    if found.is_empty()
        && let Some((spot, message)) = panic(&outside)
    {
        found.push(shown(said("panic", Severity::Blocking, &message, spot.as_ref()), &outside.join("\n")));
    }
    found
}

/// Takes the line number out of the name of a test in a comment.
fn plain_name(name: &str) -> String {
    match name.split_once(" (line ") {
        Some((front, _)) => front.to_owned(),
        None => name.to_owned(),
    }
}

fn of_section((name, lines): (&str, Vec<&str>)) -> Finding {
    let body = lines.join("\n");
    // A test in a comment that does not compile holds the compiler's words.
    if let Some(inner) = human(&body).into_iter().find(Finding::is_blocking) {
        let finding = shown(failed(&plain_name(name), &inner.message, None), &body);
        return Finding { place: inner.place, suggestion: inner.suggestion, ..finding };
    }
    let (spot, message) = panic(&lines).unwrap_or_else(|| {
        let note = "note: test did not panic as expected";
        match lines.iter().find_map(|line| line.strip_prefix(note)) {
            Some(place) => {
                let spot = place.trim().strip_prefix("at ").and_then(Spot::parse);
                (spot, "it did not panic as expected".to_owned())
            }
            None => {
                let last = lines.iter().rev().find(|line| !line.trim().is_empty());
                (None, last.copied().unwrap_or("it said nothing").to_owned())
            }
        }
    });
    shown(failed(&plain_name(name), &message, spot.as_ref()), &body)
}

/// Finds the first panic: its place and its words.
fn panic(lines: &[&str]) -> Option<(Option<Spot>, String)> {
    let (at, place) = lines.iter().enumerate().find_map(|(at, line)| {
        let place = line.split_once(" panicked at ").filter(|_| line.starts_with("thread '"))?.1;
        Some((at, place))
    })?;
    // Before Rust 1.73: panicked at 'message', src/lib.rs:1:2
    if let Some((message, place)) = place.strip_prefix('\'').and_then(|rest| rest.rsplit_once("', ")) {
        return Some((Spot::parse(place), message.to_owned()));
    }
    let is_over =
        |line: &&&str| line.starts_with("note: ") || **line == "stack backtrace:" || line.is_empty();
    let words = lines.get(at + 1..)?.iter().take_while(|line| !is_over(line));
    let words: Vec<&str> = words.map(|line| line.trim()).collect();
    Some((Spot::parse(place.trim_end_matches(':')), words.join(", ")))
}

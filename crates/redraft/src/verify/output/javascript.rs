//! The TypeScript compiler and ESLint.

use serde::Deserialize;

use super::{Finding, Severity, Spot, said, shown};

/// Reads what `tsc` prints, with and without `--pretty`.
pub(super) fn tsc(text: &str) -> Vec<Finding> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let Some((spot, severity, code, message)) = lines.get(at).and_then(|line| tsc_line(line)) else {
            at += 1;
            continue;
        };
        let is_end = |line: &&str| tsc_line(line).is_some() || line.starts_with("Found ");
        let length = lines.iter().skip(at + 1).take_while(|line| !is_end(line)).count();
        let block = lines.get(at + 1..at + 1 + length).unwrap_or_default();
        // Without `--pretty` what follows a message and is not indented is another program's.
        let is_pretty =
            block.first().is_some_and(|line| line.is_empty()) || block.iter().any(|line| line.contains('~'));
        let shows: Vec<&str> =
            block.iter().take_while(|line| is_pretty || line.starts_with(' ')).copied().collect();
        at += 1 + length;
        let finding = said(code, severity, message, spot.as_ref());
        let finding = match message.split_once("Did you mean ").and_then(|(_, rest)| rest.split('?').next()) {
            Some(meant) => finding.suggest(format!("did you mean {meant}?")),
            None => finding,
        };
        found.push(shown(finding, &shows.join("\n")));
    }
    found
}

/// Reads `a.ts(6,38): error TS2322: message` and `a.ts:6:38 - error TS2322: message`; `error TS5083: message` has no place.
fn tsc_line(line: &str) -> Option<(Option<Spot>, Severity, &str, &str)> {
    let at = line.find("error TS").or_else(|| line.find("warning TS"))?;
    let (front, rest) = line.split_at(at);
    let spot = if let Some(place) = front.strip_suffix(" - ") {
        Some(Spot::parse(place)?)
    } else if let Some(place) = front.strip_suffix("): ") {
        let (file, place) = place.rsplit_once('(')?;
        let (line, column) = place.split_once(',')?;
        Some(Spot::new(file, line.parse().ok()?, column.parse().ok()))
    } else if front.is_empty() {
        None
    } else {
        return None;
    };
    let severity = if rest.starts_with("error") { Severity::Blocking } else { Severity::Minor };
    let (code, message) = rest.split_once(' ')?.1.split_once(": ")?;
    code.get(2..)?.parse::<u32>().ok()?;
    Some((spot, severity, code, message))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Linted {
    file_path: String,
    messages: Vec<Message>,
    source: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    rule_id: Option<String>,
    severity: u8,
    message: String,
    line: Option<u32>,
    column: Option<u32>,
    end_line: Option<u32>,
    end_column: Option<u32>,
    #[serde(default)]
    suggestions: Vec<Suggestion>,
    fix: Option<Fix>,
}

#[derive(Deserialize)]
struct Suggestion {
    desc: String,
}

#[derive(Deserialize)]
struct Fix {
    text: String,
}

/// Reads the JSON of ESLint.
pub(super) fn eslint_json(text: &str) -> Vec<Finding> {
    let json = text.lines().find(|line| line.starts_with("[{\"filePath\"")).unwrap_or(text).trim();
    let files: Vec<Linted> = serde_json::from_str(json).unwrap_or_default();
    let mut found = Vec::new();
    for file in files {
        for message in file.messages {
            let spot = message.line.map(|line| Spot {
                end: message.end_line.zip(message.end_column),
                ..Spot::new(&file.file_path, line, message.column)
            });
            let rule = message.rule_id.as_deref().unwrap_or("parsing-error");
            let finding = said(rule, eslint_severity(message.severity == 2), &message.message, spot.as_ref());
            let source = message.line.zip(file.source.as_deref());
            let line = source.and_then(|(line, source)| source.lines().nth(line.saturating_sub(1) as usize));
            let finding = shown(finding, line.unwrap_or_default());
            let advice = message.suggestions.into_iter().map(|suggestion| suggestion.desc).next();
            let fix =
                message.fix.filter(|fix| !fix.text.is_empty()).map(|fix| format!("write `{}`", fix.text));
            found.push(match advice.or(fix) {
                Some(advice) => finding.suggest(advice),
                None => finding,
            });
        }
    }
    found
}

/// Reads what ESLint prints for people: a line with the file, then its messages.
pub(super) fn eslint(text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut file = "";
    for line in text.lines() {
        if line.starts_with([' ', '\t']) {
            found.extend(eslint_line(file, line).filter(|_| !file.is_empty()));
        } else {
            file = line.trim();
        }
    }
    found
}

/// Reads `  3:9   error    message   rule`.
fn eslint_line(file: &str, line: &str) -> Option<Finding> {
    let mut parts = line.trim().split("  ").map(str::trim).filter(|part| !part.is_empty());
    let (row, column) = parts.next()?.split_once(':')?;
    let spot = Spot::new(file, row.parse().ok()?, Some(column.parse().ok()?));
    let is_error = match parts.next()? {
        "error" => true,
        "warning" => false,
        _ => return None,
    };
    let parts: Vec<&str> = parts.collect();
    let (rule, message) = match parts.as_slice() {
        [] => return None,
        [message] => ("parsing-error", (*message).to_owned()),
        [message @ .., rule] => (*rule, message.join("  ")),
    };
    Some(said(rule, eslint_severity(is_error), &message, Some(&spot)))
}

fn eslint_severity(is_error: bool) -> Severity {
    if is_error { Severity::Blocking } else { Severity::Minor }
}

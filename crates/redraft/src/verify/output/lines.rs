//! Programs that print a message a line: gcc, clang, javac, linkers; Go.

use super::{Finding, Severity, Spot, failed, said, shown};

/// Reads `file:line:column: error: message` and the words of linkers.
pub(super) fn gcc(text: &str) -> Vec<Finding> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some((spot, level, message)) = gcc_line(line) {
            let severity = match level {
                "error" | "fatal error" => Severity::Blocking,
                "warning" => Severity::Minor,
                _ => continue,
            };
            let (message, flag) = flagged(message);
            let rule = flag.unwrap_or(if severity == Severity::Blocking { "error" } else { "warning" });
            let is_picture = |line: &&&str| line.starts_with(' ');
            let picture: Vec<&str> = lines.iter().skip(at + 1).take_while(is_picture).copied().collect();
            let finding = shown(said(rule, severity, message, Some(&spot)), &picture.join("\n"));
            found.push(
                match message.split_once("did you mean ").and_then(|(_, rest)| rest.split('?').next()) {
                    Some(meant) => finding.suggest(format!("did you mean {meant}?")),
                    None => finding,
                },
            );
        } else if let Some((place, name)) = line.split_once("undefined reference to ") {
            let message = format!("undefined reference to {name}");
            let spot = Spot::parse(place.trim().trim_end_matches(':'));
            found.push(shown(said("undefined-reference", Severity::Blocking, &message, spot.as_ref()), line));
        }
    }
    found
}

fn gcc_line(line: &str) -> Option<(Spot, &str, &str)> {
    for level in ["fatal error", "error", "warning", "note"] {
        let mark = format!(": {level}: ");
        if let Some((place, message)) = line.split_once(&mark)
            && let Some(spot) = Spot::parse(place).filter(|spot| !spot.file.starts_with(' '))
        {
            let at = place.len() + 2;
            return Some((spot, line.get(at..at + level.len())?, message));
        }
    }
    None
}

/// Takes the flag off the end of a message: `unused variable ‘n’ [-Wunused-variable]`.
fn flagged(message: &str) -> (&str, Option<&str>) {
    let flag = message.strip_suffix(']').and_then(|front| front.rsplit_once(" [-"));
    match flag {
        Some((message, flag)) => (message, Some(flag)),
        None => (message, None),
    }
}

/// Reads what `go build`, `go vet` and `go test` print.
pub(super) fn go(text: &str) -> Vec<Finding> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        if let Some(title) = line.trim_start().strip_prefix("--- FAIL: ") {
            let name = title.split(" (").next().unwrap_or(title);
            let depth = line.len() - line.trim_start().len();
            let is_inside = |line: &&&str| {
                line.len() - line.trim_start().len() > depth && !line.trim_start().starts_with("--- ")
            };
            let body: Vec<&str> = lines.iter().skip(at).take_while(is_inside).copied().collect();
            at += body.len();
            let said = body.iter().find_map(|line| go_line(line.trim_start()));
            // A test that only holds failed ones says nothing of its own.
            let holds_others =
                lines.get(at).is_some_and(|next| next.starts_with("    --- FAIL")) && depth == 0;
            if said.is_none() && holds_others {
                continue;
            }
            let (spot, message) = said.map_or((None, "it said nothing"), |(spot, words)| (Some(spot), words));
            found.push(shown(failed(name, message, spot.as_ref()), &body.join("\n")));
        } else if let Some(message) = line.strip_prefix("panic: ") {
            let rest = lines.get(at..).unwrap_or_default();
            let spot = rest.iter().find_map(|line| {
                let place = line.strip_prefix('\t')?.split(" +0x").next()?;
                Spot::parse(place)
                    .filter(|spot| spot.file.ends_with(".go") && !spot.file.contains("/src/runtime/"))
            });
            let shows: Vec<&str> = rest.iter().take(20).copied().collect();
            found.push(shown(said("panic", Severity::Blocking, message, spot.as_ref()), &shows.join("\n")));
            break;
        } else if let Some((spot, message)) = go_line(line.strip_prefix("vet: ").unwrap_or(line)) {
            found.push(said("error", Severity::Blocking, message, Some(&spot)));
        }
    }
    found
}

/// Reads `./main.go:5:2: message`.
fn go_line(line: &str) -> Option<(Spot, &str)> {
    let (place, message) = line.split_once(": ")?;
    let spot = Spot::parse(place)?;
    (spot.file.ends_with(".go") && !spot.file.contains(' ')).then_some((spot, message))
}

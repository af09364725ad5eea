//! What GitHub Actions shows: an annotation for each open finding of a draft that was not accepted, and a summary of the
//! job. Nothing happens elsewhere.

use std::io::Write;

use redraft::verify::Severity;

use crate::ended::Ended;
use crate::terminal::one_line;
use crate::trouble::Exit;

/// Tells GitHub what came of runs, if it listens.
pub(crate) fn tell(ended: &[Ended]) {
    if std::env::var_os("GITHUB_ACTIONS").is_none_or(|value| value != "true") {
        return;
    }
    let mut err = std::io::stderr();
    for ended in ended.iter().filter(|ended| ended.exit() != Exit::Done) {
        for line in annotations(ended) {
            let _ = writeln!(err, "{line}");
        }
    }
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else { return };
    let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
    if let Ok(mut file) = file {
        let _ = file.write_all(summary(ended).as_bytes());
    }
}

fn annotations(ended: &Ended) -> Vec<String> {
    let mut lines = Vec::new();
    for finding in ended.best.iter().flat_map(|best| &best.findings) {
        let level = if finding.severity == Severity::Blocking { "error" } else { "warning" };
        let title = property(&format!("{}: {}", ended.workflow, finding.verifier));
        lines.push(format!("::{level} title={title}::{}", data(&finding.message)));
    }
    if let Some(failure) = &ended.failure {
        lines.push(format!("::error title={}::{}", property(&ended.workflow), data(&failure.message)));
    }
    if lines.is_empty() {
        lines.push(format!("::error title={}::{}", property(&ended.workflow), ended.status));
    }
    lines
}

fn data(text: &str) -> String {
    one_line(text).replace('%', "%25")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

fn summary(ended: &[Ended]) -> String {
    let mut text =
        "| | run | status | best score | iterations | spent |\n|---|---|---|---|---|---|\n".to_owned();
    for ended in ended {
        let score = ended.best.as_ref().map(|best| format!("{:.2}", best.score)).unwrap_or_default();
        let spent = ended.spend.money.map_or("unknown".to_owned(), |money| money.to_string());
        text.push_str(&format!(
            "| {} | {} `{}` | {} | {score} | {} | {spent} |\n",
            ended.status.glyph(),
            one_line(&ended.workflow).replace('|', "\\|"),
            ended.run,
            ended.status,
            ended.iterations.len()
        ));
    }
    text.push('\n');
    text
}

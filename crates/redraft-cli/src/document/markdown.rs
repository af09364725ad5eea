//! A run as Markdown: for a pull request, a wiki, a colleague.

use redraft::view::Report;
use redraft::view::diff::Harmless;

use super::{bar, demand, lives, made, money, parts, sentence, took};
use crate::ending;
use crate::text;

/// How many signs the longest bar of the chart has.
const BAR: usize = 20;

/// Writes the report.
pub(crate) fn write(report: &Report) -> String {
    let mut out = vec![
        format!("# {}: {} {}", plain(&report.workflow), report.status.glyph(), report.status),
        String::new(),
        plain(&sentence(&ending::words(report))),
        String::new(),
    ];
    out.extend(facts(report));
    let parts = parts(report);
    for (name, part) in &parts {
        if parts.len() > 1 {
            out.extend([String::new(), format!("# {}", plain(name))]);
        }
        out.extend(story(part));
    }
    out.push(String::new());
    out.join("\n")
}

/// Tells how one refinement went.
fn story(report: &Report) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(criteria) = &report.criteria {
        if let Some(task) = &criteria.task {
            out.extend(["", "## What was asked", ""].map(str::to_owned));
            out.extend(fenced(task));
        }
        out.extend(["", "## Criteria", ""].map(str::to_owned));
        for criterion in &criteria.criteria {
            let weight = criterion.weight.map(|weight| format!(" (weight {weight})")).unwrap_or_default();
            let demand = plain(&text::cut(&text::line(&demand(&criterion.verifier)), 300));
            out.push(format!("- **{}**{weight}: {demand}", plain(&criterion.name)));
        }
    }
    if !report.iterations.is_empty() {
        out.extend(["", "## How it went", ""].map(str::to_owned));
        out.extend(iterations(report));
        out.extend(["", "```text"].map(str::to_owned));
        out.extend(chart(report));
        out.push("```".to_owned());
    }
    out.extend(findings(report));
    if let Some(best) = &report.best {
        out.extend([
            "".to_owned(),
            format!("## The best draft: iteration {}", best.iteration),
            String::new(),
        ]);
        out.extend(fenced(&best.text));
    }
    if !report.warnings.is_empty() {
        out.extend(["", "## Worth knowing", ""].map(str::to_owned));
        out.extend(report.warnings.iter().map(|warning| format!("- {}", plain(warning))));
    }
    out
}

fn facts(report: &Report) -> Vec<String> {
    let usage = report.spend.usage;
    let mut rows = vec![
        ("run", format!("`{}`", report.run_id)),
        (
            "spent",
            format!(
                "{} in {}",
                money(report),
                text::count(usize::try_from(report.spend.calls).unwrap_or(usize::MAX), "call")
            ),
        ),
        ("tokens", format!("{} read, {} written", usage.input_tokens, usage.output_tokens)),
    ];
    rows.extend(report.stop.map(|stop| ("stopped", format!("`{}`", ending::word(stop)))));
    rows.extend(report.started_at.map(|at| ("started", at.to_string())));
    rows.extend(took(report).map(|took| ("took", took)));
    rows.extend(
        report
            .failure
            .as_ref()
            .map(|failure| ("failure", format!("{} (`{}`)", plain(&failure.message), plain(&failure.code)))),
    );
    let mut lines = vec!["| | |".to_owned(), "|---|---|".to_owned()];
    lines.extend(rows.iter().map(|(name, value)| format!("| {name} | {value} |")));
    lines
}

fn iterations(report: &Report) -> Vec<String> {
    let mut lines = vec![
        "| iteration | score | gates | open findings | made | by |".to_owned(),
        "|---:|---:|---:|---:|---|---|".to_owned(),
    ];
    for it in &report.iterations {
        let tactic = it.tactic.map(|tactic| format!("; {}", tactic.words())).unwrap_or_default();
        lines.push(format!(
            "| {}{} | {:.2} | {} of {} | {} | {}{tactic} | {} |",
            it.n,
            if it.accepted { " ✓" } else { "" },
            it.score,
            it.gates_passed,
            it.gates,
            it.open().count(),
            made(it),
            plain(&it.by),
        ));
    }
    lines
}

/// Draws a bar per draft, with a mark where drafts are accepted.
pub(crate) fn chart(report: &Report) -> Vec<String> {
    let place = |score: f64| (score.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    let mark = bar(report).map(place);
    let best = report.best.as_ref().map(|best| best.iteration);
    let mut lines = Vec::new();
    for it in &report.iterations {
        let filled = place(it.score);
        let cells: String = (1..=BAR)
            .map(|at| match (at <= filled, Some(at) == mark) {
                (true, false) => '█',
                (true, true) => '▓',
                (false, true) => '┊',
                (false, false) => ' ',
            })
            .collect();
        let sign = if best == Some(it.n) { "  ◀ best" } else { "" };
        lines.push(format!("{:>3}  {:.2}  {cells}{sign}", it.n, it.score).trim_end().to_owned());
    }
    lines.extend(bar(report).map(|score| format!("{}accepted from {score:.2} on", " ".repeat(11))));
    lines
}

fn findings(report: &Report) -> Vec<String> {
    let lives = lives(report);
    if lives.is_empty() {
        return Vec::new();
    }
    let mut lines = ["", "## Findings", "", "| | criterion | what | how it stands |", "|---|---|---|---|"]
        .map(str::to_owned)
        .to_vec();
    lines.extend(lives.iter().map(|life| {
        let sign = if life.is_open { '●' } else { '✓' };
        let finding = life.finding;
        format!(
            "| {sign} | {} | {} | {} |",
            plain(&finding.verifier),
            plain(&finding.to_string()),
            life.words()
        )
    }));
    lines
}

/// Shows words of others on one line, with nothing in them that Markdown or a browser obeys.
fn plain(words: &str) -> String {
    let mut out = String::new();
    for c in text::line(words).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '!' | '~' | '$' | '@' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    // An address that stands alone would become a link in many readers.
    out.replace("://", ":&#47;/")
}

/// Shows a text as it is, behind a fence that it cannot climb.
fn fenced(words: &str) -> Vec<String> {
    let longest = words.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    let mut lines = vec![format!("{fence}text")];
    lines.extend(words.lines().map(|line| Harmless(line).to_string()));
    lines.push(fence);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_others_cannot_give_orders() {
        assert_eq!(plain("a | b\n# c <img src=x>"), "a \\| b \\# c &lt;img src=x&gt;");
        assert_eq!(plain("![x](https://evil)"), "\\!\\[x\\](https:&#47;/evil)");
        assert_eq!(fenced("a\n````\nb"), ["`````text", "a", "````", "b", "`````"]);
        assert_eq!(fenced("\u{1b}[2J"), ["```text", "␛[2J", "```"]);
    }
}

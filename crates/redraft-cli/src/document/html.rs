//! A run as one page of HTML that stands alone: no script, nothing from elsewhere, and a policy that says so to the
//! browser. Drafts are shown as text; none of what models wrote is ever markup.

use redraft::refine::Iteration;
use redraft::verify::FindingStatus;
use redraft::view::diff::{Change, Harmless};
use redraft::view::{Diff, Report};

use super::{bar, demand, lives, made, money, parts, sentence, took};
use crate::{ending, findings, text};

const STYLE: &str = include_str!("page.css");

/// The chart, in its own units.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 180.0;
const EDGE: f64 = 28.0;

/// Writes the page.
pub(crate) fn write(report: &Report) -> String {
    let name = escaped(&text::line(&report.workflow));
    let mut page = vec![
        "<!doctype html>".to_owned(),
        "<html lang=\"en\">".to_owned(),
        "<head>".to_owned(),
        "<meta charset=\"utf-8\">".to_owned(),
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">".to_owned(),
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">".to_owned(),
        "<meta name=\"color-scheme\" content=\"light dark\">".to_owned(),
        format!("<title>{name}: {}</title>", report.status),
        format!("<style>\n{STYLE}</style>"),
        "</head>".to_owned(),
        "<body>".to_owned(),
        "<main>".to_owned(),
        format!("<h1>{name} <span class=\"status {0}\">{1} {0}</span></h1>", report.status, report.status.glyph()),
        format!("<p>{}</p>", escaped(&sentence(&ending::words(report)))),
    ];
    page.extend(facts(report));
    let parts = parts(report);
    for (at, (name, part)) in parts.iter().enumerate() {
        if parts.len() > 1 {
            page.push(format!("<h1>{}</h1>", escaped(&text::line(name))));
        }
        page.extend(asked(part));
        page.extend(scores(part, at));
        page.extend(found(part));
        page.extend(drafts(part, at));
    }
    if !report.warnings.is_empty() {
        page.push("<h2>Worth knowing</h2>\n<ul>".to_owned());
        page.extend(
            report.warnings.iter().map(|warning| format!("<li>{}</li>", escaped(&text::line(warning)))),
        );
        page.push("</ul>".to_owned());
    }
    page.push("</main>\n</body>\n</html>\n".to_owned());
    page.join("\n")
}

fn facts(report: &Report) -> Vec<String> {
    let usage = report.spend.usage;
    let mut rows = vec![
        ("run", report.run_id.to_string()),
        ("spent", format!("{}, {} calls", money(report), report.spend.calls)),
        ("tokens", format!("{} read, {} written", usage.input_tokens, usage.output_tokens)),
    ];
    rows.extend(report.stop.map(|stop| ("stopped", ending::word(stop))));
    rows.extend(report.started_at.map(|at| ("started", at.to_string())));
    rows.extend(took(report).map(|took| ("took", took)));
    rows.extend(
        report
            .failure
            .as_ref()
            .map(|failure| ("failure", format!("{} [{}]", text::line(&failure.message), failure.code))),
    );
    let rows = rows.iter().map(|(name, value)| format!("<dt>{name}</dt><dd>{}</dd>", escaped(value)));
    std::iter::once("<dl>".to_owned()).chain(rows).chain(["</dl>".to_owned()]).collect()
}

fn asked(report: &Report) -> Vec<String> {
    let Some(criteria) = &report.criteria else { return Vec::new() };
    let mut out = Vec::new();
    if let Some(task) = &criteria.task {
        out.push(format!("<h2>What was asked</h2>\n<pre>{}</pre>", shown(task)));
    }
    out.push("<h2>Criteria</h2>\n<ul>".to_owned());
    for criterion in &criteria.criteria {
        let demand = escaped(&text::cut(&text::line(&demand(&criterion.verifier)), 500));
        out.push(format!("<li><strong>{}</strong>: {demand}</li>", escaped(&text::line(&criterion.name))));
    }
    out.push("</ul>".to_owned());
    out
}

/// The scores as a chart, and as a table for whoever cannot see it.
fn scores(report: &Report, part: usize) -> Vec<String> {
    if report.iterations.is_empty() {
        return Vec::new();
    }
    let mut out = vec!["<h2>Scores</h2>".to_owned(), chart(report)];
    out.push("<table>\n<thead><tr><th>iteration</th><th>score</th><th>gates</th><th>open findings</th><th>made</th><th>by</th></tr></thead>\n<tbody>".to_owned());
    for it in &report.iterations {
        let tactic = it.tactic.map(|tactic| format!("; {}", tactic.words())).unwrap_or_default();
        out.push(format!(
            "<tr><th scope=\"row\"><a href=\"#draft-{part}-{0}\">{0}</a>{1}</th><td>{2:.2}</td><td>{3} of {4}</td><td>{5}</td><td>{6}{tactic}</td><td>{7}</td></tr>",
            it.n,
            if it.accepted { " ✓" } else { "" },
            it.score,
            it.gates_passed,
            it.gates,
            it.open().count(),
            made(it),
            escaped(&text::line(&it.by)),
        ));
    }
    out.push("</tbody>\n</table>".to_owned());
    out
}

fn chart(report: &Report) -> String {
    let count = report.iterations.len();
    let x = |at: usize| {
        let step = (WIDTH - 2.0 * EDGE) / count.saturating_sub(1).max(1) as f64;
        if count == 1 { WIDTH / 2.0 } else { EDGE + step * at as f64 }
    };
    let y = |score: f64| HEIGHT - EDGE - score.clamp(0.0, 1.0) * (HEIGHT - 2.0 * EDGE);
    let points: Vec<String> = report
        .iterations
        .iter()
        .enumerate()
        .map(|(at, it)| format!("{:.1},{:.1}", x(at), y(it.score)))
        .collect();
    let best = report.best.as_ref().map(|best| best.iteration);
    let dots = report.iterations.iter().enumerate().map(|(at, it)| {
        let class = if best == Some(it.n) { "dot best" } else { "dot" };
        let (x, y) = (x(at), y(it.score));
        format!(
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"/><text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            HEIGHT - 6.0,
            it.n
        )
    });
    let bar = bar(report).map(|score| {
        let at = y(score);
        format!(
            "<line class=\"bar\" x1=\"{EDGE}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\"/><text x=\"{EDGE}\" y=\"{:.1}\">accepted from {score:.2} on</text>",
            WIDTH - EDGE,
            at - 5.0
        )
    });
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"score over iterations; the table below says the same\">\n{}<polyline points=\"{}\"/>\n{}\n</svg>",
        bar.unwrap_or_default(),
        points.join(" "),
        dots.collect::<Vec<_>>().join("\n")
    )
}

fn found(report: &Report) -> Vec<String> {
    let lives = lives(report);
    if lives.is_empty() {
        return Vec::new();
    }
    let mut out = vec!["<h2>Findings</h2>\n<table>\n<thead><tr><th>criterion</th><th>what</th><th>how it stands</th></tr></thead>\n<tbody>".to_owned()];
    out.extend(lives.iter().map(|life| {
        format!(
            "<tr><td>{}</td><td>{}</td><td>{} {}</td></tr>",
            escaped(&text::line(&life.finding.verifier)),
            escaped(&text::line(&life.finding.to_string())),
            if life.is_open { '●' } else { '✓' },
            life.words()
        )
    }));
    out.push("</tbody>\n</table>".to_owned());
    out
}

fn drafts(report: &Report, part: usize) -> Vec<String> {
    let best = report.best.as_ref().map(|best| best.iteration);
    let mut out = Vec::new();
    if !report.iterations.is_empty() {
        out.push("<h2>Drafts</h2>".to_owned());
    }
    for it in &report.iterations {
        let is_best = best == Some(it.n);
        let open = if is_best { " open" } else { "" };
        let note = if is_best { ", the best" } else { "" };
        out.push(format!(
            "<details id=\"draft-{part}-{0}\"{open}>\n<summary>iteration {0}: {1:.2}{note}</summary>",
            it.n, it.score
        ));
        out.push(format!("<pre>{}</pre>", shown(&it.text)));
        if let Some(parent) = it.from.and_then(|n| report.iteration(n)) {
            out.push(format!("<h3>What has changed since {}</h3>", parent.n));
            out.push(format!("<pre class=\"diff\">{}</pre>", changes(parent, it)));
        }
        out.push(said(it));
        out.push("</details>".to_owned());
    }
    out
}

fn changes(before: &Iteration, after: &Iteration) -> String {
    let pieces = Diff::of(&before.text, &after.text).pieces;
    let marked = pieces.iter().map(|piece| match piece.change {
        Change::Same => shown(&piece.text),
        Change::Removed => format!("<del>{}</del>", shown(&piece.text)),
        Change::Added => format!("<ins>{}</ins>", shown(&piece.text)),
    });
    marked.collect()
}

fn said(it: &Iteration) -> String {
    let rows = it.findings.iter().map(|finding| {
        let (glyph, word) = findings::sign(finding.status);
        let class = if finding.status == FindingStatus::Fixed { "fixed" } else { "open" };
        let words = escaped(&text::line(&format!("{}: {finding}", finding.verifier)));
        format!("<li class=\"{class}\">{glyph} {word}: {words}</li>")
    });
    let rows: String = rows.collect();
    if rows.is_empty() { String::new() } else { format!("<ul>{rows}</ul>") }
}

/// Escapes a text that has lines, and shows pictures of everything else that is not to be seen.
fn shown(words: &str) -> String {
    let lines: Vec<String> = words.split('\n').map(|line| escaped(&Harmless(line).to_string())).collect();
    lines.join("\n")
}

/// Escapes a text for everywhere in HTML: between tags and in attributes.
fn escaped(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    for c in words.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_model_wrote_is_markup() {
        assert_eq!(
            escaped("<a href=\"x\" onclick='y'>&"),
            "&lt;a href=&quot;x&quot; onclick=&#39;y&#39;&gt;&amp;"
        );
        assert_eq!(shown("a\r\n<b>\u{202e}"), "a␍\n&lt;b&gt;\u{fffd}");
    }
}

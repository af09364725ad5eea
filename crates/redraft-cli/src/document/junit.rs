//! A run as JUnit XML, for whatever shows the results of tests: each criterion is a test of the best draft, and that the
//! draft was accepted is one more.

use redraft::refine::{Iteration, Opinion};
use redraft::verify::Gate;
use redraft::view::Report;
use redraft::view::diff::Harmless;
use redraft::{Status, Stop};

use super::parts;
use crate::ending;

/// How one test went.
enum Went {
    Passed,
    Failed { message: String, details: Vec<String> },
    Skipped(&'static str),
}

/// Writes the file of one run.
pub(crate) fn write(report: &Report) -> String {
    write_all(&[report])
}

/// Writes the file of several runs.
pub(crate) fn write_all(reports: &[&Report]) -> String {
    let parts = reports.iter().flat_map(|report| parts(report));
    let suites: Vec<Suite> = parts.map(|(name, part)| suite(&name, &part)).collect();
    let sum = |of: fn(&Suite) -> usize| suites.iter().map(of).sum::<usize>();
    let (tests, failures, skipped) = (sum(|it| it.tests), sum(|it| it.failures), sum(|it| it.skipped));
    let time = seconds(reports.iter().map(|report| millis(report)).sum());
    let mut out = vec![
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>".to_owned(),
        format!(
            "<testsuites tests=\"{tests}\" failures=\"{failures}\" skipped=\"{skipped}\" time=\"{time}\">"
        ),
    ];
    out.extend(suites.into_iter().flat_map(|suite| suite.lines));
    out.push("</testsuites>\n".to_owned());
    out.join("\n")
}

/// The tests of one refinement.
struct Suite {
    tests: usize,
    failures: usize,
    skipped: usize,
    lines: Vec<String>,
}

fn millis(report: &Report) -> u128 {
    report.updated_at.zip(report.started_at).map_or(0, |(end, start)| end.since(start).as_millis())
}

fn seconds(millis: u128) -> String {
    format!("{}.{:03}", millis / 1000, millis % 1000)
}

fn suite(name: &str, report: &Report) -> Suite {
    let best = report.best.as_ref().and_then(|best| report.iteration(best.iteration));
    let mut cases: Vec<(String, Went)> = Vec::new();
    for opinion in best.map(|best| best.verdicts.as_slice()).unwrap_or_default() {
        cases.extend(best.map(|best| (opinion.verifier.clone(), went(best, opinion))));
    }
    cases.push(("accepted".to_owned(), accepted(report)));
    let failures = cases.iter().filter(|(_, went)| matches!(went, Went::Failed { .. })).count();
    let skipped = cases.iter().filter(|(_, went)| matches!(went, Went::Skipped(_))).count();
    let (name, tests) = (escaped(name), cases.len());
    let at = report.started_at.map(|at| format!(" timestamp=\"{at}\"")).unwrap_or_default();
    let mut lines = vec![
        format!(
            "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\" time=\"{}\"{at}>",
            seconds(millis(report))
        ),
        "    <properties>".to_owned(),
        format!("      <property name=\"run_id\" value=\"{}\"/>", report.run_id),
        format!("      <property name=\"status\" value=\"{}\"/>", report.status),
    ];
    if let Some(best) = best {
        lines.push(format!("      <property name=\"iteration\" value=\"{}\"/>", best.n));
        lines.push(format!("      <property name=\"score\" value=\"{:.4}\"/>", best.score));
    }
    lines.push("    </properties>".to_owned());
    lines.extend(cases.iter().map(|(case, went)| went.line(&name, case)));
    lines.push("  </testsuite>".to_owned());
    Suite { tests, failures, skipped, lines }
}

impl Went {
    fn line(&self, suite: &str, case: &str) -> String {
        let head = format!("    <testcase classname=\"{suite}\" name=\"{}\"", escaped(case));
        match self {
            Self::Passed => format!("{head}/>"),
            Self::Skipped(why) => format!("{head}><skipped message=\"{why}\"/></testcase>"),
            Self::Failed { message, details } => {
                let details: Vec<String> = details.iter().map(|line| escaped(line)).collect();
                let (message, details) = (escaped(message), details.join("\n"));
                format!("{head}>\n      <failure message=\"{message}\">{details}</failure>\n    </testcase>")
            }
        }
    }
}

fn went(best: &Iteration, opinion: &Opinion) -> Went {
    let Some(score) = opinion.score else {
        return Went::Skipped("not asked: a cheaper criterion had failed");
    };
    let found: Vec<_> = best.open().filter(|finding| finding.verifier == opinion.verifier).collect();
    let is_blocked = opinion.gate == Gate::Fail || found.iter().any(|finding| finding.is_blocking());
    // Without a gate, what was found only lowers the score: whether that is too low is the last test.
    if !is_blocked {
        return Went::Passed;
    }
    let message =
        found.first().map_or_else(|| format!("score {score:.2}"), |finding| finding.message.clone());
    let details = found.iter().map(|finding| match &finding.suggestion {
        Some(suggestion) => format!("{finding} ({suggestion})"),
        None => finding.to_string(),
    });
    Went::Failed { message, details: details.collect() }
}

fn accepted(report: &Report) -> Went {
    // Where a run has several refinements, each has its own reason to stop.
    let is_over = report.status.is_final() || report.stop.is_some();
    match (report.status, report.stop) {
        (Status::Accepted | Status::Completed, None) | (_, Some(Stop::Accepted)) => Went::Passed,
        _ if !is_over => Went::Skipped("the run has not ended"),
        (_, stop) => {
            let open = report.best.as_ref().map(|best| best.findings.as_slice()).unwrap_or_default();
            let details = open.iter().map(|finding| format!("{}: {finding}", finding.verifier));
            let message = match (report.status, stop) {
                (Status::Completed, Some(stop)) => ending::word(stop),
                _ => ending::words(report),
            };
            Went::Failed { message, details: details.collect() }
        }
    }
}

/// Escapes a text for XML, and shows pictures of the characters that may not stand in it at all.
fn escaped(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    for c in Harmless(&words.replace('\n', " ")).to_string().chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_forbids_is_not_written() {
        assert_eq!(escaped("a\u{0}\u{b}\u{ffff}]]>\n\"&"), "a␀␋\u{fffd}]]&gt; &quot;&amp;");
    }
}

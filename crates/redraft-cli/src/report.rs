//! Reports for other programs: `junit=PATH`, a test suite with a case for each criterion of each run's best draft.

use std::path::PathBuf;
use std::str::FromStr;

use redraft::verify::Gate;

use crate::driving::write_whole;
use crate::ended::Ended;
use crate::trouble::Trouble;

/// A report that is wanted.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    path: PathBuf,
}

impl FromStr for Report {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some(("junit", path)) if !path.is_empty() => Ok(Self { path: path.into() }),
            Some((format, _)) if format != "junit" => {
                Err(format!("there is no report `{format}`; there is: junit=PATH"))
            }
            _ => Err("a report is written as junit=PATH".to_owned()),
        }
    }
}

impl Report {
    pub(crate) fn write(&self, ended: &[Ended]) -> Result<(), Trouble> {
        write_whole(&self.path, &junit(ended))
    }
}

fn junit(ended: &[Ended]) -> String {
    let suites: Vec<(String, usize, usize)> = ended.iter().map(suite).collect();
    let tests: usize = suites.iter().map(|(_, tests, _)| tests).sum();
    let failures: usize = suites.iter().map(|(_, _, failures)| failures).sum();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"{tests}\" failures=\"{failures}\">\n"
    );
    for (suite, ..) in suites {
        text.push_str(&suite);
    }
    text.push_str("</testsuites>\n");
    text
}

/// A suite per run: a case that says whether it was accepted, and one for each criterion of the best draft.
fn suite(ended: &Ended) -> (String, usize, usize) {
    let mut cases = Vec::new();
    let accepted = ended.exit() == crate::trouble::Exit::Done;
    let why = match &ended.failure {
        Some(failure) => failure.message.clone(),
        None => format!(
            "status {}, score {:.2}",
            ended.status,
            ended.best.as_ref().map_or(0.0, |best| best.score)
        ),
    };
    cases.push(("accepted".to_owned(), (!accepted).then_some(why)));
    let best = ended.best.as_ref();
    let iteration = best.and_then(|best| ended.iterations.iter().find(|judged| judged.n == best.iteration));
    for opinion in iteration.map(|iteration| iteration.verdicts.as_slice()).unwrap_or_default() {
        let open = iteration.into_iter().flat_map(|iteration| iteration.open());
        let found: Vec<&str> = open
            .filter(|finding| finding.verifier == opinion.verifier)
            .map(|finding| finding.message.as_str())
            .collect();
        cases.push((opinion.verifier.clone(), (opinion.gate == Gate::Fail).then(|| found.join("\n"))));
    }
    let failures = cases.iter().filter(|(_, failure)| failure.is_some()).count();
    let mut text = format!(
        "  <testsuite name=\"{}\" id=\"{}\" tests=\"{}\" failures=\"{failures}\">\n",
        escaped(&ended.workflow),
        ended.run,
        cases.len()
    );
    for (name, failure) in &cases {
        let (class, name) = (escaped(&ended.workflow), escaped(name));
        match failure {
            None => text.push_str(&format!("    <testcase classname=\"{class}\" name=\"{name}\"/>\n")),
            Some(words) => text.push_str(&format!(
                "    <testcase classname=\"{class}\" name=\"{name}\"><failure message=\"{}\">{}</failure></testcase>\n",
                escaped(words.lines().next().unwrap_or("not accepted")),
                escaped(words)
            )),
        }
    }
    text.push_str("  </testsuite>\n");
    (text, cases.len(), failures)
}

/// Writes a text so that XML takes it; what XML has no word for is left out.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            '\n' => safe.push_str("&#10;"),
            '\t' => safe.push_str("&#9;"),
            '\u{fffe}' | '\u{ffff}' => {}
            c if c.is_control() => {}
            c => safe.push(c),
        }
    }
    safe
}

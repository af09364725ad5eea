//! Several samples made into one verdict.
//!
//! - A criterion gets the median of the samples; the score is the weighted mean of those medians.
//! - The spread is the distance between the lowest and the highest sample, each with its own weighted mean.
//! - Remarks on the same criterion that say the same or quote the same words are one finding. Named by more than half of
//!   the samples it has the severity in their middle (the milder one of two); named by fewer it is minor.
//! - An earlier finding is fixed or disputed if more than half of the samples say so; otherwise it stays open. A new
//!   remark that says what an open one says is not a second finding.

use super::answer::{Remark, Sample, Status, is_majority, median, spread, weighted_mean};
use super::rubric::{Criterion, Scale};
use crate::verify::{Case, Finding, FindingStatus, Severity, Verdict, quote};

/// From here on the samples of a judge lie so far apart that it is worth a warning.
pub(in crate::verify) const WIDE: f64 = 0.3;

/// Makes a verdict of the samples that could be used, of which there is at least one.
pub(super) fn merge(rubric: &[Criterion], scale: Scale, case: &Case, samples: &[Sample]) -> Verdict {
    let share = |criterion: &Criterion| median(samples.iter().map(|s| s.share(criterion, scale)).collect());
    let mut verdict = Verdict::scored(weighted_mean(rubric.iter().map(|c| (share(c), c.weight))));
    if samples.len() > 1 {
        let overall =
            |sample: &Sample| weighted_mean(rubric.iter().map(|c| (sample.share(c, scale), c.weight)));
        let apart = spread(&samples.iter().map(overall).collect::<Vec<_>>());
        verdict.spread = Some(apart);
        if apart > WIDE {
            verdict = verdict
                .warning(format!("the samples of the judge lie {apart:.2} apart: its score says little"));
        }
    }
    let remarks = gathered(samples);
    verdict = answered(verdict, case, samples, &remarks);
    for (remark, severity) in remarks {
        let is_known =
            |open: &Finding| open.rule == remark.criterion && quote::alike(&open.message, &remark.problem);
        if !verdict.findings.iter().any(is_known) {
            verdict.findings.push(remark.into_finding(&case.draft, severity));
        }
    }
    for strength in samples.iter().flat_map(|sample| &sample.strengths) {
        if !strength.trim().is_empty() && !verdict.strengths.iter().any(|known| quote::alike(known, strength))
        {
            verdict.strengths.push(strength.clone());
        }
    }
    verdict
}

/// Counts what the samples found, in the order in which it was first named.
fn gathered(samples: &[Sample]) -> Vec<(Remark, Severity)> {
    let mut found: Vec<(Remark, Vec<(usize, Severity)>)> = Vec::new();
    for (at, sample) in samples.iter().enumerate() {
        for remark in &sample.findings {
            match found.iter_mut().find(|(known, _)| known.is_like(remark)) {
                Some((_, named)) => named.push((at, remark.severity)),
                None => found.push((remark.clone(), vec![(at, remark.severity)])),
            }
        }
    }
    let weighed = |named: &[(usize, Severity)]| {
        // A sample that says it twice has one voice: the graver.
        let mut voices: Vec<Severity> = (0..samples.len())
            .filter_map(|at| named.iter().filter(|(by, _)| *by == at).map(|(_, severity)| *severity).max())
            .collect();
        voices.sort_unstable();
        if is_majority(voices.len(), samples.len()) {
            voices.get((voices.len() - 1) / 2).copied().unwrap_or(Severity::Minor)
        } else {
            Severity::Minor
        }
    };
    found.into_iter().map(|(remark, named)| (remark, weighed(&named))).collect()
}

/// Says for each earlier finding what became of it.
fn answered(
    mut verdict: Verdict,
    case: &Case,
    samples: &[Sample],
    remarks: &[(Remark, Severity)],
) -> Verdict {
    for earlier in super::answerable(case) {
        let replies: Vec<_> =
            samples.iter().filter_map(|sample| sample.earlier.get(earlier.id.as_str())).collect();
        let most_say = |status| {
            is_majority(replies.iter().filter(|reply| reply.status == status).count(), samples.len())
        };
        if most_say(Status::Fixed) {
            verdict.fixed.push(earlier.id.clone());
            continue;
        }
        let mut finding = again(earlier, &case.draft, remarks);
        if most_say(Status::Disputed) {
            finding.status = FindingStatus::Disputed;
            // What may be no fault at all cannot stand in a draft's way.
            finding.severity = finding.severity.min(Severity::Major);
            let why = replies.iter().find(|reply| reply.status == Status::Disputed);
            let why = why.map(|reply| reply.note.trim()).filter(|note| !note.is_empty());
            verdict = verdict.warning(format!(
                "the judge disputes the earlier finding `{}` ({}){}",
                earlier.id,
                earlier.message,
                why.map(|why| format!(": {why}")).unwrap_or_default()
            ));
        }
        verdict.findings.push(finding);
    }
    verdict
}

/// Returns an earlier finding as it stands in the new draft: its words may have moved.
fn again(earlier: &Finding, draft: &str, remarks: &[(Remark, Severity)]) -> Finding {
    let mut finding = Finding { status: FindingStatus::Open, place: None, ..earlier.clone() };
    let said_anew = remarks
        .iter()
        .map(|(remark, _)| remark)
        .find(|remark| remark.criterion == earlier.rule && quote::alike(&remark.problem, &earlier.message));
    let quotes = [said_anew.map(|remark| remark.quote.as_str()), earlier.evidence.as_deref()];
    if let Some((bytes, words)) =
        quotes.into_iter().flatten().find_map(|words| Some((quote::find(draft, words)?, words)))
    {
        finding = finding.span(draft, bytes).evidence(words);
    }
    finding
}

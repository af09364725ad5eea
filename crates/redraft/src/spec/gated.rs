//! A verifier whose gate a spec decides, and not the kind.

use std::sync::Arc;

use serde_json::{Value, json};

use super::document::GateSetting;
use crate::run::Ctx;
use crate::verify::{Case, Cost, Evidence, Gate, Severity, Verdict, Verifier, Verifying};

/// A verifier with another gate than its own.
#[derive(Clone, Debug)]
pub(super) struct Gated {
    verifier: Arc<dyn Verifier>,
    gate: GateSetting,
}

impl Gated {
    pub(super) fn new(verifier: Arc<dyn Verifier>, gate: GateSetting) -> Self {
        Self { verifier, gate }
    }

    fn decide(&self, mut verdict: Verdict) -> Verdict {
        let blocks = |verdict: &Verdict| verdict.findings.iter().any(|finding| finding.is_blocking());
        verdict.gate = match self.gate {
            GateSetting::Must(false) => Gate::None,
            GateSetting::Must(true) if verdict.gate == Gate::Fail || blocks(&verdict) => Gate::Fail,
            GateSetting::Least(least) if verdict.score < least => Gate::Fail,
            GateSetting::Must(true) | GateSetting::Least(_) => Gate::Pass,
        };
        // What may pass is not kept from it by what was found.
        if verdict.gate != Gate::Fail {
            for finding in &mut verdict.findings {
                finding.severity = finding.severity.min(Severity::Major);
            }
        }
        verdict
    }
}

impl Verifier for Gated {
    fn evidence(&self) -> Evidence {
        self.verifier.evidence()
    }

    fn cost(&self) -> Cost {
        self.verifier.cost()
    }

    fn describe(&self) -> Value {
        let mut described = self.verifier.describe();
        match described.as_object_mut() {
            Some(map) => drop(map.insert("gated".to_owned(), json!(self.gate))),
            None => described = json!({ "gated": self.gate, "of": described }),
        }
        described
    }

    fn demand(&self) -> String {
        self.verifier.demand()
    }

    fn verify<'a>(&'a self, ctx: &'a Ctx, case: &'a Case) -> Verifying<'a> {
        Box::pin(async move { Ok(self.decide(self.verifier.verify(ctx, case).await?)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{Finding, Rule};

    #[derive(Debug)]
    struct Half;

    impl Rule for Half {
        fn demand(&self) -> String {
            "half".to_owned()
        }

        fn check(&self, _: &Case) -> Verdict {
            Verdict::scored(0.5).finding(Finding::new("half", "only half"))
        }
    }

    #[test]
    fn a_spec_decides_whether_a_draft_must_pass() {
        for (gate, wanted, blocks) in [
            (GateSetting::Must(true), Gate::Fail, true),
            (GateSetting::Must(false), Gate::None, false),
            (GateSetting::Least(0.5), Gate::Pass, false),
            (GateSetting::Least(0.6), Gate::Fail, true),
        ] {
            let verdict = Gated::new(Arc::new(Half), gate).decide(Half.check(&Case::new("", "")));
            assert_eq!((verdict.gate, verdict.findings[0].is_blocking()), (wanted, blocks), "{gate:?}");
        }
    }
}

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
        let passes = match self.gate {
            GateSetting::Must(false) => {
                verdict.gate = Gate::None;
                for finding in &mut verdict.findings {
                    finding.severity = finding.severity.min(Severity::Major);
                }
                return verdict;
            }
            GateSetting::Must(true) => {
                verdict.gate != Gate::Fail && !verdict.findings.iter().any(|finding| finding.is_blocking())
            }
            GateSetting::Least(least) => verdict.score >= least,
        };
        verdict.gate = if passes { Gate::Pass } else { Gate::Fail };
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

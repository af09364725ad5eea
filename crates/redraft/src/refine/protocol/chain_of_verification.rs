//! Chain of verification, factored: the claims of a draft become open questions, each is answered *without the draft*
//! (side by side, so that no answer leans on it), each answer is held against its claim, and the draft is rewritten from
//! what was confirmed.
//!
//! Source: Dhuliawala et al., "Chain-of-Verification Reduces Hallucination in Large Language Models" (2023).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::step_check::no_verdict;
use crate::failure::Failure;
use crate::llm::{Model, Prompts, Request, ask, say};
use crate::refine::{Criterion, Mode, Refine};
use crate::run::Ctx;
use crate::verify::{Case, Cost, Evidence, Finding, Severity, Verdict, Verifier, Verifying};

/// The name of the criterion that the protocol adds.
pub const CRITERION: &str = "claims";

const TRIES: u32 = 3;
/// How many questions are answered at the same time.
const AT_ONCE: usize = 8;

/// Makes a refinement check its claims; `checker` plans the questions, answers them and compares.
#[must_use]
pub fn chain_of_verification(refine: Refine, checker: Arc<dyn Model>) -> Refine {
    let questions = Questions { model: checker, prompts: refine.prompts.clone() };
    refine.criterion(Criterion::new(CRITERION, questions)).mode(Mode::Facts)
}

/// Judges a draft by asking about its claims.
#[derive(Clone, Debug)]
struct Questions {
    model: Arc<dyn Model>,
    prompts: Prompts,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Plan {
    /// The claims of the text, each with a question.
    claims: Vec<Claim>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Claim {
    /// What the text says, in one sentence.
    claim: String,
    /// An open question whose answer would show whether it is true.
    question: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Comparison {
    /// Whether the claim and the answer agree.
    agreement: Agreement,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Agreement {
    Consistent,
    Inconsistent,
    Partial,
}

struct Checked {
    claim: Claim,
    answer: String,
    agreement: Agreement,
}

impl Questions {
    async fn check(&self, ctx: &Ctx, claim: Claim) -> Result<Checked, Failure> {
        // The claim and the draft stay outside: an answer that has seen them repeats them.
        let question: Request =
            self.prompts.render("verification-answer", json!({ "question": claim.question }))?.into();
        let answer = say(ctx, "answer", &self.model, &question).await?.text.trim().to_owned();
        let values = json!({ "claim": claim.claim, "question": claim.question, "answer": answer });
        let request = self.prompts.render("verification-check", values)?.into();
        let Comparison { agreement } =
            ask(ctx, "compare", &self.model, request, TRIES).await.map_err(no_verdict)?;
        Ok(Checked { claim, answer, agreement })
    }
}

impl Verifier for Questions {
    fn evidence(&self) -> Evidence {
        Evidence::Statistical
    }

    fn cost(&self) -> Cost {
        Cost::Model
    }

    fn describe(&self) -> Value {
        let names = ["verification-questions", "verification-answer", "verification-check"];
        let prompts = names.map(|name| self.prompts.fingerprint(name).ok());
        json!({ "model": self.model.name(), "prompts": prompts })
    }

    fn demand(&self) -> String {
        "every claim is true".to_owned()
    }

    fn verify<'a>(&'a self, ctx: &'a Ctx, case: &'a Case) -> Verifying<'a> {
        Box::pin(async move {
            let values = json!({ "task": case.task, "draft": case.draft });
            let request = self.prompts.render("verification-questions", values)?.into();
            let Plan { claims } =
                ask(ctx, "questions", &self.model, request, TRIES).await.map_err(no_verdict)?;
            if claims.is_empty() {
                return Ok(Verdict::pass().warning("the draft makes no claims that could be checked"));
            }
            let work = |ctx: Ctx, claim: Claim| async move { self.check(&ctx, claim).await };
            let checked = Failure::gather(ctx.parallel("checks", claims, AT_ONCE, work).await)?;
            Ok(verdict(&checked))
        })
    }
}

fn verdict(checked: &[Checked]) -> Verdict {
    let of = |wanted| checked.iter().filter(move |check| check.agreement == wanted);
    let wrong = of(Agreement::Inconsistent).map(|Checked { claim, answer, .. }| {
        Finding::new("inconsistent", format!("“{}” does not hold", claim.claim))
            .about(&*claim.claim)
            .evidence(format!("{} {answer}", claim.question))
            .suggest(format!("say what was found: {answer}"))
    });
    let unsettled = of(Agreement::Partial).map(|Checked { claim, .. }| {
        Finding::new("unsettled", format!("“{}” could not be settled", claim.claim))
            .about(&*claim.claim)
            .severity(Severity::Major)
            .suggest("leave it out, or say it with care")
    });
    let verdict = Verdict::of(wrong.chain(unsettled));
    let confirmed = of(Agreement::Consistent).count();
    let share = confirmed as f64 / checked.len().max(1) as f64;
    of(Agreement::Consistent).fold(verdict.graded(share), |verdict, check| {
        verdict.strength(format!("confirmed: {}", check.claim.claim))
    })
}

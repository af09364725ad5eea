//! Several verifiers whose voices are counted together.
//!
//! | rule | gate | score |
//! |---|---|---|
//! | `all` | shut if any member's is shut | the lowest |
//! | `majority` | open if more than half of the members that have a gate leave it open | the median |
//! | `mean` | shut if any member's is shut | the mean |
//!
//! A member that could not judge has no voice. `all` gives no verdict without it; the other rules need more than half of
//! the members.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::judge::answer::{is_majority, median, spread};
use super::judge::{WIDE, sorted};
use super::quote::count;
use super::undecided::{cancelled, undecided};
use super::{
    Case, Cost, Error, Evidence, Finding, Gate, Incumbent, Judge, JudgeConfig, Severity, Verdict, Verifier,
    Verifying,
};
use crate::failure::Failure;
use crate::llm::{Model, Prompts};
use crate::path::check_name;
use crate::run::Ctx;

/// How the voices of a panel are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PanelRule {
    /// Every member must be content; the lowest score counts.
    All,
    /// More than half must be content; the median counts.
    Majority,
    /// Every gate must be open; the mean counts.
    Mean,
}

/// Several verifiers that judge the same draft at the same time.
///
/// Their findings stand under the name of whoever found them (`strict/clear`). Members do not know how the panel scored
/// the best draft so far, so a judge in a panel makes no comparisons.
#[derive(Clone, Debug)]
pub struct Panel {
    rule: PanelRule,
    members: Vec<(String, Arc<dyn Verifier>)>,
}

/// A panel of judges as files describe it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PanelConfig {
    /// How their voices are counted.
    #[serde(default = "majority")]
    pub rule: PanelRule,
    /// The judges, by name.
    pub judges: BTreeMap<String, JudgeConfig>,
}

fn majority() -> PanelRule {
    PanelRule::Majority
}

impl Panel {
    /// Makes a panel with a rule.
    #[must_use]
    pub fn new<N: Into<String>>(
        rule: PanelRule,
        members: impl IntoIterator<Item = (N, Arc<dyn Verifier>)>,
    ) -> Self {
        Self { rule, members: members.into_iter().map(|(name, member)| (name.into(), member)).collect() }
    }

    /// Makes a panel whose members must all be content.
    #[must_use]
    pub fn all<N: Into<String>>(members: impl IntoIterator<Item = (N, Arc<dyn Verifier>)>) -> Self {
        Self::new(PanelRule::All, members)
    }

    /// Makes a panel of whose members more than half must be content.
    #[must_use]
    pub fn majority<N: Into<String>>(members: impl IntoIterator<Item = (N, Arc<dyn Verifier>)>) -> Self {
        Self::new(PanelRule::Majority, members)
    }

    /// Makes a panel whose score is the mean.
    #[must_use]
    pub fn mean<N: Into<String>>(members: impl IntoIterator<Item = (N, Arc<dyn Verifier>)>) -> Self {
        Self::new(PanelRule::Mean, members)
    }

    /// Makes a panel of what a file says. `model` gives the model that an alias stands for.
    ///
    /// # Errors
    /// [`Error::Unusable`] if it could never judge, or what `model` says of an alias.
    pub fn from_config<E: From<Error>>(
        config: PanelConfig,
        prompts: &Prompts,
        mut model: impl FnMut(&str) -> Result<Arc<dyn Model>, E>,
    ) -> Result<Self, E> {
        let mut members: Vec<(String, Arc<dyn Verifier>)> = Vec::new();
        for (name, judge) in config.judges {
            let model = model(&judge.model)?;
            members.push((name, Arc::new(Judge::from_config(judge, model, prompts.clone())?)));
        }
        let panel = Self { rule: config.rule, members };
        panel.check()?;
        Ok(panel)
    }

    fn check(&self) -> Result<(), Error> {
        let unusable = |reason: String| Err(Error::Unusable { verifier: "panel", reason });
        if self.members.is_empty() {
            return unusable("it has no members".to_owned());
        }
        let mut names = HashSet::new();
        for (name, _) in &self.members {
            if let Err(bad) = check_name(name) {
                return unusable(bad.to_string());
            }
            if !names.insert(name) {
                return unusable(format!("two members are called `{name}`"));
            }
        }
        Ok(())
    }

    async fn judged(&self, ctx: &Ctx, case: &Case) -> Result<Verdict, Failure> {
        self.check()?;
        let all = self.members.len();
        let items = self.members.iter().map(|member| (member.0.clone(), member)).collect();
        let judge = |ctx: Ctx, (name, member): &'_ (String, Arc<dyn Verifier>)| {
            let (name, member) = (name.clone(), Arc::clone(member));
            let case = seen_by(&name, case);
            async move { Ok((name, member.verify(&ctx, &case).await?)) }
        };
        let results = ctx.spread("panel", items, all, judge, |_| false).await;
        let (verdicts, failures) = sorted(results.into_iter().flatten().collect());
        if let Some(failure) = cancelled(&failures) {
            return Err(failure);
        }
        let enough = match self.rule {
            PanelRule::All => failures.is_empty(),
            PanelRule::Majority | PanelRule::Mean => is_majority(verdicts.len(), all),
        };
        if !enough {
            let message = format!("only {} of the {all} members of the panel could judge", verdicts.len());
            return Err(undecided(message, &failures));
        }
        let mut verdict = combine(self.rule, verdicts);
        if !failures.is_empty() {
            let why: Vec<String> = failures.iter().map(ToString::to_string).collect();
            let (missing, why) = (failures.len(), why.join("; "));
            verdict = verdict.warning(format!("{missing} of {all} members could not judge: {why}"));
        }
        Ok(verdict)
    }
}

/// What a member sees: its own earlier findings by its own names, and no score that it has not given.
fn seen_by(member: &str, case: &Case) -> Case {
    let own = |finding: &Finding| {
        let rule = finding.rule.strip_prefix(member)?.strip_prefix('/')?.to_owned();
        Some(Finding { rule, ..finding.clone() })
    };
    Case {
        earlier: case.earlier.iter().filter_map(own).collect(),
        incumbent: case.incumbent.clone().map(|incumbent| Incumbent { score: None, ..incumbent }),
        ..case.clone()
    }
}

/// Counts the voices. There is at least one.
fn combine(rule: PanelRule, verdicts: Vec<(String, Verdict)>) -> Verdict {
    let scores: Vec<f64> = verdicts.iter().map(|(_, verdict)| verdict.score).collect();
    let score = match rule {
        PanelRule::All => scores.iter().copied().fold(1.0, f64::min),
        PanelRule::Majority => median(scores.clone()),
        PanelRule::Mean => scores.iter().sum::<f64>() / count(scores.len()),
    };
    let with = |gate: Gate| verdicts.iter().filter(|(_, verdict)| verdict.gate == gate).count();
    let (open, shut) = (with(Gate::Pass), with(Gate::Fail));
    let mut combined = Verdict::scored(score);
    combined.gate = match rule {
        _ if open + shut == 0 => Gate::None,
        PanelRule::Majority if is_majority(open, open + shut) => Gate::Pass,
        PanelRule::All | PanelRule::Mean if shut == 0 => Gate::Pass,
        _ => Gate::Fail,
    };
    let apart = spread(&scores);
    combined.spread = (scores.len() > 1).then_some(apart);
    if (open > 0 && shut > 0) || apart > WIDE {
        let voice = |(name, verdict): &(String, Verdict)| {
            let gate = match verdict.gate {
                Gate::Pass => ", passes",
                Gate::Fail => ", fails",
                Gate::None => "",
            };
            format!("`{name}` {:.2}{gate}", verdict.score)
        };
        let voices: Vec<String> = verdicts.iter().map(voice).collect();
        combined = combined.warning(format!("the members of the panel disagree: {}", voices.join("; ")));
    }
    for (name, verdict) in verdicts {
        for mut finding in verdict.findings {
            finding.rule = format!("{name}/{}", finding.rule);
            // A member that was outvoted cannot block what the others let pass.
            if rule == PanelRule::Majority && combined.gate == Gate::Pass {
                finding.severity = finding.severity.min(Severity::Major);
            }
            combined.findings.push(finding);
        }
        for strength in verdict.strengths {
            if !combined.strengths.contains(&strength) {
                combined.strengths.push(strength);
            }
        }
        combined.fixed.extend(verdict.fixed);
        combined.warnings.extend(verdict.warnings.into_iter().map(|words| format!("{name}: {words}")));
        combined.edited = combined.edited.or(verdict.edited);
    }
    combined
}

impl Verifier for Panel {
    fn evidence(&self) -> Evidence {
        let has = |evidence| self.members.iter().any(|(_, member)| member.evidence() == evidence);
        match (has(Evidence::Statistical), has(Evidence::Human)) {
            (true, _) => Evidence::Statistical,
            (false, true) => Evidence::Human,
            (false, false) => Evidence::Sound,
        }
    }

    fn cost(&self) -> Cost {
        self.members.iter().map(|(_, member)| member.cost()).max().unwrap_or(Cost::Free)
    }

    fn describe(&self) -> Value {
        let members: Vec<Value> = self
            .members
            .iter()
            .map(|(name, member)| json!({ "name": name, "verifier": member.describe() }))
            .collect();
        json!({ "panel": { "rule": self.rule, "members": members } })
    }

    fn demand(&self) -> String {
        let mut demands: Vec<String> = Vec::new();
        for (_, member) in &self.members {
            let demand = member.demand();
            if !demand.is_empty() && !demands.contains(&demand) {
                demands.push(demand);
            }
        }
        demands.join("; ")
    }

    fn verify<'a>(&'a self, ctx: &'a Ctx, case: &'a Case) -> Verifying<'a> {
        Box::pin(self.judged(ctx, case))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_and_scores_are_combined_by_rule() {
        let voices = [("one", 0.9, Gate::Pass), ("two", 0.6, Gate::Pass), ("three", 0.3, Gate::Fail)];
        let cases = [
            (PanelRule::All, 3, 0.3, Gate::Fail),
            (PanelRule::Majority, 3, 0.6, Gate::Pass),
            (PanelRule::Mean, 3, 0.6, Gate::Fail),
            (PanelRule::All, 2, 0.6, Gate::Pass),
            (PanelRule::Mean, 2, 0.75, Gate::Pass),
        ];
        for (rule, members, score, gate) in cases {
            let verdicts = voices.iter().take(members).map(|(name, score, gate)| {
                ((*name).to_owned(), Verdict { gate: *gate, ..Verdict::scored(*score) })
            });
            let combined = combine(rule, verdicts.collect());
            assert!((combined.score - score).abs() < 1e-9, "{rule:?}: {}", combined.score);
            assert_eq!(combined.gate, gate, "{rule:?}");
        }
    }

    #[test]
    fn half_is_no_majority_and_members_that_only_score_have_no_vote() {
        let voice = |name: &str, gate| (name.to_owned(), Verdict { gate, ..Verdict::scored(0.5) });
        let tie = vec![voice("one", Gate::Pass), voice("two", Gate::Fail)];
        assert_eq!(combine(PanelRule::Majority, tie).gate, Gate::Fail);
        let one_votes = vec![voice("one", Gate::Pass), voice("two", Gate::None), voice("three", Gate::None)];
        assert_eq!(combine(PanelRule::Majority, one_votes).gate, Gate::Pass);
        for rule in [PanelRule::All, PanelRule::Majority, PanelRule::Mean] {
            assert_eq!(combine(rule, vec![voice("one", Gate::None)]).gate, Gate::None);
        }
    }
}

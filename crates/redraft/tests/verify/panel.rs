//! Several verifiers whose voices are counted together.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use redraft::Failure;
use redraft::llm::{Error, Model, Prompts, Scripted, Turn};
use redraft::verify::{
    Case, Cost, Evidence, Finding, Gate, Human, Incumbent, Judge, Panel, PanelConfig, PanelRule, Rule,
    Severity, Verdict, Verifier,
};
use serde_json::json;

use crate::support::{cancelled_while, judged, judged_and_resumed, near, prompt};

type Members = Vec<(&'static str, Arc<dyn Verifier>)>;
type Make = fn(Members) -> Panel;

/// A judge of one criterion that gives this of 10.
fn scoring(score: u32) -> Arc<dyn Verifier> {
    let answer = json!({ "scores": { "clear": score }, "findings": [], "strengths": ["short"] });
    judge(&Scripted::by("critic", move |_, _| Turn::text(answer.to_string())))
}

fn judge(model: &Scripted) -> Arc<dyn Verifier> {
    Arc::new(Judge::new(Arc::new(model.clone())).rubric(["clear"]))
}

/// A judge that cannot be brought to an answer.
fn babbling() -> Arc<dyn Verifier> {
    judge(&Scripted::by("critic", |_, _| Turn::text("hm")))
}

#[derive(Debug)]
struct Forbids(&'static str);

impl Rule for Forbids {
    fn demand(&self) -> String {
        format!("no {}", self.0)
    }
    fn check(&self, case: &Case) -> Verdict {
        Verdict::of(case.draft.contains(self.0).then(|| Finding::new("word", "a word is forbidden")))
    }
}

fn forbids(word: &'static str) -> Arc<dyn Verifier> {
    Arc::new(Forbids(word))
}

fn case() -> Case {
    Case::new("Explain tides.", "Tides rise.")
}

#[tokio::test]
async fn scores_and_gates_are_combined_by_rule_and_disagreement_is_said() {
    let members = || vec![("kind", scoring(9)), ("strict", scoring(4)), ("no-tides", forbids("Tides"))];
    let cases: [(Make, f64, Gate); 3] = [
        (Panel::all, 0.0, Gate::Fail),
        (Panel::majority, 0.4, Gate::Fail),
        (Panel::mean, 1.3 / 3.0, Gate::Fail),
    ];
    for (make, score, gate) in cases {
        let verdict = judged(make(members()), &case()).await.unwrap();
        near(verdict.score, score);
        assert_eq!(verdict.gate, gate);
        near(verdict.spread.unwrap(), 0.9);
        assert_eq!(verdict.findings[0].rule, "no-tides/word");
        assert_eq!(verdict.strengths, ["short"]);
        let wanted = "the members of the panel disagree: `kind` 0.90; `strict` 0.40; `no-tides` 0.00, fails";
        assert_eq!(verdict.warnings, [wanted]);
    }
}

#[tokio::test]
async fn a_member_that_is_outvoted_does_not_block() {
    let members = vec![("one", forbids("Tides")), ("two", forbids("x")), ("three", forbids("y"))];
    let verdict = judged(Panel::majority(members), &case()).await.unwrap();
    assert_eq!((verdict.gate, verdict.findings[0].severity), (Gate::Pass, Severity::Major));
    assert!(verdict.warnings[0].contains("`one` 0.00, fails; `two` 1.00, passes"), "{:?}", verdict.warnings);
}

#[tokio::test]
async fn a_member_without_a_verdict_has_no_voice() {
    let with_one = || vec![("kind", scoring(9)), ("strict", scoring(7)), ("hm", babbling())];
    let with_two = || vec![("kind", scoring(9)), ("hm", babbling()), ("hmm", babbling())];
    let makes: [(Make, bool); 3] = [(Panel::all, false), (Panel::majority, true), (Panel::mean, true)];
    for (make, judges) in makes {
        match judged(make(with_one()), &case()).await {
            Ok(verdict) => {
                assert!(judges, "{verdict:?}");
                near(verdict.score, 0.8);
                assert!(
                    verdict.warnings[0].starts_with("1 of 3 members could not judge"),
                    "{:?}",
                    verdict.warnings
                );
            }
            Err(failure) => assert_eq!((failure.code.as_str(), judges), ("no-verdict", false)),
        }
        let failure = judged(make(with_two()), &case()).await.unwrap_err();
        assert_eq!((failure.code.as_str(), failure.at.len()), ("no-verdict", 2), "{failure:?}");
        assert!(failure.at[0].as_str().starts_with("quality/panel/hm/judge"), "{failure:?}");
    }
}

#[tokio::test]
async fn a_failure_of_a_members_provider_stays_what_it_is() {
    let gone = Scripted::by("critic", |_, _| {
        Turn::error(Error::NotFound { model: "m".into(), message: "gone".into() })
    });
    let members = vec![("hm", babbling()), ("gone", judge(&gone))];
    assert_eq!(judged(Panel::majority(members), &case()).await.unwrap_err().code, "model-not-found");
}

#[tokio::test]
async fn a_member_answers_for_its_own_earlier_findings_and_keeps_their_ids() {
    let filed =
        |rule: &str| Verdict::of([Finding::new(rule, "it hedges")]).filed("quality").findings.remove(0);
    let (first, second) = (filed("one/clear"), filed("two/clear"));
    let model = |status: &'static str, id: String| {
        Scripted::by("critic", move |_, _| {
            let earlier = json!({ id.as_str(): { "status": status, "note": "" } });
            let answer =
                json!({ "scores": { "clear": 8 }, "findings": [], "strengths": [], "earlier": earlier });
            Turn::text(answer.to_string())
        })
    };
    let fixes = model("fixed", first.id.to_string());
    let insists = model("not_fixed", second.id.to_string());
    let mut case = case();
    case.earlier = vec![first.clone(), second.clone()];
    case.incumbent = Some(Incumbent::new(1, "old", Some(0.9)));
    let comparing = |model: &Scripted| -> Arc<dyn Verifier> {
        Arc::new(Judge::new(Arc::new(model.clone())).rubric(["clear"]).pairwise(true))
    };
    let panel = Panel::all([("one", comparing(&fixes)), ("two", comparing(&insists))]);
    let verdict = judged(panel, &case).await.unwrap();
    assert_eq!(fixes.asked().len(), 1, "it was measured by a score that it has not given");
    assert_eq!(verdict.fixed, std::slice::from_ref(&first.id));
    assert_eq!(verdict.findings.len(), 1);
    assert_eq!((&verdict.findings[0].id, verdict.findings[0].rule.as_str()), (&second.id, "two/clear"));
    assert!(!prompt(&fixes.asked()[0]).contains(second.id.as_str()), "it saw what another found");
}

#[tokio::test]
async fn a_cancelled_member_is_not_outvoted() {
    let slow = Scripted::by("slow", |_, _| Turn::text("late").after(Duration::from_secs(3600)));
    let members = [("kind", scoring(9)), ("strict", scoring(7)), ("slow", judge(&slow))];
    assert_eq!(cancelled_while(&slow, 1, Panel::majority(members), &case()).await.code, "cancelled");
}

#[tokio::test]
async fn a_resumed_run_asks_nobody_again() {
    let model = Scripted::by("critic", |_, _| {
        Turn::text(json!({ "scores": { "clear": 8 }, "findings": [], "strengths": [] }).to_string())
    });
    let panel = Panel::mean([("one", judge(&model)), ("two", judge(&model)), ("rule", forbids("x"))]);
    let verdict = judged_and_resumed(panel, &case()).await;
    near(verdict.score, 2.6 / 3.0);
    assert_eq!((verdict.gate, model.asked().len()), (Gate::Pass, 2));
}

#[tokio::test]
async fn a_panel_that_could_never_judge_is_refused() {
    let cases: [(Members, &str); 3] = [
        (vec![], "it has no members"),
        (vec![("one", scoring(8)), ("one", scoring(8))], "two members are called `one`"),
        (vec![("a/b", scoring(8))], "`a/b` cannot be a name"),
    ];
    for (members, wanted) in cases {
        let failure = judged(Panel::all(members), &case()).await.unwrap_err();
        assert_eq!(failure.code, "bad-verifier");
        assert!(failure.message.contains(wanted), "{failure}");
    }
}

#[test]
fn a_panel_is_as_dear_as_its_dearest_and_as_sound_as_its_weakest() {
    let person: Arc<dyn Verifier> = Arc::new(Human::new("Good?"));
    let cases: [(Members, Evidence, Cost); 3] = [
        (vec![("one", forbids("x"))], Evidence::Sound, Cost::Free),
        (vec![("one", forbids("x")), ("two", Arc::clone(&person))], Evidence::Human, Cost::Person),
        (vec![("one", scoring(8)), ("two", person)], Evidence::Statistical, Cost::Person),
    ];
    for (members, evidence, cost) in cases {
        let panel = Panel::all(members);
        assert_eq!((panel.evidence(), panel.cost()), (evidence, cost));
    }
    let panel = Panel::all([("one", forbids("x")), ("two", forbids("y")), ("three", forbids("x"))]);
    assert_eq!(panel.demand(), "no x; no y");
    let others = [
        Panel::mean([("one", forbids("x"))]),
        Panel::all([("two", forbids("x"))]),
        Panel::all([("one", forbids("y"))]),
    ];
    for other in others {
        assert_ne!(other.describe(), Panel::all([("one", forbids("x"))]).describe());
    }
}

#[test]
fn a_panel_can_be_written_in_a_file() {
    let written = json!({
        "rule": "mean",
        "judges": { "one": { "model": "critic", "rubric": ["clear"] }, "two": { "model": "other", "rubric": ["clear"] } },
    });
    let config: PanelConfig = serde_json::from_value(written).unwrap();
    let mut aliases = Vec::new();
    let panel = Panel::from_config::<Failure>(config.clone(), &Prompts::builtin(), |alias| {
        aliases.push(alias.to_owned());
        Ok(Arc::new(Scripted::new(alias, ["x"])) as Arc<dyn Model>)
    })
    .unwrap();
    assert_eq!(aliases, ["critic", "other"]);
    let member = |model: &str| judge(&Scripted::new(model, ["x"]));
    assert_eq!(
        panel.describe(),
        Panel::mean([("one", member("critic")), ("two", member("other"))]).describe()
    );

    let nobody = PanelConfig { judges: BTreeMap::new(), rule: PanelRule::All };
    let refused = Panel::from_config::<Failure>(nobody, &Prompts::builtin(), |_| Err("no model".into()));
    assert_eq!(refused.unwrap_err().code, "bad-verifier");
    let unknown = Panel::from_config::<Failure>(config, &Prompts::builtin(), |_| Err("no model".into()));
    assert_eq!(unknown.unwrap_err().message, "no model");
}

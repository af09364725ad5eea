//! Each named protocol, with scripted models that prove its point.

use std::sync::Arc;

use redraft::llm::{Allowance, Message, Model, Request, Scripted, Turn};
use redraft::refine::protocol::chain_of_verification::chain_of_verification;
use redraft::refine::protocol::feedback_loop::{Agent, ContextTool, FeedbackLoop, Rule, Target, When};
use redraft::refine::protocol::reflexion::reflexion;
use redraft::refine::protocol::self_consistency::SelfConsistency;
use redraft::refine::protocol::stepwise::stepwise;
use redraft::refine::protocol::thought_revision::thought_revision;
use redraft::refine::{Batch, Format, How, Limits, Refine, Refined, in_formats};
use redraft::store::MemoryStore;
use redraft::verify::{Case, Cost, Evidence, Finding, Rule as Check, Verdict, Verifier, Verifying};
use redraft::{Ctx, Definition, Engine, Failure, Fault, Stop, flow};
use serde_json::{Value, json};

use crate::support::{Holds, refine, run, words};

async fn run_any<D: Definition<Input = Value, Output = Refined> + Clone>(it: D) -> Refined {
    let engine = Engine::on(MemoryStore::new()).workflow(it.clone()).open().await.unwrap();
    let run = engine.start(&it, json!({ "task": "Write about tides." })).await.unwrap();
    run.outcome().await.unwrap().into_output().unwrap()
}

fn shared(model: &Scripted) -> Arc<dyn Model> {
    Arc::new(model.clone())
}

#[tokio::test]
async fn questions_are_answered_without_the_draft_and_the_rewrite_says_what_was_confirmed() {
    let author =
        Scripted::new("author", ["Ada was born in 1815 in Paris.", "Ada was born in 1815 in London."]);
    let checker = Scripted::by("checker", |request, _| {
        let asked = words(request);
        let city = if asked.contains("Paris") { "Paris" } else { "London" };
        if asked.contains("List the claims, each with its question.") {
            let plan = json!({ "claims": [
                { "claim": "Ada was born in 1815", "question": "When was Ada born?" },
                { "claim": format!("Ada was born in {city}"), "question": "Where was Ada born?" },
            ] });
            return plan.to_string().into();
        }
        if asked == "When was Ada born?" {
            return "In 1815.".into();
        }
        if asked == "Where was Ada born?" {
            return "In London.".into();
        }
        let wrong = asked.contains("born in Paris") && asked.contains("In London.");
        let agreement = if wrong { "inconsistent" } else { "consistent" };
        json!({ "agreement": agreement }).to_string().into()
    });
    let refined = run(chain_of_verification(Refine::new("ada", author.clone()), shared(&checker))).await;
    assert_eq!((refined.stop, refined.iterations.len()), (Stop::Accepted, 2));
    assert_eq!(refined.iterations[0].score, 0.5);
    assert_eq!(refined.iterations[1].how, How::Facts);
    let rewrite = words(&author.asked()[1]);
    assert!(
        rewrite.contains("confirmed: Ada was born in 1815") && rewrite.contains("In London."),
        "{rewrite}"
    );
    // Factored: whoever answers a question sees the question alone.
    let answering = checker.asked().into_iter().filter(|request| words(request).ends_with('?'));
    assert_eq!(answering.map(|request| words(&request).matches("Paris").count()).sum::<usize>(), 0);
}

#[tokio::test]
async fn the_answer_that_most_give_is_taken_and_no_more_are_asked_than_needed() {
    for (answers, asked, stop, wins) in [
        (vec!["Answer: 7"; 10], 4, Stop::Accepted, "Answer: 7"),
        (
            vec!["Answer: 7", "Answer: 8", "answer: 7.", "Answer: 7", "Answer: 7", "Answer: 7", "Answer: 7"],
            7,
            Stop::Accepted,
            "Answer: 7",
        ),
        (
            vec!["Answer: 1", "Answer: 2", "Answer: 3", "Answer: 4", "Answer: 5", "Answer: 6"],
            6,
            Stop::IterationsSpent,
            "Answer: 1",
        ),
    ] {
        let most = u32::try_from(answers.len()).unwrap();
        let model = Scripted::by("m", move |request, _| answers[request.seed.unwrap() as usize - 1].into());
        let refined = run_any(SelfConsistency::new("seven", model.clone()).samples(3, most).unwrap()).await;
        assert_eq!((model.asked().len(), refined.stop), (asked, stop));
        assert_eq!(refined.best.unwrap().text, wins);
    }
}

/// A judge that says which model it asks.
#[derive(Debug)]
struct JudgedBy(&'static str);

impl Verifier for JudgedBy {
    fn evidence(&self) -> Evidence {
        Evidence::Statistical
    }
    fn cost(&self) -> Cost {
        Cost::Model
    }
    fn describe(&self) -> Value {
        json!({ "model": self.0 })
    }
    fn demand(&self) -> String {
        "good".to_owned()
    }
    fn verify<'a>(&'a self, _: &'a Ctx, _: &'a Case) -> Verifying<'a> {
        Box::pin(async { Ok(Verdict::scored(0.0)) })
    }
}

#[tokio::test]
async fn reflexion_learns_from_evidence_and_refuses_to_run_without() {
    let author = Scripted::new("author", ["sea", "Lesson: name the moon.", "moon"]);
    let alone = || Refine::new("tides", author.clone());
    let refused = reflexion(alone().verify("opinion", JudgedBy("scripted:author"))).unwrap_err();
    assert_eq!(refused.code(), "needs-evidence");
    assert!(reflexion(alone().verify("opinion", JudgedBy("scripted:other"))).is_ok());
    let refined = run(reflexion(alone().verify("moon", Holds("moon"))).unwrap()).await;
    assert_eq!(refined.stop, Stop::Accepted);
    assert!(words(&author.asked()[2]).contains("- Lesson: name the moon."));
}

const WRONG: &str = "1. 2 + 2 = 4\n2. 4 * 3 = 11\n3. 11 + 1 = 12\nAnswer: 12";

#[tokio::test]
async fn faulty_thoughts_are_written_anew_and_the_answer_is_derived_again() {
    let author = Scripted::new("author", [WRONG, "2. 4 * 3 = 12", "3. 12 + 1 = 13", "Answer: 13"]);
    let checker = Scripted::new(
        "checker",
        [
            json!({ "faults": [{ "step": 2, "problem": "4 * 3 is 12" }, { "step": 3, "problem": "builds on 11" }] }),
            json!({ "faults": [] }),
        ]
        .map(|reply| reply.to_string()),
    );
    let refined = run(thought_revision(Refine::new("sum", author.clone()), shared(&checker))).await;
    assert_eq!((refined.stop, refined.iterations[1].how), (Stop::Accepted, How::Thoughts));
    assert_eq!(refined.best.unwrap().text, "1. 2 + 2 = 4\n2. 4 * 3 = 12\n3. 12 + 1 = 13\nAnswer: 13");
}

#[tokio::test]
async fn what_is_verified_stays_for_good_and_the_pointer_never_moves_back() {
    let author = Scripted::new(
        "author",
        [WRONG, "2. 4 * 3 = 12\n3. 12 + 1 = 14\nAnswer: 14", "3. 12 + 1 = 13\nAnswer: 13"],
    );
    // The second time the checker also dislikes a step that was verified before: that is not taken up again.
    let checker = Scripted::new(
        "checker",
        [
            json!({ "faults": [{ "step": 2, "problem": "4 * 3 is 12" }] }),
            json!({ "faults": [{ "step": 3, "problem": "12 + 1 is 13" }] }),
            json!({ "faults": [] }),
        ]
        .map(|reply| reply.to_string()),
    );
    let refined = run(stepwise(Refine::new("sum", author.clone()), shared(&checker))).await;
    assert_eq!(refined.stop, Stop::Accepted);
    assert_eq!(refined.best.unwrap().text, "1. 2 + 2 = 4\n2. 4 * 3 = 12\n3. 12 + 1 = 13\nAnswer: 13");
    let frozen: Vec<u32> = refined.iterations.iter().map(|iteration| iteration.frozen).collect();
    assert_eq!(frozen, [0, 1, 2]);
    assert!(words(&author.asked()[2]).contains("2. 4 * 3 = 12"), "the verified steps are given");
    assert!(!words(&author.asked()[2]).contains("= 14\n</verified>"));
}

#[tokio::test]
async fn a_fault_in_what_was_verified_does_not_move_the_pointer_back() {
    let author = Scripted::new("author", [WRONG, "2. x\n3. y\nAnswer: 1", "2. p\n3. q\nAnswer: 2", "never"]);
    let faults = |step: u32| json!({ "faults": [{ "step": step, "problem": "no" }] }).to_string();
    let checker = Scripted::new("checker", [faults(2), faults(1), faults(1)]);
    let refined =
        run(stepwise(Refine::new("sum", author.clone()), shared(&checker)).limits(Limits::iterations(3)))
            .await;
    assert_eq!(refined.iterations[2].frozen, 1);
    assert!(refined.iterations[2].text.starts_with("1. 2 + 2 = 4\n"));
}

/// The three rules of the source page, checked by program.
#[derive(Debug)]
struct EndsOnNumber;

impl Check for EndsOnNumber {
    fn demand(&self) -> String {
        "the last word is a number".to_owned()
    }
    fn check(&self, case: &Case) -> Verdict {
        let last = case.draft.trim_end_matches(['.', '%']).rsplit(' ').next().unwrap_or_default();
        let is_number = last.parse::<f64>().is_ok();
        Verdict::of(
            (!is_number).then(|| Finding::new("last-token", format!("ends on “{last}”")).about("last")),
        )
    }
}

fn page(drafter: &Scripted, reviewer: &Scripted) -> FeedbackLoop {
    FeedbackLoop::new(
        "blog-opening",
        "Topic: {{ task }}",
        Agent::model("drafter", drafter.clone(), "You draft."),
        Agent::model("reviewer", reviewer.clone(), "You review."),
    )
    .unwrap()
}

#[tokio::test]
async fn a_drafter_and_a_reviewer_talk_until_the_reviewer_approves() {
    let drafter = Scripted::new("drafter", ["It is hard in production.", "It costs 30%."]);
    let reviewer = Scripted::new(
        "reviewer",
        [
            Turn::text("Rule (b) fails: end on a number."),
            Turn::text("APPROVED: all rules hold.").and_call("approve", json!({ "reason": "all hold" })),
        ],
    );
    let refined = run_any(page(&drafter, &reviewer).verify("number", EndsOnNumber).build().unwrap()).await;
    assert_eq!((refined.stop, refined.closed.as_deref()), (Stop::Accepted, Some("approved")));
    assert_eq!(refined.best.as_ref().unwrap().text, "It costs 30%.");
    let said: Vec<(&str, Option<&str>)> =
        refined.transcript.iter().map(|said| (said.speaker.as_str(), said.called.as_deref())).collect();
    let wanted = [
        ("intake", None),
        ("drafter", None),
        ("reviewer", None),
        ("drafter", None),
        ("reviewer", Some("approve")),
    ];
    assert_eq!(said, wanted);
    assert_eq!(refined.transcript[4].sets["done"], true, "the flag and the message are one act");
    assert_eq!(refined.transcript[4].text, "APPROVED: all rules hold.");
    assert!(words(&drafter.asked()[0]).starts_with("intake: Topic: Write about tides."));
    assert!(words(&reviewer.asked()[0]).contains("ends on “production”"), "a program counts, not a model");
    let own = &drafter.asked()[1].messages[1];
    assert_eq!(*own, Message::assistant("It is hard in production."), "one's own words are one's own");
}

#[tokio::test]
async fn the_cap_never_ends_on_a_draft_that_nobody_reviewed() {
    for turns in 3..9 {
        let drafter = Scripted::by("drafter", |_, at| format!("draft {at}").into());
        let reviewer = Scripted::by("reviewer", |_, _| "Not yet.".into());
        let it = page(&drafter, &reviewer).max_turns(turns).cap_reason("max_iterations").build().unwrap();
        let refined = run_any(it).await;
        assert_eq!(
            (refined.stop, refined.closed.as_deref()),
            (Stop::IterationsSpent, Some("max_iterations"))
        );
        assert_eq!(drafter.asked().len(), reviewer.asked().len(), "with a cap of {turns}");
        assert_eq!(refined.transcript.last().unwrap().speaker, "reviewer");
        assert!(refined.transcript.len() <= turns as usize);
    }
    let reviewer = Scripted::by("reviewer", |_, _| "Not yet.".into());
    let refined = run_any(page(&reviewer, &reviewer).max_turns(4).build().unwrap()).await;
    assert_eq!(refined.closed.as_deref(), Some("max_turns"));
}

#[tokio::test]
async fn an_approval_of_a_draft_that_fails_a_gate_does_not_count() {
    let drafter = Scripted::new("drafter", ["No number.", "Now 7."]);
    let approve = || Turn::call("approve", json!({ "reason": "fine" }));
    let reviewer = Scripted::new("reviewer", [approve(), approve()]);
    let refined = run_any(page(&drafter, &reviewer).verify("number", EndsOnNumber).build().unwrap()).await;
    assert_eq!((refined.stop, refined.best.unwrap().text.as_str()), (Stop::Accepted, "Now 7."));
    assert!(refined.warnings[0].contains("fails a gate"));
}

#[tokio::test]
async fn a_call_that_cannot_be_used_is_explained_and_asked_for_again() {
    let drafter = Scripted::new("drafter", ["A draft."]);
    let bad = Turn::call("approve", json!({ "because": 7 }));
    let good = Turn::call("approve", json!({ "reason": "good" }));
    let reviewer = Scripted::new("reviewer", [bad, good]);
    let refined = run_any(page(&drafter, &reviewer).build().unwrap()).await;
    assert_eq!(refined.stop, Stop::Accepted);
    assert_eq!(refined.transcript.last().unwrap().text, "good", "a call without words speaks by its reason");
}

#[tokio::test]
async fn rules_are_data_and_each_condition_is_evaluated() {
    let writer = Scripted::by("writer", |request: &Request, _| {
        if request.tools.is_empty() {
            "a draft".into()
        } else {
            Turn::call("give_up", json!({ "reason": "too hard" }))
        }
    });
    let give_up = ContextTool::new("give_up", "Stop trying.", "tired", json!(true));
    let reviewer = Agent::model("reviewer", writer.clone(), "").tool(give_up);
    let it = FeedbackLoop::new("talk", "{{ task }}", Agent::model("drafter", writer.clone(), ""), reviewer)
        .unwrap();
    let agent = |name: &str| Target::Agent(name.to_owned());
    let rules = [
        Rule::new(When::ToolCalled("give_up".to_owned()), agent("editor")),
        Rule::new(When::ContextEquals("level".to_owned(), json!(9)), Target::Stay),
        Rule::new(When::FromSpeaker("editor".to_owned()), Target::Terminate("tired".to_owned())),
        Rule::new(When::FromSpeaker("drafter".to_owned()), agent("reviewer")),
        Rule::new(When::Always, agent("drafter")),
    ];
    let editor = Agent::fixed("editor", "Enough.").unwrap();
    let it = it.agent(editor).context("level", json!(1)).route(rules, Target::Stay).build().unwrap();
    let refined = run_any(it).await;
    assert_eq!((refined.stop, refined.closed.as_deref()), (Stop::Rejected, Some("tired")));
    let speakers: Vec<&str> = refined.transcript.iter().map(|said| said.speaker.as_str()).collect();
    assert_eq!(speakers, ["intake", "drafter", "reviewer", "editor"]);
}

#[test]
fn a_rule_that_leads_nowhere_is_refused_and_not_skipped() {
    let model = Scripted::new("m", ["?"]);
    let cases = [
        (Rule::new(When::FromSpeaker("drafterr".to_owned()), Target::Stay), "unknown-name"),
        (Rule::new(When::ToolCalled("aprove".to_owned()), Target::Stay), "unknown-name"),
        (Rule::new(When::Always, Target::Agent("nobody".to_owned())), "unknown-name"),
    ];
    for (rule, code) in cases {
        let refused = page(&model, &model).route([rule], Target::Stay).build().unwrap_err();
        assert_eq!(refused.code(), code);
    }
    assert_eq!(page(&model, &model).max_turns(2).build().unwrap_err().code(), "bad-number");
}

#[tokio::test]
async fn one_input_that_fails_does_not_sink_the_rest_and_all_share_a_budget() {
    let author = Scripted::by("author", |_, at| Turn::text(format!("0.9 {at}")));
    let refine = refine(&author).task("On {{ topic }}").unwrap().build().unwrap();
    let inputs = vec![json!({ "topic": "tides" }), json!({ "theme": "moons" }), json!({ "topic": "seas" })];
    for (calls, accepted) in [(9, 2), (1, 1)] {
        let batch =
            Batch::of(refine.clone(), 2).allowing(Allowance { calls: Some(calls), ..Allowance::default() });
        let engine = Engine::on(MemoryStore::new()).workflow(batch.clone()).open().await.unwrap();
        let run = engine.start(&batch, inputs.clone()).await.unwrap();
        let result = run.outcome().await.unwrap().into_output().unwrap();
        assert_eq!((result.accepted, result.spend.calls), (accepted, accepted as u64));
        assert!(result.items[1].refined().is_none(), "it lacks its topic");
    }
}

#[tokio::test]
async fn a_text_is_put_into_several_forms_side_by_side() {
    let model = Scripted::new("m", ["It is about tides."]);
    let formats = flow("formats", move |ctx: Ctx, text: String| {
        let model = model.clone();
        async move {
            let wanted = [Format::Markdown, Format::Html, Format::Summary];
            let made = in_formats(&ctx, &text, &wanted, &model, &redraft::llm::Prompts::builtin()).await?;
            Ok::<_, Failure>(made.into_values().collect::<Vec<_>>())
        }
    });
    let engine = Engine::on(MemoryStore::new()).workflow(formats.clone()).open().await.unwrap();
    let run = engine.start(&formats, "# Tides".to_owned()).await.unwrap();
    let made = run.outcome().await.unwrap().into_output().unwrap();
    assert_eq!(made, ["# Tides", "<h1>Tides</h1>\n", "It is about tides."]);
}

//! Values out of models: checked before they count, asked for again with what was wrong.

use redraft::llm::{Message, Request, Scripted, Turn, Usage, ask};
use redraft::store::MemoryStore;
use redraft::view::NodeKind;
use redraft::{Ctx, Engine, Failure, Question, flow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Critique {
    #[schemars(range(min = 1, max = 10))]
    score: u8,
    improvements: Vec<String>,
}

const GOOD: &str = r#"{"score": 8, "improvements": ["be bolder"]}"#;

fn judge(model: &Scripted, tries: u32) -> redraft::Flow<(), Critique> {
    let model = model.clone();
    flow("judge", move |ctx: Ctx, ()| {
        let model = model.clone();
        async move {
            let critique = ask(&ctx, "critique", &model, Request::new("Judge."), tries).await?;
            ctx.gate("go-on", Question::new("?")).await?;
            Ok::<_, Failure>(critique)
        }
    })
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_asked_for_again_with_what_is_wrong() {
    let model = Scripted::new(
        "critic",
        [
            Turn::text("I would say eight.").usage(Usage::new(10, 5)),
            Turn::text(r#"{"score": 11}"#),
            Turn::text(format!("Here:\n```json\n{GOOD}\n```")),
        ],
    );
    let store = MemoryStore::new();
    let workflow = judge(&model, 3);
    let engine = Engine::on(store.clone()).workflow(workflow.clone()).open().await.unwrap();
    let run = engine.start(&workflow, ()).await.unwrap();
    run.settled().await.unwrap();
    let asked = model.asked();
    assert!(asked[0].system.as_ref().unwrap().contains("JSON Schema"), "{asked:?}");
    let Some(Message::User { text }) = asked[1].messages.last() else { panic!("{asked:?}") };
    assert_eq!(text, "That answer cannot be used:\n- it is not JSON\nAnswer again, with JSON only.");
    let Some(Message::User { text }) = asked[2].messages.last() else { panic!("{asked:?}") };
    assert!(text.contains("at /score: 11 is greater than the maximum of 10"), "{text}");
    assert!(text.contains("\"improvements\" is a required property"), "{text}");

    // Each bad answer is a failed step with what it cost; the good one is kept as it was read.
    let tree = engine.tree(run.run()).await.unwrap();
    let NodeKind::Step { attempts, .. } = &tree.find("critique").unwrap().kind else { panic!("{tree}") };
    let detail = attempts[0].failure.as_ref().unwrap().detail.as_ref().unwrap();
    assert_eq!(detail["usage"]["input_tokens"], 10);
    let NodeKind::Step { output, .. } = &tree.find("critique#3").unwrap().kind else { panic!("{tree}") };
    let kept = output.as_ref().unwrap()["text"].as_str().unwrap();
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(value(kept), value(GOOD));
    drop(engine);

    let engine = Engine::on(store).workflow(workflow).open().await.unwrap();
    let handle = engine.handle(run.run()).await.unwrap().typed::<Critique>();
    handle.settled().await.unwrap();
    engine.answer(run.run(), "go-on", redraft::Answer::new("approve")).await.unwrap();
    let critique = handle.outcome().await.unwrap().into_output().unwrap();
    assert_eq!(critique, serde_json::from_str(GOOD).unwrap());
    assert_eq!(model.asked().len(), 3, "the model was asked again on replay");
}

#[tokio::test]
async fn after_the_last_try_the_failure_says_what_is_wrong() {
    let model = Scripted::by("stubborn", |_, _| Turn::text("no"));
    let workflow = judge(&model, 2);
    let engine = Engine::on(MemoryStore::new()).workflow(workflow.clone()).open().await.unwrap();
    let run = engine.start(&workflow, ()).await.unwrap();
    let failure = run.outcome().await.unwrap().into_output().unwrap_err();
    assert_eq!((failure.code.as_str(), model.asked().len()), ("model-malformed", 2));
    assert_eq!(failure.detail.unwrap()["faults"][0], "it is not JSON");
}

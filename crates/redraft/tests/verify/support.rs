//! What several tests need: a run that does nothing but judge, and ways to look at what a model was asked.

use std::sync::Arc;
use std::time::Duration;

use redraft::llm::{Message, Request, Scripted};
use redraft::store::MemoryStore;
use redraft::verify::{Case, Verdict, Verifier};
use redraft::{Answer, Backoff, Ctx, Engine, EngineBuilder, Failure, Flow, Policy, Question, flow};

/// Judges the case under the name `quality`, then waits at a gate if it is told to.
pub(crate) fn judging(verifier: &Arc<dyn Verifier>, case: &Case, waits: bool) -> Flow<(), Verdict> {
    let (verifier, case) = (Arc::clone(verifier), case.clone());
    flow("judging", move |ctx: Ctx, ()| {
        let (verifier, case) = (Arc::clone(&verifier), case.clone());
        async move {
            let verdict = verifier.verify(&ctx.group("quality"), &case).await?.filed("quality");
            if waits {
                ctx.gate("go-on", Question::new("?")).await?;
            }
            Ok::<_, Failure>(verdict)
        }
    })
}

/// Tries again at once, so that tests do not wait.
pub(crate) fn on(store: &MemoryStore, workflow: Flow<(), Verdict>) -> EngineBuilder {
    let backoff = Backoff { first: Duration::ZERO, factor: 1.0, most: Duration::ZERO, jitter: 0.0 };
    Engine::on(store.clone()).workflow(workflow).policy(Policy { attempts: 3, backoff, timeout: None })
}

/// Judges the case in a run of its own.
pub(crate) async fn judged(verifier: impl Verifier, case: &Case) -> Result<Verdict, Failure> {
    let workflow = judging(&(Arc::new(verifier) as Arc<dyn Verifier>), case, false);
    let engine = on(&MemoryStore::new(), workflow.clone()).open().await.unwrap();
    engine.start(&workflow, ()).await.unwrap().outcome().await.unwrap().into_output()
}

/// Judges the case in a run that is taken up again after the verdict, with the models of `verifier` as they are then.
pub(crate) async fn judged_and_resumed(verifier: impl Verifier, case: &Case) -> Verdict {
    let verifier: Arc<dyn Verifier> = Arc::new(verifier);
    let store = MemoryStore::new();
    let workflow = judging(&verifier, case, true);
    let engine = on(&store, workflow.clone()).open().await.unwrap();
    let run = engine.start(&workflow, ()).await.unwrap().run();
    engine.handle(run).await.unwrap().settled().await.unwrap();
    drop(engine);
    let engine = on(&store, workflow).open().await.unwrap();
    let handle = engine.handle(run).await.unwrap().typed::<Verdict>();
    handle.settled().await.unwrap();
    engine.answer(run, "go-on", Answer::new("approve")).await.unwrap();
    handle.outcome().await.unwrap().into_output().unwrap()
}

/// Judges the case, and cancels the run when the model has been asked so often and nothing else happens by itself.
pub(crate) async fn cancelled_while(
    model: &Scripted,
    asked: usize,
    verifier: impl Verifier,
    case: &Case,
) -> Failure {
    let workflow = judging(&(Arc::new(verifier) as Arc<dyn Verifier>), case, false);
    let engine = on(&MemoryStore::new(), workflow.clone()).open().await.unwrap();
    let handle = engine.start(&workflow, ()).await.unwrap();
    while model.asked().len() < asked {
        tokio::task::yield_now().await;
    }
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    engine.cancel(handle.run(), "enough", "ada").await.unwrap();
    handle.outcome().await.unwrap().into_output().unwrap_err()
}

/// What a model was asked last in a request.
pub(crate) fn last_words(request: &Request) -> &str {
    words(request.messages.last())
}

/// What a model was asked first in a request: the prompt.
pub(crate) fn prompt(request: &Request) -> &str {
    words(request.messages.first())
}

fn words(message: Option<&Message>) -> &str {
    match message {
        Some(Message::User { text }) => text,
        _ => "",
    }
}

/// Compares scores.
#[track_caller]
pub(crate) fn near(got: f64, wanted: f64) {
    assert!((got - wanted).abs() < 1e-9, "{got} is not {wanted}");
}

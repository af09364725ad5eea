//! A model that answers from a script: for tests, dry runs and examples without a key.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::{Answering, Completion, Error, Finish, Listener, Model, Request, ToolCall, Usage};
use crate::clock::nap;

/// A model whose answers are known in advance.
///
/// ```
/// use redraft::llm::{Model, Request, Scripted, Turn};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), redraft::llm::Error> {
/// let model = Scripted::new("canned", ["first reply", "second reply"]);
/// assert_eq!(model.answer(&Request::new("Hello?"), &mut ()).await?.text, "first reply");
///
/// // Or as a function of what is asked.
/// let echo = Scripted::by("echo", |request, _| Turn::text(format!("You sent {} messages.", request.messages.len())));
/// assert_eq!(echo.answer(&Request::new("Hello?"), &mut ()).await?.text, "You sent 1 messages.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Scripted {
    name: Arc<str>,
    script: Script,
    asked: Arc<Mutex<Vec<Request>>>,
}

type Script = Arc<dyn Fn(&Request, usize) -> Option<Turn> + Send + Sync>;

/// One answer of a script.
#[derive(Clone, Debug)]
pub struct Turn {
    answer: Result<Completion, Error>,
    usage: Option<Usage>,
    delay: Duration,
}

impl Turn {
    /// Says something.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { answer: Ok(Completion::new("", text)), usage: None, delay: Duration::ZERO }
    }

    /// Calls a tool.
    #[must_use]
    pub fn call(name: impl Into<String>, arguments: serde_json::Value) -> Self {
        Self::text("").and_call(name, arguments)
    }

    /// Fails.
    #[must_use]
    pub fn error(error: Error) -> Self {
        Self { answer: Err(error), usage: None, delay: Duration::ZERO }
    }

    /// Calls a tool as well.
    #[must_use]
    pub fn and_call(mut self, name: impl Into<String>, arguments: serde_json::Value) -> Self {
        if let Ok(completion) = &mut self.answer {
            let id = format!("call_{}", completion.calls.len() + 1);
            completion.calls.push(ToolCall { id, name: name.into(), arguments });
            completion.finish = Finish::ToolCalls;
        }
        self
    }

    /// Says what it cost; otherwise a word counts as a token.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Says why it stopped.
    #[must_use]
    pub fn finish(mut self, finish: Finish) -> Self {
        if let Ok(completion) = &mut self.answer {
            completion.finish = finish;
        }
        self
    }

    /// Takes its time.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

impl From<&str> for Turn {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Turn {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl Scripted {
    /// Makes a model that gives these answers one after the other, and fails when there are no more.
    #[must_use]
    pub fn new<T: Into<Turn>>(name: &str, turns: impl IntoIterator<Item = T>) -> Self {
        let turns: Vec<Turn> = turns.into_iter().map(Into::into).collect();
        Self::with(name, Arc::new(move |_, at| turns.get(at).cloned()))
    }

    /// Makes a model whose answer is a function of the request and of how many it has had before.
    #[must_use]
    pub fn by(name: &str, answer: impl Fn(&Request, usize) -> Turn + Send + Sync + 'static) -> Self {
        Self::with(name, Arc::new(move |request, at| Some(answer(request, at))))
    }

    fn with(name: &str, script: Script) -> Self {
        Self { name: format!("scripted:{name}").into(), script, asked: Arc::default() }
    }

    /// Returns what it was asked so far, in order.
    #[must_use]
    pub fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn next(&self, request: &Request) -> Result<Turn, Error> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let at = asked.len();
        asked.push(request.clone());
        (self.script)(request, at)
            .ok_or_else(|| Error::ScriptOver { model: self.name.to_string(), turn: at + 1 })
    }
}

impl Model for Scripted {
    fn name(&self) -> &str {
        &self.name
    }

    fn answer<'a>(&'a self, request: &'a Request, listener: &'a mut dyn Listener) -> Answering<'a> {
        let turn = self.next(request);
        Box::pin(async move {
            let turn = turn?;
            if !turn.delay.is_zero() {
                nap(turn.delay).await;
            }
            let mut completion = turn.answer?;
            for piece in completion.text.split_inclusive(' ') {
                listener.hear(piece);
            }
            completion.usage = turn.usage.unwrap_or_else(|| guess(request, &completion));
            completion.model = self.name.to_string();
            completion.latency_ms = u64::try_from(turn.delay.as_millis()).unwrap_or(u64::MAX);
            Ok(completion)
        })
    }
}

/// A word is a token: near enough to try budgets with.
fn guess(request: &Request, completion: &Completion) -> Usage {
    let words = |text: &str| text.split_whitespace().count() as u64;
    let said: u64 = request
        .messages
        .iter()
        .map(|message| match message {
            super::Message::User { text } | super::Message::Assistant { text, .. } => words(text),
            super::Message::ToolResult { output, .. } => words(output),
        })
        .sum();
    let system = request.system.as_deref().map_or(0, words);
    let called: u64 = completion.calls.iter().map(|call| words(&call.arguments.to_string())).sum();
    Usage::new(said + system, words(&completion.text) + called)
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted").field("name", &self.name).finish_non_exhaustive()
    }
}

//! Models: one trait for everything that answers a prompt.
//!
//! A [`Model`] takes a [`Request`] and gives a [`Completion`] or an [`Error`] that says whose fault it is and whether to
//! try again. [`provider`] speaks to the services people have keys for and to everything that speaks OpenAI's
//! language; [`Scripted`] answers from a script, for tests and dry runs. [`ask`] gets a value of a type out of any of
//! them; [`Recorder`] and [`Player`] keep real answers for tests.
//!
//! A call belongs into a step: [`say`] and [`ask`] make it one. Its policy decides about trying again, its journal
//! remembers the answer and what it cost, and [`Ctx::paying`](crate::Ctx::paying) lets a [`Budget`] pay for it.
//! Outside of runs, [`Metered`] does.
//!
//! To add a provider: a file in `provider/` with its three pure functions (what is sent, what a reply means, what a
//! piece of a stream means), a line in `provider::KNOWN`, and its wire format in `tests/llm`.

mod budget;
mod calling;
mod cassette;
mod error;
mod message;
mod metered;
mod price;
mod prompts;
mod scripted;
mod structured;
mod tuned;

#[cfg(feature = "http")]
pub mod provider;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

pub use self::budget::{Allowance, Budget, BudgetError, Reservation, Resource};
pub use self::calling::{Audience, say};
pub use self::cassette::{Player, Recorder};
pub use self::error::Error;
pub use self::message::{Completion, Finish, Message, OutputSchema, Request, Tool, ToolCall};
pub use self::metered::Metered;
pub use self::price::{Price, PriceTable};
pub use self::prompts::{PromptError, Prompts, Rendered, Template};
pub use self::scripted::{Scripted, Turn};
pub use self::structured::{ask, ask_shaped};
pub use self::tuned::{Tuned, Tuning};
pub use crate::money::{BadMoney, Money};
pub use crate::spend::{Spend, Usage};

/// A call under way. Dropping it cancels the call.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Result<Completion, Error>> + Send + 'a>>;

/// Something that answers prompts.
pub trait Model: Send + Sync + fmt::Debug + 'static {
    /// Returns the name it is called by: `provider:model`.
    fn name(&self) -> &str;

    /// Says whether it can be held to [`Request::schema`]; otherwise the shape is asked for in words.
    fn takes_schemas(&self) -> bool {
        false
    }

    /// Returns a request as this model will ask it: with settings of its own where the request says nothing. What a
    /// call may cost, and whether a step is still the same, is decided by this.
    fn tuned(&self, request: &Request) -> Request {
        request.clone()
    }

    /// Is told of an answer of its own that came from the journal: it gave it in an earlier life of the run. Nothing if
    /// what it said then could not be used. A model that counts its answers goes on after it.
    fn recall(&self, _answer: Option<&Completion>) {}

    /// Answers a request. Text is handed to `listener` as it comes, if the model can; the completion holds all of it.
    fn answer<'a>(&'a self, request: &'a Request, listener: &'a mut dyn Listener) -> Answering<'a>;
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn takes_schemas(&self) -> bool {
        (**self).takes_schemas()
    }

    fn tuned(&self, request: &Request) -> Request {
        (**self).tuned(request)
    }

    fn recall(&self, answer: Option<&Completion>) {
        (**self).recall(answer);
    }

    fn answer<'a>(&'a self, request: &'a Request, listener: &'a mut dyn Listener) -> Answering<'a> {
        (**self).answer(request, listener)
    }
}

/// Somebody who wants to see text as it comes.
pub trait Listener: Send {
    /// Takes the next piece.
    fn hear(&mut self, piece: &str);

    /// Says whether anybody listens; if not, a model need not stream.
    fn is_listening(&self) -> bool {
        true
    }
}

/// Nobody listens.
impl Listener for () {
    fn hear(&mut self, _: &str) {}

    fn is_listening(&self) -> bool {
        false
    }
}

impl<F: FnMut(&str) + Send> Listener for F {
    fn hear(&mut self, piece: &str) {
        self(piece);
    }
}

//! What can be run: a name, a version and a function of a [`Ctx`].

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::Ctx;
use crate::failure::Failure;
use crate::fingerprint::Fingerprint;

/// A future on the heap.
pub(crate) type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A workflow that an engine can run.
///
/// You rarely implement it: [`flow`] makes one from an `async` function, and
/// [`Workflow`](crate::workflow::Workflow) is one.
pub trait Definition: Send + Sync + 'static {
    /// What a run starts from.
    type Input: Serialize + DeserializeOwned + Send + 'static;
    /// What a run returns.
    type Output: Serialize + DeserializeOwned + Send + 'static;

    /// Returns the name, unique within an engine together with the version.
    fn name(&self) -> &str;

    /// Returns the version; a run keeps the one it started with.
    fn version(&self) -> u32;

    /// Returns a fingerprint of the definition's shape. A run is resumed only under the one it was started with.
    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of([self.name().as_bytes(), &self.version().to_le_bytes()])
    }

    /// Returns the names of the definition's phases, so that a changed one can be named.
    fn phases(&self) -> Vec<String> {
        Vec::new()
    }

    /// Runs it.
    fn run(&self, ctx: Ctx, input: Self::Input) -> Boxed<Result<Self::Output, Failure>>;
}

/// A definition whose types the engine need not know.
pub(super) trait Erased: Send + Sync {
    fn name(&self) -> &str;
    fn version(&self) -> u32;
    fn fingerprint(&self) -> Fingerprint;
    fn phases(&self) -> Vec<String>;
    /// Says what is wrong with an input, before a run is made of it.
    fn check_input(&self, input: &RawValue) -> Result<(), String>;
    fn run(&self, ctx: Ctx, input: &RawValue) -> Boxed<Result<Box<RawValue>, Failure>>;
}

impl<D: Definition> Erased for D {
    fn name(&self) -> &str {
        Definition::name(self)
    }

    fn version(&self) -> u32 {
        Definition::version(self)
    }

    fn fingerprint(&self) -> Fingerprint {
        Definition::fingerprint(self)
    }

    fn phases(&self) -> Vec<String> {
        Definition::phases(self)
    }

    fn check_input(&self, input: &RawValue) -> Result<(), String> {
        serde_json::from_str::<D::Input>(input.get()).map(drop).map_err(|error| error.to_string())
    }

    fn run(&self, ctx: Ctx, input: &RawValue) -> Boxed<Result<Box<RawValue>, Failure>> {
        let running = match serde_json::from_str(input.get()) {
            Ok(input) => Definition::run(self, ctx, input),
            Err(error) => {
                let failure = Failure::terminal("does-not-fit", format!("the input does not fit: {error}"));
                return Box::pin(std::future::ready(Err(failure)));
            }
        };
        Box::pin(async move {
            let output = running.await?;
            serde_json::value::to_raw_value(&output).map_err(|error| {
                Failure::terminal(
                    "output-not-serializable",
                    format!("the output cannot be written as JSON: {error}"),
                )
            })
        })
    }
}

/// An imperative workflow; made by [`flow`].
pub struct Flow<I, O> {
    name: Arc<str>,
    version: u32,
    body: Body<I, O>,
    types: PhantomData<fn(I) -> O>,
}

type Body<I, O> = Arc<dyn Fn(Ctx, I) -> Boxed<Result<O, Failure>> + Send + Sync>;

/// Makes a workflow from an `async` function.
///
/// ```
/// use redraft::{Ctx, Failure, flow};
///
/// let greet = flow("greet", |ctx: Ctx, name: String| async move {
///     ctx.step("compose", || async { Ok::<_, Failure>(format!("Hello, {name}!")) }).await
/// });
/// # let _ = greet;
/// ```
pub fn flow<I, O, F, Fut>(name: &str, body: F) -> Flow<I, O>
where
    F: Fn(Ctx, I) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<O, Failure>> + Send + 'static,
{
    Flow {
        name: name.into(),
        version: 1,
        body: Arc::new(move |ctx, input| Box::pin(body(ctx, input))),
        types: PhantomData,
    }
}

impl<I, O> Flow<I, O> {
    /// Sets the version (1 unless said otherwise). Raise it when the flow changes while runs are under way, and
    /// keep the old one registered until they have ended.
    #[must_use]
    pub fn version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }
}

impl<I, O> Clone for Flow<I, O> {
    fn clone(&self) -> Self {
        Self {
            name: Arc::clone(&self.name),
            version: self.version,
            body: Arc::clone(&self.body),
            types: PhantomData,
        }
    }
}

impl<I, O> fmt::Debug for Flow<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flow")
            .field("name", &self.name)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl<I, O> Definition for Flow<I, O>
where
    I: Serialize + DeserializeOwned + Send + 'static,
    O: Serialize + DeserializeOwned + Send + 'static,
{
    type Input = I;
    type Output = O;

    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn run(&self, ctx: Ctx, input: I) -> Boxed<Result<O, Failure>> {
        (self.body)(ctx, input)
    }
}

//! The embedded model, `local:…`: the one place that knows whether this build has it.
//!
//! Its weights are fetched when a spec is about to be run, with a bar to watch; they are loaded when it is first asked. A
//! resumed run that has only answers to replay never loads anything.

use std::sync::Arc;

use redraft::Failure;
use redraft::llm::Model;

#[cfg(not(feature = "local"))]
pub(crate) fn model(name: &str) -> Result<Arc<dyn Model>, Failure> {
    Err(Failure::terminal("unknown-provider", format!("this build has no embedded model for `local:{name}`"))
        .with_hint("name a model of a provider, or one that listens on this machine: ollama:…"))
}

/// Makes a model that runs inside this program.
#[cfg(feature = "local")]
pub(crate) fn model(name: &str) -> Result<Arc<dyn Model>, Failure> {
    embedded::model(name)
}

#[cfg(feature = "local")]
pub(crate) use self::embedded::{options, told};

#[cfg(feature = "local")]
mod embedded {
    use std::collections::HashMap;
    use std::io::{IsTerminal, Write};
    use std::path::PathBuf;
    use std::sync::{Arc, LazyLock, Mutex, PoisonError};

    use redraft::Failure;
    use redraft::llm::{Answering, Error, Listener, Model, Request};
    use redraft_local::{LocalModel, Options, Progress, default_cache, fetch_default};
    use tokio::sync::OnceCell;

    /// One for each name: runs that are under way at the same time share it.
    static OPENED: LazyLock<Mutex<HashMap<String, Arc<Embedded>>>> = LazyLock::new(Mutex::default);

    /// A model that is loaded when it is first asked.
    #[derive(Debug)]
    struct Embedded {
        /// As the journal knows it: it says which weights were meant.
        name: String,
        options: Options,
        loaded: OnceCell<LocalModel>,
    }

    /// Where weights are looked for, as the environment says.
    pub(crate) fn options() -> Result<Options, Failure> {
        let cache = default_cache(|name| std::env::var_os(name)).ok_or_else(|| {
            Failure::terminal(
                "local-io",
                "there is no folder for weights: neither XDG_CACHE_HOME nor HOME is set",
            )
        })?;
        let weights =
            std::env::var_os("REDRAFT_LOCAL_MODEL").filter(|path| !path.is_empty()).map(PathBuf::from);
        Ok(Options { weights, ..Options::new(cache) })
    }

    pub(crate) fn model(called: &str) -> Result<Arc<dyn Model>, Failure> {
        let options = options()?;
        let is_default = ["", "default", DEFAULT].contains(&called);
        let name = match &options.weights {
            Some(path) if is_default => format!("local:{}", path.display()),
            None if is_default => {
                fetch_default(&options, &mut told)?;
                format!("local:{DEFAULT}")
            }
            _ => format!("local:{called}"),
        };
        let file =
            options.weights.clone().filter(|_| is_default).or_else(|| (!is_default).then(|| called.into()));
        if let Some(missing) = file.filter(|file| !file.is_file()) {
            let message = format!("there are no weights at `{}`", missing.display());
            return Err(Failure::terminal("local-io", message).with_hint("name a GGUF file, or use `local:`"));
        }
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        let embedded = opened
            .entry(name.clone())
            .or_insert_with(|| Arc::new(Embedded { name, options, loaded: OnceCell::new() }));
        Ok(Arc::clone(embedded) as Arc<dyn Model>)
    }

    const DEFAULT: &str = "smollm2-135m-instruct";

    impl Embedded {
        async fn loaded(&self) -> Result<&LocalModel, Error> {
            let broken = |message: String| Error::Local { model: self.name.clone(), message };
            let load = || async {
                let (name, options) = (self.name.clone(), self.options.clone());
                let loading =
                    tokio::task::spawn_blocking(move || LocalModel::open(&name, &options, &mut told));
                match loading.await {
                    Ok(opened) => opened.map_err(|error| broken(Failure::from(error).message)),
                    Err(error) => Err(broken(error.to_string())),
                }
            };
            self.loaded.get_or_try_init(load).await
        }
    }

    impl Model for Embedded {
        fn name(&self) -> &str {
            &self.name
        }

        fn takes_schemas(&self) -> bool {
            true
        }

        fn answer<'a>(&'a self, request: &'a Request, listener: &'a mut dyn Listener) -> Answering<'a> {
            Box::pin(async move { self.loaded().await?.answer(request, listener).await })
        }
    }

    /// Says how far the weights have come: a bar on a terminal, a line elsewhere.
    pub(crate) fn told(progress: Progress) {
        const WIDTH: u64 = 24;
        let Progress::Fetching { bytes, total } = progress else { return };
        let mut err = std::io::stderr();
        if !err.is_terminal() {
            if bytes == 0 {
                let _ = writeln!(err, "fetching the embedded model, {} MB, once", total / 1_000_000);
            }
            return;
        }
        let full = bytes.min(total).saturating_mul(WIDTH).checked_div(total).unwrap_or(0);
        let count = |n: u64| usize::try_from(n).unwrap_or_default();
        let (done, left) = ("█".repeat(count(full)), "░".repeat(count(WIDTH - full)));
        let _ = write!(
            err,
            "\r{done}{left} fetching the embedded model, {} of {} MB",
            bytes / 1_000_000,
            total / 1_000_000
        );
        if bytes >= total {
            let _ = writeln!(err);
        }
    }
}

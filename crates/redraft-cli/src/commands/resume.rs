//! `redraft resume RUN`: the same run goes on, from its journal alone.

use std::process::ExitCode;

use redraft::spec::{Registry, Spec, SpecInput};
use redraft::{Engine, RunId, Status, Stop};
use serde_json::Value;

use super::block_on;
use super::run::Raised;
use crate::chosen;
use crate::driving::{Driving, Manner, input_of};
use crate::settings::Settings;
use crate::trouble::{Exit, Trouble};

/// Takes a run up where it stopped. Only what has not finished is paid for.
///
/// The spec file is not needed: a run carries all it needs. A run that reached a limit goes on if the limit is raised.
#[derive(clap::Args)]
pub(crate) struct Resume {
    /// The run: its id, enough of it to be unique, or last
    run: String,
    #[command(flatten)]
    raised: Raised,
    #[command(flatten)]
    manner: Manner,
}

impl Resume {
    pub(crate) fn run(&self, settings: &Settings) -> Result<ExitCode, Trouble> {
        block_on(async {
            let (looking, run) = chosen::open(settings, &self.run).await?;
            let summary = looking.summary(run).await?;
            let mut input = input_of(run, &summary.input)?;
            self.may_go_on(&looking, run, summary.status, summary.stop).await?;
            looking.shut_down().await;
            let driving = Driving::new(settings, &self.manner);
            let engine = driving.open(&driving.work(&input.spec.name)).await?;
            let handle = if self.raised.is_empty() {
                engine.resume(run).await?
            } else {
                input = self.raised_in(&input)?;
                engine.resume_with(run, &input).await?
            };
            driving.see_through(&engine, &handle, &input, summary.events).await
        })
    }

    /// Says what to raise where nothing else lets a run go on.
    async fn may_go_on(
        &self,
        engine: &Engine,
        run: RunId,
        status: Status,
        stop: Option<Stop>,
    ) -> Result<(), Trouble> {
        if status != Status::Exhausted || !self.raised.is_empty() {
            return Ok(());
        }
        let made = engine.report(run).await?.iterations.len();
        let (why, next) = match stop {
            Some(Stop::IterationsSpent) => (
                format!("made all {made} drafts it was allowed"),
                format!("--max-iterations {}", made.max(1) * 2),
            ),
            Some(Stop::BudgetSpent) => ("spent its budget".to_owned(), "--max-cost AMOUNT".to_owned()),
            Some(Stop::TimeSpent) => ("spent its time".to_owned(), "--max-time TIME".to_owned()),
            _ => {
                let message = format!("`{run}` came to its end without an accepted draft");
                let hint =
                    format!("go another way from one of its steps: redraft fork {run} --at 'iteration 2'");
                return Err(Trouble::new(Exit::Usage, message).code("run-ended").hint(hint));
            }
        };
        Err(Trouble::new(Exit::Usage, format!("`{run}` {why}"))
            .code("run-ended")
            .hint(format!("raise the limit: redraft resume {run} {next}")))
    }

    fn raised_in(&self, input: &SpecInput) -> Result<SpecInput, Trouble> {
        let mut spec: Value = serde_json::to_value(&input.spec).unwrap_or_default();
        self.raised.set(&mut spec);
        let text = serde_json::to_string_pretty(&spec).unwrap_or_default();
        let spec = Spec::parse("<spec with flags>", text.as_bytes(), None, &Registry::builtin())?;
        Ok(SpecInput::new(spec.resolved().clone(), input.input.clone()))
    }
}

//! `redraft rerun RUN`: a new run with the same spec and input.

use std::process::ExitCode;

use super::block_on;
use crate::chosen;
use crate::driving::{Driving, Manner, input_of};
use crate::settings::Settings;
use crate::trouble::Trouble;

/// Starts a new run with the spec and the input of another. Everything is paid for anew.
#[derive(clap::Args)]
pub(crate) struct Rerun {
    /// The run: its id, enough of it to be unique, or last
    run: String,
    #[command(flatten)]
    manner: Manner,
}

impl Rerun {
    pub(crate) fn run(&self, settings: &Settings) -> Result<ExitCode, Trouble> {
        block_on(async {
            let (looking, run) = chosen::open(settings, &self.run).await?;
            let input = input_of(run, &looking.summary(run).await?.input)?;
            looking.shut_down().await;
            let driving = Driving::new(settings, &self.manner);
            let engine = driving.open(&driving.work(&input.spec.name)).await?;
            let handle = engine.rerun(run).await?;
            driving.see_through(&engine, &handle, &input, 0).await
        })
    }
}

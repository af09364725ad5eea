//! `redraft cancel RUN`

use std::process::ExitCode;

use redraft::{Delivered, store};

use super::block_on;
use crate::chosen;
use crate::driving::{Driving, Manner, input_of};
use crate::live::say;
use crate::settings::Settings;
use crate::trouble::Trouble;

/// Asks a run to stop for good. What it has done stays, and can be forked from.
#[derive(clap::Args)]
pub(crate) struct Cancel {
    /// The run: its id, enough of it to be unique, or last
    run: String,
    /// Why
    #[arg(long, default_value = "cancelled from the command line")]
    reason: String,
}

impl Cancel {
    pub(crate) fn run(&self, settings: &Settings) -> Result<ExitCode, Trouble> {
        block_on(async {
            let (looking, run) = chosen::open(settings, &self.run).await?;
            let input = input_of(run, &looking.summary(run).await?.input);
            let by = super::answer::who();
            looking.cancel(run, &self.reason, &by).await?;
            // If nobody drives it, it is taken up just to come to its end.
            if let Ok(input) = input {
                let manner = Manner { quiet: true, ..Manner::default() };
                let driving = Driving::new(settings, &manner);
                let engine = driving.open(&driving.work(&input.spec.name)).await?;
                match engine.resume(run).await {
                    Ok(handle) => {
                        // The letter is there too; whichever comes first ends it.
                        let told = engine.cancel(run, &self.reason, &by).await;
                        if told.is_ok_and(|told| told == Delivered::Now) {
                            let _ = handle.outcome().await;
                        }
                    }
                    Err(redraft::Error::Store(store::Error::Held { .. })) => {
                        say(&format!("the process that drives {run} was told; it stops at its next step"));
                        return Ok(ExitCode::SUCCESS);
                    }
                    // Whoever drove it was quick.
                    Err(redraft::Error::Ended { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
                engine.shut_down().await;
            }
            say(&format!("⊘ {run} is cancelled"));
            Ok(ExitCode::SUCCESS)
        })
    }
}

//! `redraft fork RUN --at STEP`: a new run that keeps what another had done before a step.

use std::io::{BufRead, IsTerminal, Write};
use std::process::ExitCode;

use redraft::view::{Node, NodeKind};
use redraft::{Engine, ForkAt, ForkPlan, Path, RunId};

use super::block_on;
use crate::chosen;
use crate::driving::{Driving, Manner, input_of};
use crate::live::say;
use crate::settings::Settings;
use crate::trouble::{Exit, Trouble};

/// Starts a new run that keeps everything another had done before a step. The other run is not touched.
///
/// What will be paid for again is listed first, and has to be confirmed.
#[derive(clap::Args)]
pub(crate) struct Fork {
    /// The run: its id, enough of it to be unique, or last
    run: String,
    /// The first thing that is done anew: a step as `redraft show` names it, or 'iteration N'
    #[arg(long, value_name = "STEP", num_args = 1..=2, required = true)]
    at: Vec<String>,
    /// Does not ask
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    manner: Manner,
}

impl Fork {
    pub(crate) fn run(&self, settings: &Settings) -> Result<ExitCode, Trouble> {
        block_on(async {
            let (looking, run) = chosen::open(settings, &self.run).await?;
            let input = input_of(run, &looking.summary(run).await?.input)?;
            let at = self.place(&looking, run).await?;
            let plan = looking.plan_fork(run, &at).await?;
            looking.shut_down().await;
            self.confirm(&plan)?;
            let driving = Driving::new(settings, &self.manner);
            let engine = driving.open(&driving.work(&input.spec.name)).await?;
            let handle = engine.fork(run, &at).await?;
            driving.see_through(&engine, &handle, &input, plan.events).await
        })
    }

    /// Finds the step that was meant. An iteration is the step it begins with.
    async fn place(&self, engine: &Engine, run: RunId) -> Result<ForkAt, Trouble> {
        let typed = self.at.join(" ");
        let Some(n) = typed.strip_prefix("iteration").map(str::trim) else {
            return Ok(ForkAt::Step(Path::new(&typed)));
        };
        let Ok(n) = n.parse::<u32>() else {
            return Err(Trouble::new(Exit::Usage, format!("`{typed}` is not an iteration"))
                .hint(format!("redraft fork {run} --at 'iteration 2'")));
        };
        let tree = engine.tree(run).await?;
        match iteration(&tree.children, n) {
            Some(node) => Ok(ForkAt::Step(node.path.clone())),
            None => Err(Trouble::new(Exit::Usage, format!("`{run}` has no iteration {n}"))
                .code("no-such-step")
                .hint(format!("redraft show {run}"))),
        }
    }

    fn confirm(&self, plan: &ForkPlan) -> Result<(), Trouble> {
        if !self.manner.quiet {
            say(&format!("{} steps are kept and cost nothing.", plan.keeps.len()));
            say(&match plan.repeats.len() {
                0 => "Nothing that was done before is done again.".to_owned(),
                1 => "1 step is done, and paid for, again:".to_owned(),
                count => format!("{count} steps are done, and paid for, again:"),
            });
            for step in &plan.repeats {
                say(&format!("  {step}"));
            }
        }
        if self.yes {
            return Ok(());
        }
        let refused =
            |why: &str| Err(Trouble::new(Exit::Usage, why).hint("add --yes to go on without being asked"));
        let ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
        if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() || ci {
            return refused("there is nobody here to confirm it");
        }
        let mut err = std::io::stderr();
        let _ = write!(err, "Go on? [y/N] ");
        let _ = err.flush();
        let mut answer = String::new();
        let _ = std::io::stdin().lock().read_line(&mut answer);
        match answer.trim().to_lowercase().as_str() {
            "y" | "yes" => Ok(()),
            _ => refused("it was not confirmed; nothing was started"),
        }
    }
}

/// Finds the `n`-th iteration, the outermost first.
fn iteration(nodes: &[Node], n: u32) -> Option<&Node> {
    let here = nodes.iter().find(|node| node.kind == NodeKind::Iteration { n });
    here.or_else(|| nodes.iter().find_map(|node| iteration(&node.children, n)))
}

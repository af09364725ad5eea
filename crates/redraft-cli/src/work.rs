//! What the engine runs for a spec: the spec's own workflow, within a budget that many runs may share.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use redraft::llm::{Audience, Budget, PriceTable};
use redraft::refine::Refined;
use redraft::spec::{Makers, Registry, SpecInput, SpecWorkflow};
use redraft::{Ctx, Definition, Failure};

/// The workflow of all specs of one name, as the command line runs it.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    workflow: SpecWorkflow,
    shared: Option<Budget>,
}

impl Work {
    pub(crate) fn new(name: &str, makers: Arc<dyn Makers>, audience: Option<Arc<dyn Audience>>) -> Self {
        Self { workflow: SpecWorkflow::named(name, makers, Registry::builtin(), audience), shared: None }
    }

    /// Lets every run pay from this budget, too.
    pub(crate) fn within(mut self, budget: Option<Budget>) -> Self {
        self.shared = budget;
        self
    }
}

impl Definition for Work {
    type Input = SpecInput;
    type Output = Refined;

    fn name(&self) -> &str {
        Definition::name(&self.workflow)
    }

    fn version(&self) -> u32 {
        Definition::version(&self.workflow)
    }

    fn run(
        &self,
        ctx: Ctx,
        input: SpecInput,
    ) -> Pin<Box<dyn Future<Output = Result<Refined, Failure>> + Send>> {
        let ctx = match &self.shared {
            Some(budget) => {
                // What an earlier life of the run has spent counts for all of them.
                budget.restore(&ctx.spent());
                ctx.paying(budget.clone(), PriceTable::builtin())
            }
            None => ctx,
        };
        self.workflow.run(ctx, input)
    }
}

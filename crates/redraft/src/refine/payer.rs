//! Who pays for the calls of a refinement or a protocol, and who hears them.

use std::sync::Arc;

use crate::llm::{Allowance, Audience, Budget, PriceTable};
use crate::run::Ctx;

/// Who pays, and who hears.
#[derive(Clone, Default)]
pub(super) struct Payer {
    pub(super) prices: PriceTable,
    /// A budget that others pay from too.
    pub(super) shared: Option<Budget>,
    pub(super) audience: Option<Arc<dyn Audience>>,
}

impl Payer {
    /// Returns a `Ctx` in which calls are paid for: from an allowance of its own, within the shared budget and within
    /// whatever pays for the scope already.
    pub(super) fn paid(&self, ctx: &Ctx, allowance: Allowance) -> Ctx {
        let budget = match ctx.purse() {
            Some(around) => ctx.part_of(around, allowance),
            None => ctx.budget(allowance),
        };
        let budget = match &self.shared {
            Some(shared) => {
                budget.paid_by_too(shared, format!("{}/{}", ctx.run(), ctx.path()), &budget.spent())
            }
            None => budget,
        };
        let scope = ctx.paying(budget, self.prices.clone());
        match &self.audience {
            Some(audience) => scope.heard_by(Arc::clone(audience)),
            None => scope,
        }
    }
}

/// The methods by which everything that has a `payer` is told who pays and who hears.
macro_rules! payer_methods {
    () => {
        /// Counts with other prices.
        #[must_use]
        pub fn prices(mut self, prices: crate::llm::PriceTable) -> Self {
            self.payer.prices = prices;
            self
        }

        /// Pays from this budget too, which others may share: what they spend is not left here.
        #[must_use]
        pub fn within(mut self, budget: crate::llm::Budget) -> Self {
            self.payer.shared = Some(budget);
            self
        }

        /// Lets somebody hear what models say while they say it.
        #[must_use]
        pub fn heard_by(mut self, audience: std::sync::Arc<dyn crate::llm::Audience>) -> Self {
            self.payer.audience = Some(audience);
            self
        }
    };
}

pub(super) use payer_methods;

//! A model whose every call is paid from a budget.

use super::{Answering, Budget, Completion, Error, Listener, Model, PriceTable, Request, Usage};

/// Pays for the calls of a model: reserves the most a call could cost before it is made, and books what it did cost.
///
/// A call that could exceed what is left is not made: it fails with the code `budget-spent`. Failed calls count too,
/// and one that was cut off or cancelled in flight counts in full, because it may have been paid for.
///
/// ```
/// use redraft::llm::{Allowance, Budget, Metered, Model, PriceTable, Request, Scripted};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), redraft::llm::Error> {
/// let budget = Budget::new(Allowance { calls: Some(1), ..Allowance::default() });
/// let model = Metered::new(Scripted::new("m", ["one", "two"]), budget.clone(), PriceTable::builtin());
/// model.answer(&Request::new("?"), &mut ()).await?;
/// assert!(model.answer(&Request::new("?"), &mut ()).await.is_err());
/// assert_eq!(budget.spent().calls, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Metered<M> {
    model: M,
    budget: Budget,
    prices: PriceTable,
}

impl<M: Model> Metered<M> {
    /// Lets `budget` pay for the calls of `model`.
    pub fn new(model: M, budget: Budget, prices: PriceTable) -> Self {
        Self { model, budget, prices }
    }
}

impl<M: Model> Model for Metered<M> {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn takes_schemas(&self) -> bool {
        self.model.takes_schemas()
    }

    fn tuned(&self, request: &Request) -> Request {
        self.model.tuned(request)
    }

    fn recall(&self, answer: Option<&Completion>) {
        self.model.recall(answer);
    }

    fn answer<'a>(&'a self, request: &'a Request, listener: &'a mut dyn Listener) -> Answering<'a> {
        Box::pin(pay_for(&self.model, request, listener, &self.budget, &self.prices))
    }
}

/// Makes a call that `budget` pays for.
pub(super) async fn pay_for(
    model: &dyn Model,
    request: &Request,
    listener: &mut dyn Listener,
    budget: &Budget,
    prices: &PriceTable,
) -> Result<Completion, Error> {
    // Dropped unsettled, here or with this future, it is booked in full.
    let reservation = budget.reserve(model.name(), &model.tuned(request), prices)?;
    let answered = model.answer(request, listener).await;
    let used = match &answered {
        Ok(completion) => Some(completion.usage),
        Err(Error::Malformed { usage, .. }) => *usage,
        // The model was at it, and nobody knows how far it came or what it took.
        Err(Error::Timeout { .. } | Error::Truncated { .. } | Error::Cassette { .. }) => None,
        // It was turned away before it read anything.
        Err(_) => Some(Usage::default()),
    };
    if let Some(used) = used {
        reservation.settle(used);
    }
    answered
}

//! Calls that are paid for: none is made that could cost more than is left.

use std::time::Duration;

use proptest::prelude::*;
use redraft::Fault;
use redraft::llm::{
    Allowance, Budget, Error, Listener, Metered, Model, PriceTable, Request, Scripted, Turn, Usage,
};

fn limited(tokens: u64) -> Budget {
    Budget::new(Allowance { tokens: Some(tokens), ..Allowance::default() })
}

fn request() -> Request {
    Request { max_output_tokens: 50, ..Request::new("Is it high tide?") }
}

/// The most that the request could cost.
fn most() -> u64 {
    let reservation = Budget::unlimited().reserve("scripted:m", &request(), &PriceTable::builtin()).unwrap();
    let most = reservation.usage().total();
    reservation.release();
    most
}

fn failures() -> Vec<Error> {
    let (model, message) = ("m".to_owned(), "no".to_owned());
    vec![
        Error::RateLimited { model: model.clone(), message: message.clone(), retry_after: None },
        Error::Malformed { model: model.clone(), message: message.clone(), usage: Some(Usage::new(3, 4)) },
        Error::Malformed { model: model.clone(), message: message.clone(), usage: None },
        Error::Timeout { model: model.clone(), after: Duration::ZERO },
        Error::Truncated { model, message },
    ]
}

#[tokio::test]
async fn each_way_a_call_ends_is_booked_for_what_it_may_have_cost() {
    let most = most();
    let booked = [0, 7, most, most, most];
    for (error, booked) in failures().into_iter().zip(booked) {
        let budget = limited(10_000);
        let script = Scripted::new("m", [Turn::error(error.clone())]);
        let model = Metered::new(script, budget.clone(), PriceTable::builtin());
        assert_eq!(model.answer(&request(), &mut ()).await.unwrap_err(), error);
        let spent = budget.spent();
        assert_eq!((spent.calls, spent.usage.total()), (1, booked), "{error}");
    }
}

#[tokio::test]
async fn a_call_that_is_cancelled_in_flight_counts_in_full() {
    let budget = limited(10_000);
    let script = Scripted::new("m", [Turn::text("late").after(Duration::from_secs(3600))]);
    let model = Metered::new(script, budget.clone(), PriceTable::builtin());
    let (asked, nobody): (Request, &mut dyn Listener) = (request(), &mut ());
    {
        let call = model.answer(&asked, nobody);
        tokio::pin!(call);
        let begun = std::future::poll_fn(|cx| std::task::Poll::Ready(call.as_mut().poll(cx))).await;
        assert!(begun.is_pending());
    }
    assert_eq!(budget.spent().usage.total(), most());
}

proptest! {
    /// Answers and failures in any order, until nothing more may be asked.
    #[test]
    fn no_sequence_of_answers_and_failures_spends_more_than_is_allowed(
        tokens in 0..2000_u64,
        script in prop::collection::vec((0..6_usize, 0..20_u64, 0..50_u64), 1..60),
    ) {
        let turns: Vec<Turn> = script
            .iter()
            .map(|(kind, read, written)| match kind.checked_sub(1) {
                None => Turn::text("fine").usage(Usage::new(*read, *written)),
                Some(failure) => Turn::error(failures()[failure].clone()),
            })
            .collect();
        let asked = turns.len();
        let (budget, script) = (limited(tokens), Scripted::new("m", turns));
        let model = Metered::new(script.clone(), budget.clone(), PriceTable::builtin());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut refused = 0;
        for _ in 0..asked {
            let answered = runtime.block_on(model.answer(&request(), &mut ()));
            if answered.is_err_and(|error| error.code() == "budget-spent") {
                refused += 1;
            }
            prop_assert!(budget.spent().usage.total() <= tokens);
        }
        prop_assert_eq!(script.asked().len(), asked - refused, "a call that was refused reached the model");
    }
}

//! Budgets: nothing is overspent, whatever runs at the same time and however it ends.

use std::sync::Barrier;
use std::thread;

use proptest::prelude::*;
use proptest::sample::Index;
use redraft::llm::{
    Allowance, Budget, BudgetError, Message, Money, OutputSchema, Price, PriceTable, Request, Reservation,
    Resource, Spend, Tool, ToolCall, Usage,
};
use redraft::{Failure, Fault, Retry};
use serde_json::json;

const PRICED: &str = "test:priced";
const UNPRICED: &str = "test:unpriced";
const FREE: &str = "scripted:free";

fn money(text: &str) -> Money {
    text.parse().unwrap()
}

/// A dollar for a million tokens read, ten for a million written: a micro-dollar and ten for one.
fn prices() -> PriceTable {
    PriceTable::builtin().with(PRICED, Price::per_million(money("1"), money("10")).cached(money("0.1")))
}

fn request(prompt_bytes: usize, max_output_tokens: u32) -> Request {
    Request { max_output_tokens, ..Request::new("x".repeat(prompt_bytes)) }
}

fn reserve(budget: &Budget, model: &str) -> Result<Reservation, BudgetError> {
    budget.reserve(model, &request(10, 100), &prices())
}

/// What one call of [`reserve`] sets aside.
fn share() -> (Usage, Money) {
    let reservation = reserve(&Budget::unlimited(), PRICED).unwrap();
    let share = (reservation.usage(), reservation.money().unwrap());
    reservation.release();
    share
}

fn spend(calls: u64, usage: Usage, money: Option<Money>) -> Spend {
    Spend { calls, usage, money }
}

fn dollars(limit: Money) -> Allowance {
    Allowance { money: Some(limit), ..Allowance::default() }
}

fn tokens(limit: u64) -> Allowance {
    Allowance { tokens: Some(limit), ..Allowance::default() }
}

fn calls(limit: u64) -> Allowance {
    Allowance { calls: Some(limit), ..Allowance::default() }
}

#[test]
fn the_most_a_call_could_cost_is_set_aside() {
    let (usage, cost) = share();
    assert!((10..200).contains(&usage.input_tokens), "{usage:?}");
    assert_eq!(usage.output_tokens, 100);
    assert_eq!(cost.micros(), usage.input_tokens + 10 * 100, "and nothing is hoped of the cache");

    let budget = Budget::new(Allowance { money: Some(money("0.01")), tokens: Some(10_000), calls: Some(5) });
    let reservation = reserve(&budget, PRICED).unwrap();
    let left = Allowance {
        money: Some(money("0.01").saturating_sub(cost)),
        tokens: Some(10_000 - usage.total()),
        calls: Some(4),
    };
    assert_eq!(budget.left(), left);
    assert_eq!(budget.spent(), Spend::default(), "what is reserved is not spent");
    reservation.release();
}

#[test]
fn everything_that_is_sent_is_measured() {
    let measure = |request: &Request| {
        let reservation = Budget::unlimited().reserve(FREE, request, &prices()).unwrap();
        let usage = reservation.usage();
        reservation.release();
        usage.input_tokens
    };
    let long = "ä\n".repeat(500);
    let bytes = long.len() as u64;
    let plain = Request::new("?");
    let call = ToolCall { id: "1".to_owned(), name: "look".to_owned(), arguments: json!({ "at": long }) };
    let tool = |description: &str, parameters| Tool {
        name: "look".to_owned(),
        description: description.to_owned(),
        parameters,
    };
    for (what, request) in [
        ("system", plain.clone().system(&long)),
        ("user", plain.clone().message(Message::user(&long))),
        ("assistant", plain.clone().message(Message::assistant(&long))),
        ("call", plain.clone().message(Message::Assistant { text: String::new(), calls: vec![call] })),
        (
            "result",
            plain.clone().message(Message::ToolResult {
                id: "1".to_owned(),
                name: "look".to_owned(),
                output: long.clone(),
            }),
        ),
        ("description", plain.clone().tool(tool(&long, json!({})))),
        ("parameters", plain.clone().tool(tool("", json!({ "description": long })))),
        (
            "shape",
            plain.clone().shaped(OutputSchema { name: "s".to_owned(), schema: json!({ "title": long }) }),
        ),
    ] {
        assert!(measure(&request) >= measure(&plain) + bytes, "{what}");
    }
    // Some providers explain tools to the model at the caller's expense, in up to 530 tokens.
    let smallest = OutputSchema { name: String::new(), schema: json!({}) };
    for explained in [plain.clone().tool(tool("", json!({}))), plain.clone().shaped(smallest)] {
        assert!(measure(&explained) > measure(&plain) + 530);
    }
}

#[test]
fn settling_books_what_was_used_and_frees_the_rest() {
    let budget = Budget::new(Allowance { money: Some(money("0.01")), tokens: Some(10_000), calls: Some(5) });
    let mut usage = Usage::new(50, 20);
    usage.cached_tokens = 40;
    let booked = reserve(&budget, PRICED).unwrap().settle(usage);
    // 10 fresh at 1, 40 cached at 0.1, 20 written at 10.
    assert_eq!(booked, spend(1, usage, Some(Money::from_micros(214))));
    assert_eq!(budget.spent(), booked);
    let left = Allowance { money: Some(Money::from_micros(9_786)), tokens: Some(9_930), calls: Some(4) };
    assert_eq!(budget.left(), left);
}

#[test]
fn every_way_to_end_a_call_is_booked_as_it_is() {
    let (usage, cost) = share();
    let used = Usage::new(3, 2);
    let paid = spend(1, used, Some(Money::from_micros(23)));
    let check = |how: &str, end: &dyn Fn(Reservation), booked: Spend| {
        let budget = Budget::unlimited();
        end(reserve(&budget, PRICED).unwrap());
        assert_eq!(budget.spent(), booked, "{how}");
    };
    check("never made", &Reservation::release, Spend::default());
    check("cancelled under way", &drop, spend(1, usage, Some(cost)));
    check("answered", &|call| assert_eq!(call.settle(used), paid), paid);
    check("answered with nonsense", &|call| assert_eq!(call.settle_failed(Some(used)), paid), paid);
    let turned_away = spend(1, Usage::default(), Some(Money::ZERO));
    check("turned away", &|call| assert_eq!(call.settle_failed(None), turned_away), turned_away);
}

#[test]
fn a_call_that_could_exceed_what_is_left_is_refused_and_changes_nothing() {
    let (usage, cost) = share();
    let micros = cost.micros();
    for (what, enough, needed) in [
        (Resource::Calls, calls(1), 1),
        (Resource::Tokens, tokens(usage.total()), usage.total()),
        (Resource::Money, dollars(cost), micros),
    ] {
        let fits = Budget::new(enough);
        reserve(&fits, PRICED).unwrap().release();

        let short = Allowance {
            money: enough.money.map(|_| Money::from_micros(micros - 1)),
            tokens: enough.tokens.map(|limit| limit - 1),
            calls: enough.calls.map(|limit| limit - 1),
        };
        let budget = Budget::new(short);
        let error = reserve(&budget, PRICED).unwrap_err();
        assert_eq!(error, BudgetError::Spent { what, left: needed - 1, needed });
        assert_eq!((budget.left(), budget.spent()), (short, Spend::default()));

        // A part is refused by what is around it, and leaves no trace in itself either.
        let part = budget.part(Allowance { money: Some(Money::MAX), ..Allowance::default() });
        assert_eq!(reserve(&part, PRICED).unwrap_err(), error);
        assert_eq!(part.spent(), Spend::default());
        assert_eq!(part.left().money, Some(short.money.unwrap_or(Money::MAX)));
    }
}

#[test]
fn a_refusal_says_what_to_do() {
    let check = |error: BudgetError, code: &str, message: &str, hint: &str| {
        assert_eq!(error.retry(), Retry::Never);
        let failure = Failure::from(error);
        assert_eq!((failure.code.as_str(), failure.message.as_str()), (code, message));
        assert_eq!(failure.hint.as_deref(), Some(hint));
        assert!(redraft::explain(code).is_some());
    };
    for (what, left, needed, message) in [
        (Resource::Money, 19_000, 500_000, "the budget has $0.019 left, and the next call could take $0.50"),
        (Resource::Tokens, 1, 812, "the budget has 1 token left, and the next call could take 812 tokens"),
        (Resource::Calls, 0, 1, "the budget has 0 calls left, and the next call could take 1 call"),
    ] {
        let hint = "raise the limit, then go on: redraft resume RUN";
        check(BudgetError::Spent { what, left, needed }, "budget-spent", message, hint);
    }
    check(
        reserve(&Budget::new(dollars(Money::MAX)), UNPRICED).unwrap_err(),
        "price-unknown",
        "the budget is limited in money, and the price of `test:unpriced` is unknown",
        "say what it costs with `PriceTable::with(\"test:unpriced\", …)`, or limit tokens instead of money",
    );
}

#[test]
fn an_unknown_price_does_not_fit_a_limit_in_money_and_is_never_zero() {
    let run = Budget::unlimited();
    let limited = run.part(dollars(money("1")));
    let inner = limited.part(Allowance::default());
    for budget in [&limited, &inner] {
        let error = reserve(budget, UNPRICED).unwrap_err();
        assert_eq!(error, BudgetError::PriceUnknown { model: UNPRICED.to_owned() });
    }
    assert_eq!(
        reserve(&inner, FREE).unwrap().settle(Usage::new(1, 1)).money,
        Some(Money::ZERO),
        "known to be zero"
    );

    assert_eq!(reserve(&run, UNPRICED).unwrap().settle(Usage::new(7, 1)).money, None);
    reserve(&run, PRICED).unwrap().settle(Usage::new(1, 0));
    assert_eq!(run.spent(), spend(3, Usage::new(9, 2), None), "once unknown, unknown for good");
    assert_eq!(limited.spent(), spend(1, Usage::new(1, 1), Some(Money::ZERO)), "but only where it was spent");
    reserve(&limited, PRICED).unwrap().release();

    let turned_away = Budget::unlimited();
    reserve(&turned_away, UNPRICED).unwrap().settle_failed(None);
    let cancelled = Budget::unlimited();
    drop(reserve(&cancelled, UNPRICED).unwrap());
    assert_eq!([turned_away, cancelled].map(|budget| budget.spent().money), [None, None]);
}

#[test]
fn what_is_spent_in_a_part_is_spent_in_all_around_it() {
    let (usage, _) = share();
    let run = Budget::new(tokens(3 * usage.total()));
    let iteration = run.part(calls(2));
    let candidates = [iteration.part(calls(1)), iteration.part(calls(1))];
    let held = candidates.each_ref().map(|candidate| reserve(candidate, PRICED).unwrap());
    let error = reserve(&iteration, PRICED).unwrap_err();
    assert_eq!(error, BudgetError::Spent { what: Resource::Calls, left: 0, needed: 1 });
    let direct = reserve(&run, PRICED).unwrap();
    assert_eq!(reserve(&run, PRICED).unwrap_err().code(), "budget-spent", "three calls fill the run");
    direct.release();
    for call in held {
        call.settle(Usage::new(3, 4));
    }
    let cost = Money::from_micros(43);
    assert_eq!(candidates[0].spent(), spend(1, Usage::new(3, 4), Some(cost)));
    assert_eq!(run.spent(), spend(2, Usage::new(6, 8), Some(cost.saturating_add(cost))));
    assert_eq!(iteration.spent(), run.spent());
    drop((candidates, iteration));
    assert_eq!(run.spent().calls, 2, "a part that is gone has still spent");
}

#[test]
fn a_provider_that_counts_more_than_was_reserved_is_booked_in_full() {
    let (usage, cost) = share();
    let budget = Budget::new(Allowance { money: Some(cost), tokens: Some(usage.total()), calls: None });
    let more = Usage::new(usage.input_tokens, usage.output_tokens + 1);
    reserve(&budget, PRICED).unwrap().settle(more);
    assert_eq!(budget.spent().usage, more);
    assert!(budget.spent().money.unwrap() > cost);
    assert_eq!(budget.left(), Allowance { money: Some(Money::ZERO), tokens: Some(0), calls: None });
    let smallest = request(0, 0);
    for model in [PRICED, FREE] {
        let error = budget.reserve(model, &smallest, &prices()).unwrap_err();
        assert!(matches!(error, BudgetError::Spent { what: Resource::Tokens, left: 0, .. }), "{error}");
    }
    let in_money = Budget::new(dollars(cost));
    reserve(&in_money, PRICED).unwrap().settle(more);
    let error = in_money.reserve(PRICED, &smallest, &prices()).unwrap_err();
    assert!(matches!(error, BudgetError::Spent { what: Resource::Money, left: 0, .. }), "{error}");
    in_money.reserve(FREE, &smallest, &prices()).unwrap().release();
}

#[test]
fn a_cache_that_is_dearer_than_fresh_input_is_reckoned_with() {
    let prices =
        PriceTable::builtin().with("a:b", Price::per_million(money("1"), money("1")).cached(money("9")));
    let budget = Budget::unlimited();
    let reservation = budget.reserve("a:b", &request(10, 0), &prices).unwrap();
    let (most, mut usage) = (reservation.money().unwrap(), reservation.usage());
    usage.cached_tokens = usage.input_tokens;
    assert_eq!(reservation.settle(usage).money, Some(most));
}

#[test]
fn a_spend_is_written_and_read_back() {
    for (spent, json) in [
        (Spend::default(), r#"{"calls":0,"input_tokens":0,"output_tokens":0,"usd":"0.00"}"#),
        (
            spend(3, Usage::new(812, 240), Some(Money::from_micros(19_000))),
            r#"{"calls":3,"input_tokens":812,"output_tokens":240,"usd":"0.019"}"#,
        ),
        (spend(1, Usage::new(1, 2), None), r#"{"calls":1,"input_tokens":1,"output_tokens":2,"usd":null}"#),
    ] {
        assert_eq!(serde_json::to_string(&spent).unwrap(), json);
        assert_eq!(serde_json::from_str::<Spend>(json).unwrap(), spent);
    }
}

#[test]
fn what_a_journal_knows_no_price_of_leaves_nothing_for_money() {
    let run = Budget::new(dollars(money("1")));
    let iteration = run.part(Allowance::default());
    iteration.restore(&spend(1, Usage::new(5, 5), None));
    assert_eq!((run.spent().money, iteration.spent().calls), (None, 1));
    assert_eq!(run.left().money, Some(Money::ZERO));
    assert_eq!(reserve(&run, PRICED).unwrap_err().code(), "budget-spent");
    reserve(&run, FREE).unwrap().release();
}

#[test]
fn eight_threads_never_book_more_than_there_is() {
    const THREADS: usize = 8;
    const TOKENS: u64 = 50_000;
    let run = Budget::new(tokens(TOKENS));
    let parts: Vec<Budget> = (0..3).map(|_| run.part(tokens(TOKENS / 2))).collect();
    let start = Barrier::new(THREADS);
    let granted: u64 = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|n| {
                // Some hammer the run itself, some its parts, so that chains of both lengths meet.
                let budget = parts.get(n % 4).unwrap_or(&run).clone();
                let (run, start, prices) = (&run, &start, prices());
                scope.spawn(move || {
                    let mut random = fastrand::Rng::with_seed(n as u64);
                    let mut granted = 0;
                    start.wait();
                    for _ in 0..2_000 {
                        let Ok(call) =
                            budget.reserve(PRICED, &request(random.usize(..40), random.u32(..40)), &prices)
                        else {
                            continue;
                        };
                        let most = call.usage();
                        granted += match random.u8(..4) {
                            0 => {
                                call.release();
                                0
                            }
                            1 => {
                                drop(call);
                                most.total()
                            }
                            2 => call.settle_failed(None).usage.total(),
                            _ => {
                                let used = Usage::new(
                                    random.u64(..=most.input_tokens),
                                    random.u64(..=most.output_tokens),
                                );
                                call.settle(used).usage.total()
                            }
                        };
                        assert!(run.spent().usage.total() <= TOKENS);
                    }
                    granted
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(run.spent().usage.total(), granted, "nothing is lost and nothing is counted twice");
    assert!(granted <= TOKENS && granted > TOKENS - 500, "{granted} of {TOKENS} were used up");
    assert_eq!(run.left().tokens, Some(TOKENS - granted), "nothing is still held");
    assert!(parts.iter().all(|part| part.spent().usage.total() <= TOKENS / 2));
}

/// What is done to a tree of budgets.
#[derive(Clone, Debug)]
enum Act {
    Reserve { node: Index, model: &'static str, prompt: usize, output: u32 },
    Settle { call: Index, used: Used },
    Fail { call: Index, used: Option<Used> },
    Drop { call: Index },
    Release { call: Index },
}

/// How much of what was reserved is used, in percent.
#[derive(Clone, Copy, Debug)]
struct Used {
    input: u64,
    cached: u64,
    output: u64,
}

impl Used {
    fn of(self, most: Usage) -> Usage {
        let mut usage =
            Usage::new(most.input_tokens * self.input / 100, most.output_tokens * self.output / 100);
        usage.cached_tokens = usage.input_tokens * self.cached / 100;
        usage
    }
}

fn used() -> impl Strategy<Value = Used> {
    (0..=100_u64, 0..=100_u64, 0..=100_u64).prop_map(|(input, cached, output)| Used { input, cached, output })
}

fn reserving() -> impl Strategy<Value = Act> {
    let model = prop_oneof![4 => Just(PRICED), 1 => Just(FREE), 1 => Just(UNPRICED)];
    (any::<Index>(), model, 0..40_usize, 0..40_u32).prop_map(|(node, model, prompt, output)| Act::Reserve {
        node,
        model,
        prompt,
        output,
    })
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        5 => reserving(),
        2 => (any::<Index>(), used()).prop_map(|(call, used)| Act::Settle { call, used }),
        1 => (any::<Index>(), prop::option::of(used())).prop_map(|(call, used)| Act::Fail { call, used }),
        1 => any::<Index>().prop_map(|call| Act::Drop { call }),
        1 => any::<Index>().prop_map(|call| Act::Release { call }),
    ]
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    prop::collection::vec(act(), 0..60)
}

fn allowance() -> impl Strategy<Value = Allowance> {
    (prop::option::of(0..8_000_u64), prop::option::of(0..3_000_u64), prop::option::of(0..20_u64)).prop_map(
        |(micros, tokens, calls)| Allowance { money: micros.map(Money::from_micros), tokens, calls },
    )
}

/// Each node with the one around it; the first is the run.
type Shape = Vec<(Index, Allowance)>;

fn shape() -> impl Strategy<Value = Shape> {
    prop::collection::vec((any::<Index>(), allowance()), 1..7)
}

struct Node {
    budget: Budget,
    allowance: Allowance,
    around: Option<usize>,
    /// What was booked here and not in a part, by the test's own reckoning.
    own: Spend,
}

/// A tree of budgets, and what it should hold.
struct Tree {
    nodes: Vec<Node>,
    under_way: Vec<(usize, &'static str, Reservation)>,
}

impl Tree {
    fn new(shape: &Shape) -> Self {
        let mut nodes: Vec<Node> = Vec::new();
        for (around, allowance) in shape {
            let around = (!nodes.is_empty()).then(|| around.index(nodes.len()));
            let budget = match around {
                Some(around) => nodes[around].budget.part(*allowance),
                None => Budget::new(*allowance),
            };
            nodes.push(Node { budget, allowance: *allowance, around, own: Spend::default() });
        }
        Self { nodes, under_way: Vec::new() }
    }

    /// Does it, and says whether a call was refused.
    fn act(&mut self, act: &Act) -> Option<BudgetError> {
        match act {
            Act::Reserve { node, model, prompt, output } => {
                let node = node.index(self.nodes.len());
                match self.nodes[node].budget.reserve(model, &request(*prompt, *output), &prices()) {
                    Ok(call) => self.under_way.push((node, model, call)),
                    Err(error) => return Some(error),
                }
            }
            Act::Settle { call, used } => self.end(call, |call| {
                let usage = used.of(call.usage());
                call.settle(usage);
                Some(usage)
            }),
            Act::Fail { call, used } => self.end(call, |call| {
                let usage = used.map(|used| used.of(call.usage()));
                call.settle_failed(usage);
                Some(usage.unwrap_or_default())
            }),
            Act::Drop { call } => self.end(call, |call| Some(call.usage())),
            Act::Release { call } => self.end(call, |call| {
                call.release();
                None
            }),
        }
        None
    }

    fn end(&mut self, call: &Index, how: impl FnOnce(Reservation) -> Option<Usage>) {
        if self.under_way.is_empty() {
            return;
        }
        let (node, model, call) = self.under_way.swap_remove(call.index(self.under_way.len()));
        if let Some(usage) = how(call) {
            self.book(node, model, usage);
        }
    }

    fn end_all(&mut self) {
        for (node, model, call) in std::mem::take(&mut self.under_way) {
            self.book(node, model, call.usage());
        }
    }

    fn book(&mut self, node: usize, model: &str, usage: Usage) {
        let money = prices().price_of(model).map(|price| price.cost(usage));
        self.nodes[node].own += spend(1, usage, money);
    }

    /// Says whether a node is this one or a part of it.
    fn is_within(&self, node: usize, outer: usize) -> bool {
        node == outer || self.nodes[node].around.is_some_and(|around| self.is_within(around, outer))
    }

    fn snapshot(&self) -> Vec<(Spend, Allowance)> {
        self.nodes.iter().map(|node| (node.budget.spent(), node.budget.left())).collect()
    }

    /// Holds every budget against the test's own reckoning.
    fn check(&self) -> Result<(), TestCaseError> {
        for (at, node) in self.nodes.iter().enumerate() {
            let parts = self.nodes.iter().filter(|part| part.around == Some(at));
            let mut sum = node.own;
            parts.for_each(|part| sum += part.budget.spent());
            let spent = node.budget.spent();
            prop_assert_eq!(spent, sum, "what is booked in {} is its own and its parts'", at);

            let mut taken = (spent.money.unwrap_or_default().micros(), spent.usage.total(), spent.calls);
            for (_, _, call) in self.under_way.iter().filter(|(place, ..)| self.is_within(*place, at)) {
                taken.0 += call.money().unwrap_or_default().micros();
                taken.1 += call.usage().total();
                taken.2 += 1;
            }
            let Allowance { money, tokens, calls } = node.allowance;
            let left = node.budget.left();
            for (limit, taken, left) in [
                (money.map(Money::micros), taken.0, left.money.map(Money::micros)),
                (tokens, taken.1, left.tokens),
                (calls, taken.2, left.calls),
            ] {
                let Some(limit) = limit else { continue };
                prop_assert!(taken <= limit, "{} of {} are taken in {}", taken, limit, at);
                prop_assert!(left.is_some_and(|left| left <= limit - taken), "{:?} left in {}", left, at);
            }
            if money.is_some() {
                prop_assert!(spent.money.is_some(), "an unknown price came into a limit in money");
            }
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn no_interleaving_overspends_and_parts_add_up(shape in shape(), acts in acts()) {
        let mut tree = Tree::new(&shape);
        for act in &acts {
            let before = tree.snapshot();
            if tree.act(act).is_some() {
                prop_assert_eq!(tree.snapshot(), before, "a refusal changes nothing");
            }
            tree.check()?;
        }
        tree.end_all();
        tree.check()?;
    }

    #[test]
    fn a_released_call_leaves_everything_as_it_was(shape in shape(), acts in acts(), more in reserving()) {
        let mut tree = Tree::new(&shape);
        for act in &acts {
            tree.act(act);
        }
        let before = tree.snapshot();
        let held = tree.under_way.len();
        tree.act(&more);
        tree.under_way.drain(held..).for_each(|(.., call)| call.release());
        prop_assert_eq!(tree.snapshot(), before);
    }

    #[test]
    fn a_restored_tree_goes_on_as_if_nothing_had_happened(shape in shape(), acts in acts(), cut in any::<Index>()) {
        let (first, rest) = acts.split_at(cut.index(acts.len() + 1));
        let mut tree = Tree::new(&shape);
        for act in first {
            tree.act(act);
        }
        // What is under way when a program dies is not in its journal; here all of it has ended.
        tree.end_all();

        let mut restored = Tree::new(&shape);
        for (node, old) in restored.nodes.iter_mut().zip(&tree.nodes) {
            node.own = serde_json::from_str(&serde_json::to_string(&old.own).unwrap()).unwrap();
            node.budget.restore(&node.own);
        }
        for act in rest {
            prop_assert_eq!(restored.act(act), tree.act(act));
            for (node, old) in restored.nodes.iter().zip(&tree.nodes) {
                prop_assert_eq!(node.budget.left(), old.budget.left());
                let [now, then] = [node, old].map(|node| serde_json::to_value(node.budget.spent()).unwrap());
                prop_assert_eq!(now, then);
            }
            restored.check()?;
        }
    }
}

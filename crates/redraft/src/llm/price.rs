//! What models cost: a dated table of list prices, to be overridden by whoever knows better.
//!
//! A price that is not known stays unknown; it is never taken for zero. To add a model: a line in `prices.json`, in
//! alphabetical place, and its date at the top. A snapshot needs a line only if it costs something else than its model.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::{Money, Usage};

/// What a model costs, per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// For what it reads.
    pub input: Money,
    /// For what it reads from the provider's cache; as dear as any input if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<Money>,
    /// For what it writes, the reasoning included.
    pub output: Money,
}

/// How many tokens a price is for.
const TOKENS_PER_PRICE: u128 = 1_000_000;

impl Price {
    /// Known to be nothing.
    pub const FREE: Self = Self::per_million(Money::ZERO, Money::ZERO);

    /// Makes a price per million tokens read and written.
    #[must_use]
    pub const fn per_million(input: Money, output: Money) -> Self {
        Self { input, cached_input: None, output }
    }

    /// Says what a million tokens from the provider's cache cost.
    #[must_use]
    pub const fn cached(mut self, cached_input: Money) -> Self {
        self.cached_input = Some(cached_input);
        self
    }

    /// Computes what a call cost.
    ///
    /// The parts are added exactly and the sum is rounded up to the micro-dollar, once: what is counted is never less
    /// than what is owed, and at most one micro-dollar more.
    #[must_use]
    pub fn cost(self, usage: Usage) -> Money {
        let part = |tokens: u64, price: Money| u128::from(tokens) * u128::from(price.micros());
        let fresh = part(usage.input_tokens.saturating_sub(usage.cached_tokens), self.input);
        let cached = part(usage.cached_tokens, self.cached_input.unwrap_or(self.input));
        let written = part(usage.output_tokens, self.output);
        let micros = fresh.saturating_add(cached).saturating_add(written).div_ceil(TOKENS_PER_PRICE);
        Money::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }

    /// Returns the price if the cache is as unkind as it can be: what a call costs at most.
    pub(super) fn at_worst(self) -> Self {
        Self::per_million(self.input.max(self.cached_input.unwrap_or(self.input)), self.output)
    }
}

/// Models whose calls are paid for by whoever owns the machine.
const FREE: [&str; 5] = ["local:", "scripted:", "ollama:", "lmstudio:", "llamacpp:"];

static BUILTIN: LazyLock<PriceTable> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the file is part of the program, and a test reads it")]
    let file = File::read().expect("invariant: the built-in prices can be read");
    let prices = file.prices.into_iter().map(|line| (line.model.clone(), line.price())).collect();
    PriceTable { dated: file.dated.into(), prices: Arc::new(prices) }
});

/// Prices by the name of the model, `provider:model`. Cheap to clone.
///
/// ```
/// use redraft::llm::{Price, PriceTable};
///
/// let prices = PriceTable::builtin().with("groq:llama", Price::per_million("0.59".parse()?, "0.79".parse()?));
/// assert!(prices.price_of("openai:gpt-5-mini-2025-08-07").is_some(), "a snapshot costs what its model costs");
/// assert_eq!(prices.price_of("openai:gpt-99"), None, "unknown, and not zero");
/// # Ok::<(), redraft::llm::BadMoney>(())
/// ```
#[derive(Clone, Debug)]
pub struct PriceTable {
    dated: Arc<str>,
    prices: Arc<BTreeMap<String, Price>>,
}

/// The prices that come with the crate.
impl Default for PriceTable {
    fn default() -> Self {
        Self::builtin()
    }
}

impl PriceTable {
    /// Returns the list prices that come with the library; see [`dated`](Self::dated).
    #[must_use]
    pub fn builtin() -> Self {
        BUILTIN.clone()
    }

    /// Returns the day on which the built-in prices held, as `2025-10-31`.
    #[must_use]
    pub fn dated(&self) -> &str {
        &self.dated
    }

    /// Returns every model that has a price of its own, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Price)> {
        self.prices.iter().map(|(model, price)| (model.as_str(), *price))
    }

    /// Sets the price of a model, whatever it was.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, price: Price) -> Self {
        Arc::make_mut(&mut self.prices).insert(name.into(), price);
        self
    }

    /// Returns the price of a model, if it is known.
    ///
    /// A model costs what its own entry says; else, if its name ends in a date or in `-latest`, what the entry without
    /// that ending says; else nothing, if it runs on a machine of one's own (`local:`, `scripted:`, `ollama:`,
    /// `lmstudio:`, `llamacpp:`). No other name is guessed: `gpt-5-pro` costs twelve times what `gpt-5` does.
    #[must_use]
    pub fn price_of(&self, name: &str) -> Option<Price> {
        self.prices
            .get(name)
            .or_else(|| self.prices.get(without_date(name)?))
            .copied()
            .or_else(|| FREE.iter().any(|provider| name.starts_with(provider)).then_some(Price::FREE))
    }
}

/// Takes `-latest`, `-2026-01-31` or `-20260131` off the end.
fn without_date(name: &str) -> Option<&str> {
    let (rest, last) = name.rsplit_once('-')?;
    if last == "latest" || is_date(last) {
        return Some(rest);
    }
    let (rest, date) = name.split_at_checked(name.len().checked_sub("-2026-01-31".len())?)?;
    is_date(date.strip_prefix('-')?).then_some(rest)
}

fn is_date(text: &str) -> bool {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    matches!(shape.as_str(), "00000000" | "0000-00-00") && text.parse::<Date>().is_ok()
}

/// `prices.json`, in the order in which it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    dated: String,
    #[serde(rename = "note")]
    _note: String,
    prices: Vec<Line>,
}

/// The fields of a [`Price`] are repeated: flattening would let a misspelt one pass.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    model: String,
    input: Money,
    #[serde(default)]
    cached_input: Option<Money>,
    output: Money,
}

impl Line {
    fn price(&self) -> Price {
        Price { input: self.input, cached_input: self.cached_input, output: self.output }
    }
}

impl File {
    fn read() -> serde_json::Result<Self> {
        serde_json::from_str(include_str!("prices.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn money(text: &str) -> Money {
        text.parse().unwrap()
    }

    fn usage(input: u64, cached: u64, output: u64) -> Usage {
        Usage { cached_tokens: cached, ..Usage::new(input, output) }
    }

    #[test]
    fn the_file_can_be_read_and_is_sorted() {
        let file = File::read().unwrap();
        assert!(is_date(&file.dated), "{}", file.dated);
        assert_eq!(PriceTable::builtin().dated(), file.dated);
        let models: Vec<&str> = file.prices.iter().map(|line| line.model.as_str()).collect();
        assert!(models.is_sorted_by(|a, b| a < b), "{models:#?}");
        for line in &file.prices {
            let (model, price) = (&line.model, line.price());
            assert!(
                model
                    .split_once(':')
                    .is_some_and(|(provider, model)| !provider.is_empty() && !model.is_empty())
            );
            assert!(price.output >= price.input, "{model}: what is written is dearer than what is read");
            assert!(
                price.cached_input.is_none_or(|cached| cached < price.input),
                "{model}: a cache is cheaper"
            );
            assert!(price.input > Money::ZERO && price.output < money("1000"), "{model}");
        }
    }

    #[test]
    fn only_a_date_may_follow_the_name_of_a_model() {
        let prices = PriceTable::builtin();
        let check = |name: &str, like: Option<&str>| {
            let wanted = like.map(|like| prices.prices[like]);
            assert_eq!(prices.price_of(name), wanted, "{name}");
        };
        for (name, like) in [
            ("openai:gpt-5", "openai:gpt-5"),
            ("openai:gpt-5-2025-08-07", "openai:gpt-5"),
            ("openai:gpt-5-mini", "openai:gpt-5-mini"),
            ("openai:gpt-5-mini-2025-08-07", "openai:gpt-5-mini"),
            ("openai:gpt-4o-2024-08-06", "openai:gpt-4o"),
            ("openai:gpt-4o-2024-05-13", "openai:gpt-4o-2024-05-13"),
            ("anthropic:claude-sonnet-4-5-20250929", "anthropic:claude-sonnet-4-5"),
            ("anthropic:claude-3-5-haiku-latest", "anthropic:claude-3-5-haiku"),
            ("gemini:gemini-2.5-flash-lite", "gemini:gemini-2.5-flash-lite"),
        ] {
            check(name, Some(like));
        }
        for name in [
            "openai:gpt-5-pro",
            "openai:gpt-5-pro-2025-10-06",
            "openai:gpt-50",
            "openai:gpt-5-",
            "openai:gpt-5latest",
            "openai:gpt-5-2025",
            "openai:gpt-5-2025-08",
            "openai:gpt-5-2025-13-01",
            "openai:gpt-5-20250832",
            "openai:gpt-5-2025-08-07-preview",
            "openai:gpt-5-latest-latest",
            "openai:gpt-5-é-08-07",
            "anthropic:gpt-5",
            "gpt-5",
            "vllm:anything",
            "localhost:x",
            "-latest",
            "",
        ] {
            check(name, None);
        }
    }

    #[test]
    fn what_runs_on_ones_own_machine_is_known_to_be_free() {
        for name in ["local:smol", "scripted:canned", "ollama:qwen3:8b", "lmstudio:x", "llamacpp:x"] {
            assert_eq!(PriceTable::builtin().price_of(name), Some(Price::FREE), "{name}");
        }
    }

    #[test]
    fn a_price_given_by_hand_wins_and_leaves_the_built_in_ones_alone() {
        let dear = Price::per_million(money("7"), money("8")).cached(money("1"));
        let prices =
            PriceTable::builtin().with("openai:gpt-5", dear).with("ollama:rented", dear).with("a:b", dear);
        for name in ["openai:gpt-5", "openai:gpt-5-2025-08-07", "ollama:rented", "a:b", "a:b-latest"] {
            assert_eq!(prices.price_of(name), Some(dear), "{name}");
        }
        assert_ne!(PriceTable::builtin().price_of("openai:gpt-5"), Some(dear));
        assert_eq!(PriceTable::builtin().price_of("a:b"), None);
    }

    #[test]
    fn a_call_costs_its_parts_rounded_up_once() {
        let mini = PriceTable::builtin().price_of("openai:gpt-5-mini").unwrap();
        let flash = PriceTable::builtin().price_of("gemini:gemini-2.5-flash").unwrap();
        for (price, usage, cost) in [
            (mini, usage(0, 0, 0), "0"),
            (mini, usage(1_000_000, 0, 1_000_000), "2.25"),
            (mini, usage(1_000_000, 1_000_000, 0), "0.025"),
            (mini, usage(812, 0, 240), "0.000683"),
            (mini, usage(812, 800, 240), "0.000503"),
            // A quarter of a micro-dollar is one; four quarters are one as well.
            (mini, usage(1, 0, 0), "0.000001"),
            (mini, usage(4, 0, 0), "0.000001"),
            (mini, usage(5, 0, 0), "0.000002"),
            // 0.25 + 0.025 together, and not each for itself.
            (mini, usage(2, 1, 0), "0.000001"),
            // What is not known of the cache costs like any input.
            (flash, usage(1_000_000, 600_000, 0), "0.30"),
            // More from the cache than was read: all that is said to be read is paid for.
            (mini, usage(0, 1_000_000, 0), "0.025"),
            (Price::FREE, usage(u64::MAX, 7, u64::MAX), "0"),
        ] {
            assert_eq!(price.cost(usage), money(cost), "{usage:?}");
        }
        let dearest = Price::per_million(Money::MAX, Money::MAX);
        assert_eq!(dearest.cost(usage(u64::MAX, 0, u64::MAX)), Money::MAX, "and never wraps");
    }

    #[test]
    fn a_price_is_written_like_the_file() {
        let price: Price = serde_json::from_str(r#"{"input": "$2.50", "output": "10"}"#).unwrap();
        assert_eq!(price, Price::per_million(money("2.5"), money("10")));
        assert_eq!(serde_json::to_string(&price).unwrap(), r#"{"input":"2.50","output":"10.00"}"#);
        assert!(
            serde_json::from_str::<Price>(r#"{"input": "1", "output": "1", "cahced_input": "1"}"#).is_err()
        );
    }
}

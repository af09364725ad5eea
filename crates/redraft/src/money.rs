//! Money: whole micro-dollars, so that sums are exact. There is no way in or out through a float.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How many decimals a micro-dollar has.
const DECIMALS: usize = 6;
/// How many decimals are always shown.
const CENTS: usize = 2;
const MICROS_PER_DOLLAR: u64 = 1_000_000;

/// An amount of US dollars, kept in whole micro-dollars.
///
/// It is shown as `$0.019`, read from `$0.50` or `0.5`, and serialised as a decimal string: `"0.50"`.
///
/// ```
/// use redraft::llm::Money;
///
/// let limit: Money = "$0.50".parse()?;
/// let spent = Money::from_micros(19_000);
/// assert_eq!(spent.to_string(), "$0.019");
/// assert_eq!(limit.saturating_sub(spent).to_string(), "$0.481");
/// # Ok::<(), redraft::llm::BadMoney>(())
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Money(u64);

impl Money {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// The most that can be counted: about 18 trillion dollars.
    pub const MAX: Self = Self(u64::MAX);

    /// Makes an amount of micro-dollars.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Returns the amount in micro-dollars.
    #[must_use]
    pub const fn micros(self) -> u64 {
        self.0
    }

    /// Adds; nothing if the sum cannot be counted.
    #[must_use]
    pub const fn checked_add(self, more: Self) -> Option<Self> {
        match self.0.checked_add(more.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    /// Takes away; nothing if there is less than that.
    #[must_use]
    pub const fn checked_sub(self, less: Self) -> Option<Self> {
        match self.0.checked_sub(less.0) {
            Some(rest) => Some(Self(rest)),
            None => None,
        }
    }

    /// Adds, and stops at [`Money::MAX`].
    #[must_use]
    pub const fn saturating_add(self, more: Self) -> Self {
        Self(self.0.saturating_add(more.0))
    }

    /// Takes away, and stops at [`Money::ZERO`].
    #[must_use]
    pub const fn saturating_sub(self, less: Self) -> Self {
        Self(self.0.saturating_sub(less.0))
    }

    /// Writes the amount without the sign: at least two decimals, at most six.
    fn decimal(self) -> String {
        let decimals = format!("{:0DECIMALS$}", self.0 % MICROS_PER_DOLLAR);
        let (cents, finer) = decimals.split_at(CENTS);
        format!("{}.{cents}{}", self.0 / MICROS_PER_DOLLAR, finer.trim_end_matches('0'))
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("${}", self.decimal()))
    }
}

impl fmt::Debug for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is no amount of money.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadMoney {
    /// It is less than nothing.
    #[error("`{text}` is negative; an amount of money is 0 or more")]
    Negative {
        /// What was given.
        text: String,
    },
    /// It is not written as digits with at most one point.
    #[error("`{text}` is not an amount of money; write it like `$0.50` or `0.5`")]
    NotANumber {
        /// What was given.
        text: String,
    },
    /// It is finer than a micro-dollar.
    #[error("`{text}` has more than {DECIMALS} decimals; money is counted in millionths of a dollar")]
    TooFine {
        /// What was given.
        text: String,
    },
    /// It is more than can be counted.
    #[error("`{text}` is more than can be counted; the most is {}", Money::MAX)]
    TooMuch {
        /// What was given.
        text: String,
    },
}

impl FromStr for Money {
    type Err = BadMoney;

    fn from_str(given: &str) -> Result<Self, BadMoney> {
        let text = || given.chars().take(60).collect();
        let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());

        let amount = given.trim();
        let unsigned = amount.strip_prefix('$').unwrap_or(amount);
        let negative = amount.starts_with('-') || unsigned.starts_with('-');
        let unsigned = if negative { unsigned.trim_start_matches(['-', '$']) } else { unsigned };
        let (dollars, decimals) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
        if !is_number(dollars) || !is_number(decimals) {
            return Err(BadMoney::NotANumber { text: text() });
        }
        if negative {
            return Err(BadMoney::Negative { text: text() });
        }
        if decimals.len() > DECIMALS {
            return Err(BadMoney::TooFine { text: text() });
        }
        // Both are digits, so a number that cannot be read is one that is too large.
        let micros = format!("{decimals:0<DECIMALS$}").parse::<u64>().ok();
        let dollars = dollars.parse::<u64>().ok().and_then(|dollars| dollars.checked_mul(MICROS_PER_DOLLAR));
        dollars
            .zip(micros)
            .and_then(|(dollars, micros)| dollars.checked_add(micros))
            .map(Self)
            .ok_or_else(|| BadMoney::TooMuch { text: text() })
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.decimal())
    }
}

/// Only from a string: a number in JSON or YAML is a float to most who write it.
impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_shown_with_two_to_six_decimals() {
        for (micros, shown) in [
            (0, "$0.00"),
            (1, "$0.000001"),
            (10, "$0.00001"),
            (19_000, "$0.019"),
            (25_000, "$0.025"),
            (500_000, "$0.50"),
            (1_250_000, "$1.25"),
            (1_234_567, "$1.234567"),
            (10_000_000, "$10.00"),
            (100_000_100, "$100.0001"),
            (u64::MAX, "$18446744073709.551615"),
        ] {
            let money = Money::from_micros(micros);
            assert_eq!(money.to_string(), shown);
            assert_eq!(shown.parse(), Ok(money), "and is read back");
        }
        assert_eq!(format!("{:>8}", Money::from_micros(19_000)), "  $0.019");
    }

    #[test]
    fn money_is_read_as_people_write_it() {
        for (text, micros) in [
            ("$0.50", 500_000),
            ("0.5", 500_000),
            ("1.25", 1_250_000),
            ("3", 3_000_000),
            ("$3", 3_000_000),
            (" 0.000001 ", 1),
            ("007.10", 7_100_000),
        ] {
            assert_eq!(text.parse(), Ok(Money::from_micros(micros)), "{text}");
        }
    }

    #[test]
    fn what_is_no_amount_is_refused_with_the_reason() {
        fn check(text: &str, bad: impl Fn(String) -> BadMoney) {
            assert_eq!(text.parse::<Money>(), Err(bad(text.to_owned())));
        }
        for text in ["-1", "-0.5", "$-0.50", "-$0.50", "-0"] {
            check(text, |text| BadMoney::Negative { text });
        }
        for text in [
            "", "$", "-", "NaN", "-inf", "infinity", "1e3", "+1", "1,5", "0x1", ".5", "5.", "1.2.3", "$$1",
            "٣", "1 0",
        ] {
            check(text, |text| BadMoney::NotANumber { text });
        }
        for text in ["0.0000001", "1.0000000"] {
            check(text, |text| BadMoney::TooFine { text });
        }
        for text in ["18446744073709.551616", "18446744073710", "99999999999999999999999"] {
            check(text, |text| BadMoney::TooMuch { text });
        }
    }

    #[test]
    fn sums_stop_at_the_ends_or_say_so() {
        let one = Money::from_micros(1);
        assert_eq!(Money::MAX.checked_add(one), None);
        assert_eq!(Money::MAX.saturating_add(one), Money::MAX);
        assert_eq!(Money::ZERO.checked_sub(one), None);
        assert_eq!(Money::ZERO.saturating_sub(one), Money::ZERO);
        assert_eq!(one.checked_add(one).and_then(|two| two.checked_sub(one)), Some(one));
    }

    #[test]
    fn money_is_a_decimal_string_in_json() {
        let money = Money::from_micros(500_000);
        assert_eq!(serde_json::to_string(&money).unwrap(), r#""0.50""#);
        assert_eq!(serde_json::from_str::<Money>(r#""$0.5""#).unwrap(), money);
        assert!(serde_json::from_str::<Money>("0.5").is_err(), "a float is no money");
    }
}

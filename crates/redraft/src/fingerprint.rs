//! Short, stable hashes that tell whether a step is still the step the journal speaks of.
//!
//! The hash is XXH3 with 64 bits. It guards against mistakes (an edited prompt, a changed definition), not against
//! an adversary, and it must never change: fingerprints written today are compared in years.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::Xxh3;

/// A 64-bit hash, printed as 16 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// Hashes `parts`; how bytes are split into parts matters.
    #[must_use]
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = Xxh3::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(hasher.digest())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        u64::from_str_radix(&text, 16).map(Self).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_today_is_the_hash_of_tomorrow() {
        // Pinned: a change here breaks every journal in the world.
        assert_eq!(Fingerprint::of([b"draft".as_slice(), b"{}"]).to_string(), "a6be662947e0d9e8");
    }

    #[test]
    fn where_parts_end_matters() {
        assert_ne!(Fingerprint::of([b"ab".as_slice(), b"c"]), Fingerprint::of([b"a".as_slice(), b"bc"]));
    }
}

//! Short, stable hashes that tell whether a step is still the step the journal speaks of.
//!
//! The hash is XXH3 with 64 bits. It guards against mistakes (an edited prompt, a changed definition), not against
//! an adversary, and it must never change: fingerprints written today are compared in years.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
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

/// Writes a value so that equal values give equal bytes: the entries of objects are sorted, whatever order a map kept
/// them in.
pub(crate) fn canonical(value: &Value) -> Vec<u8> {
    fn write(value: &Value, out: &mut Vec<u8>) {
        match value {
            Value::Array(items) => {
                out.push(b'[');
                for item in items {
                    write(item, out);
                    out.push(b',');
                }
                out.push(b']');
            }
            Value::Object(entries) => {
                let mut entries: Vec<_> = entries.iter().collect();
                entries.sort_by_key(|(key, _)| key.as_str());
                out.push(b'{');
                for (key, value) in entries {
                    write(&Value::from(key.as_str()), out);
                    out.push(b':');
                    write(value, out);
                    out.push(b',');
                }
                out.push(b'}');
            }
            plain => out.extend_from_slice(plain.to_string().as_bytes()),
        }
    }
    let mut out = Vec::new();
    write(value, &mut out);
    out
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
    fn the_order_of_a_map_does_not_matter_and_that_of_a_list_does() {
        let bytes = |text: &str| canonical(&serde_json::from_str(text).unwrap());
        assert_eq!(bytes(r#"{"a":1,"b":{"d":2,"c":[1,"x"]}}"#), bytes(r#"{"b":{"c":[1,"x"],"d":2},"a":1}"#));
        assert_eq!(bytes(r#"{"a":[1,2]}"#), b"{\"a\":[1,2,],}");
        assert_ne!(bytes("[1,2]"), bytes("[2,1]"));
    }

    #[test]
    fn where_parts_end_matters() {
        assert_ne!(Fingerprint::of([b"ab".as_slice(), b"c"]), Fingerprint::of([b"a".as_slice(), b"bc"]));
    }
}

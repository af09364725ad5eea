//! Identities that are shown, stored and pasted: always with a prefix, always sortable by time of making.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ulid::Ulid;

macro_rules! prefixed_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Ulid);

        impl $name {
            /// Makes a new id; ids made later sort later.
            #[must_use]
            pub fn new() -> Self {
                Self(Ulid::generate())
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                text.strip_prefix($prefix)
                    .and_then(|rest| Ulid::from_string(rest).ok())
                    .map(Self)
                    .ok_or_else(|| BadId { text: text.chars().take(60).collect(), prefix: $prefix })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

prefixed_id!(
    /// The id of a run, printed as `run_01J…`.
    RunId,
    "run_"
);
prefixed_id!(
    /// The id of a driver: one engine that has opened a store, printed as `driver_01J…`.
    DriverId,
    "driver_"
);
prefixed_id!(
    /// The id of a message left for a run that another engine drives, printed as `message_01J…`.
    MessageId,
    "message_"
);

/// A text that is not an id of the kind that was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an id; ids of this kind look like `{prefix}01JB…`")]
pub struct BadId {
    text: String,
    prefix: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_survives_being_printed_and_pasted() {
        let id = RunId::new();
        assert!(id.to_string().starts_with("run_"));
        assert_eq!(id.to_string().parse(), Ok(id));
        assert!("01JB".parse::<RunId>().is_err());
        assert!(DriverId::new().to_string().parse::<RunId>().is_err());
    }
}

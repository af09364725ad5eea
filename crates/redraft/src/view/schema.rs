//! The shapes, as JSON Schema, of what is written as a text: ids, times, paths and money. What has fields says its shape
//! where it stands.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::clock::Timestamp;
use crate::id::RunId;
use crate::money::Money;
use crate::path::Path;
use crate::spend::Spend;

macro_rules! written_as {
    ($type:ty, $name:literal, $schema:tt) => {
        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

written_as!(RunId, "RunId", { "type": "string", "pattern": "^run_[0-9A-Z]{26}$" });
written_as!(Timestamp, "Timestamp", { "type": "string", "format": "date-time" });
written_as!(Path, "Path", { "type": "string", "description": "where it stands in the run; empty for the run itself" });
written_as!(Money, "Money", { "type": "string", "pattern": "^[0-9]+\\.[0-9]{2,6}$", "description": "US dollars" });

impl JsonSchema for Spend {
    fn schema_name() -> Cow<'static, str> {
        "Spend".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let money = generator.subschema_for::<Option<Money>>();
        let count = json_schema!({ "type": "integer", "minimum": 0 });
        json_schema!({
            "type": "object",
            "description": "What was spent on models; `usd` is null when a price is unknown.",
            "properties": { "calls": count, "input_tokens": count, "output_tokens": count, "usd": money },
            "required": ["calls", "input_tokens", "output_tokens", "usd"],
        })
    }
}

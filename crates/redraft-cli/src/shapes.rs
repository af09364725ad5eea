//! The shapes of everything that `--json` prints, as JSON Schema: made from the types, kept in `docs/reference/json`.
//!
//! To renew the files after a change: `REDRAFT_WRITE=1 cargo test -p redraft-cli shapes`.

use schemars::Schema;
use schemars::generate::SchemaSettings;

use crate::commands::{diff, doctor, explain, list, models, show};

/// Returns every shape, by the name of its file.
fn all() -> Vec<(&'static str, Schema)> {
    vec![
        ("diff", shape::<diff::Difference>()),
        ("doctor", shape::<doctor::Checkup>()),
        ("event", shape::<redraft::view::Event>()),
        ("explain", shape::<explain::Explained>()),
        ("list", shape::<list::Listed>()),
        ("models", shape::<models::Usable>()),
        ("run", shape::<redraft::view::Report>()),
        ("show", shape::<show::Shown>()),
        ("show-draft", shape::<show::OneDraft>()),
        ("show-transcript", shape::<show::Transcript>()),
    ]
}

fn shape<T: schemars::JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// Values are compared, and not texts: in which order fields stand depends on how the program is built.
#[test]
fn the_files_say_what_the_types_do() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/json");
    for (name, schema) in all() {
        let file = format!("{folder}/{name}.schema.json");
        let made = schema.to_value();
        let kept = || -> Option<serde_json::Value> {
            serde_json::from_str(&std::fs::read_to_string(&file).ok()?).ok()
        };
        if std::env::var_os("REDRAFT_WRITE").is_some() && kept().as_ref() != Some(&made) {
            std::fs::write(&file, serde_json::to_string_pretty(&made).unwrap() + "\n").unwrap();
        }
        let same = kept().as_ref() == Some(&made);
        assert!(same, "{file} is not what the types say: REDRAFT_WRITE=1 cargo test -p redraft-cli shapes");
    }
}

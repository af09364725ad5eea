//! Prices from the configuration, put into a spec before it runs: so a run knows them wherever it is resumed.

use serde_json::{Value, json};

use crate::settings::Settings;

/// Gives every model of a spec that has a configured price, and none of its own, that price.
pub(crate) fn put_in(spec: &mut Value, settings: &Settings) {
    if settings.prices.is_empty() {
        return;
    }
    let named: Vec<String> = [&spec["draft"]["model"], &spec["revise"]["model"]]
        .into_iter()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect();
    if !spec["models"].is_object() {
        spec["models"] = json!({});
    }
    let Some(models) = spec["models"].as_object_mut() else { return };
    for name in named.into_iter().filter(|name| settings.prices.contains_key(name)) {
        // A model that is named where it is used becomes an entry of its own name.
        models.entry(name.clone()).or_insert(json!(name));
    }
    for setting in models.values_mut() {
        let name = setting.as_str().or_else(|| setting["model"].as_str()).map(str::to_owned);
        let Some(price) = name.as_ref().and_then(|name| settings.prices.get(name)) else { continue };
        if setting.is_string() {
            *setting = json!({ "model": name });
        }
        if setting.get("price").is_none_or(Value::is_null) {
            setting["price"] = price.value.clone();
        }
    }
}

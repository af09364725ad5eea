//! `redraft models`

use std::process::ExitCode;

use redraft::llm::{Money, PriceTable};
use schemars::JsonSchema;
use serde::Serialize;

use super::{print, print_json};
use crate::keys::{self, KeyState, Service};
use crate::settings::Settings;
use crate::terminal::Palette;
use crate::text;
use crate::trouble::Trouble;
use crate::weights::{self, Weights, WeightsState};

/// Lists the models that can be used, and what they cost.
///
/// First the providers, each with whether its key is there and where it came from; the key itself is never shown. Then
/// the models whose prices are known, per million tokens. Any other model of a provider can be used too: what it costs
/// is then shown as unknown.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  redraft models
  redraft models anthropic       only the models of one provider
  redraft models --json | jq -r '.providers[] | select(.key == \"set\") | .name'")]
pub(crate) struct Models {
    /// Only this provider
    provider: Option<String>,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

/// What `redraft models --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Usable {
    /// The services, and whether they can be used.
    providers: Vec<Service>,
    /// The embedded model, and whether it can be used.
    local: Weights,
    /// The day on which the prices held.
    prices_dated: String,
    /// The models whose prices are known.
    models: Vec<Priced>,
}

/// A model, and what a million tokens cost.
#[derive(Debug, Serialize, JsonSchema)]
struct Priced {
    /// `provider:model`.
    model: String,
    /// Whether it can be used now: its provider's key is set, or none is needed.
    usable: bool,
    /// For what it reads.
    input: Money,
    /// For what it reads from the provider's cache, where that is another price.
    cached_input: Option<Money>,
    /// For what it writes.
    output: Money,
}

impl Models {
    pub(crate) fn run(&self, settings: &Settings) -> Result<ExitCode, Trouble> {
        let mut providers = keys::services(settings);
        if let Some(name) = &self.provider {
            providers.retain(|provider| provider.name == *name);
            if providers.is_empty() {
                let known: Vec<String> =
                    keys::services(settings).into_iter().map(|provider| provider.name).collect();
                let message =
                    format!("there is no provider `{}`; there are {}", text::line(name), known.join(", "));
                return Err(Trouble::new(crate::trouble::Exit::Usage, message)
                    .code("unknown-provider")
                    .hint("redraft models"));
            }
        }
        let prices = PriceTable::builtin();
        let models = prices.iter().filter_map(|(model, price)| {
            let (name, _) = model.split_once(':')?;
            let provider = providers.iter().find(|provider| provider.name == name)?;
            Some(Priced {
                model: model.to_owned(),
                usable: provider.key != KeyState::Missing,
                input: price.input,
                cached_input: price.cached_input,
                output: price.output,
            })
        });
        let models = models.collect();
        let local = weights::look();
        let usable = Usable { providers, local, prices_dated: prices.dated().to_owned(), models };
        if self.json {
            return Ok(print_json(&usable));
        }
        let palette = Palette { colored: settings.color.wanted(&std::io::stdout()) };
        Ok(print(&usable.lines(palette, text::columns()).join("\n")))
    }
}

impl Usable {
    fn lines(&self, palette: Palette, columns: usize) -> Vec<String> {
        let mut lines = vec![palette.bold("providers")];
        for provider in &self.providers {
            let variable = provider.key_variable.as_deref().unwrap_or_default();
            let (sign, state) = match provider.key {
                KeyState::Set => {
                    let masked = provider.masked.as_deref().unwrap_or_default();
                    let origin = provider.key_origin.as_deref().unwrap_or_default();
                    ('✓', format!("key {masked}, from {origin}"))
                }
                KeyState::Missing => ('○', format!("no key: set {variable}")),
                KeyState::NotNeeded => ('✓', format!("no key needed, at {}", provider.base_url)),
            };
            let line = text::cut(&format!("{sign} {}  {state}", text::pad(&provider.name, 10)), columns - 2);
            lines.push(format!("  {}", if sign == '✓' { palette.good(&line) } else { palette.dim(&line) }));
        }
        if self.providers.len() > 1 {
            let sign = if self.local.state == WeightsState::Present { '✓' } else { '○' };
            let line = format!("{sign} {}  {}", text::pad("local", 10), self.local.words());
            let line = text::cut(&line, columns - 2);
            lines.push(format!("  {}", if sign == '✓' { palette.good(&line) } else { palette.dim(&line) }));
        }
        if self.models.is_empty() {
            return lines;
        }
        lines.push(String::new());
        lines.push(palette.bold(&text::cut(
            &format!("prices of {}, per million tokens read and written", self.prices_dated),
            columns,
        )));
        let widest = self.models.iter().map(|model| model.model.len()).max().unwrap_or(0);
        let names = widest.min(columns.saturating_sub(26));
        for model in &self.models {
            let name = text::pad(&text::cut(&model.model, names), names);
            let sign = if model.usable { '✓' } else { '○' };
            let line =
                format!("  {sign} {name}  {:>8}  {:>8}", model.input.to_string(), model.output.to_string());
            lines.push(if model.usable { line } else { palette.dim(&line) });
        }
        lines
    }
}

//! `redraft run --dry-run`: the first prompt as it would be asked, and what the run may cost. Nobody is asked: the first
//! draft is made by a model that writes down what it is asked and answers nothing.

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use redraft::llm::{Answering, Error, Listener, Message, Model, Money, PriceTable, Request, Usage};
use redraft::spec::{Makers, ModelSetting, Reach, SpecInput};
use redraft::store::MemoryStore;
use redraft::{Engine, Failure};

use crate::trouble::{Exit, Trouble};
use crate::work::Work;

/// How long an answer is taken to be where the least is estimated, in tokens.
const SHORT_ANSWER: u64 = 400;
/// How many bytes a token has, about.
const BYTES_PER_TOKEN: u64 = 4;

/// Takes down what it is asked.
#[derive(Clone, Debug, Default)]
struct Stenographer {
    asked: Arc<Mutex<Vec<(String, Request)>>>,
}

#[derive(Debug)]
struct Silent {
    name: String,
    pad: Stenographer,
}

impl Model for Silent {
    fn name(&self) -> &str {
        &self.name
    }

    fn answer<'a>(&'a self, request: &'a Request, _: &'a mut dyn Listener) -> Answering<'a> {
        let mut asked = self.pad.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.push((self.name.clone(), request.clone()));
        drop(asked);
        Box::pin(async move {
            Err(Error::BadRequest { model: self.name.clone(), message: "this is a dry run".to_owned() })
        })
    }
}

impl Makers for Stenographer {
    fn model(&self, name: &str, _: &Reach) -> Result<Arc<dyn Model>, Failure> {
        Ok(Arc::new(Silent { name: name.to_owned(), pad: self.clone() }))
    }
}

/// Shows what the first draft would be asked with, and the band of what the run may cost.
pub(crate) async fn show(input: &SpecInput) -> Result<ExitCode, Trouble> {
    let pad = Stenographer::default();
    let mut silent = input.clone();
    for (alias, setting) in &mut silent.spec.models {
        let name = setting.name(alias);
        if let ModelSetting::Table(table) = setting {
            table.model = Some(name);
            table.scripted = None;
            table.cassette = None;
            table.record = false;
        }
    }
    let work = Work::new(&input.spec.name, Arc::new(pad.clone()), None);
    let engine = Engine::on(MemoryStore::new()).workflow(work.clone()).open().await?;
    let outcome = engine.start(&work, silent).await?.settled().await?;
    let asked = pad.asked.lock().unwrap_or_else(PoisonError::into_inner).first().cloned();
    let Some((model, request)) = asked else {
        let failure = outcome.into_output().err();
        return Err(failure.map_or_else(|| Trouble::new(Exit::Bug, "nothing would be asked"), Trouble::from));
    };
    let mut shown = format!("model: {model}\n");
    if let Some(system) = &request.system {
        shown.push_str(&format!("--- system\n{}\n", system.trim_end()));
    }
    for message in &request.messages {
        let (role, text) = match message {
            Message::User { text } => ("user", text),
            Message::Assistant { text, .. } => ("assistant", text),
            Message::ToolResult { output, .. } => ("tool", output),
        };
        shown.push_str(&format!("--- {role}\n{}\n", text.trim_end()));
    }
    shown.push_str(&format!("---\n{}", band(&model, &request, input)));
    Ok(super::print(&shown))
}

/// Says what the run may cost: from one short draft that is accepted at once, to every iteration with answers as long as
/// they may be. Judges are not in it: what they read is not known yet.
fn band(model: &str, request: &Request, input: &SpecInput) -> String {
    let spec = &input.spec;
    let iterations = u64::from(spec.limits.iterations.unwrap_or(5));
    let drafts = iterations * u64::from(spec.candidates);
    let calls = format!("calls: 1 to {drafts} for drafts, and those of judges");
    let limit = spec
        .limits
        .cost
        .as_ref()
        .map(|cost| format!("; never more than ${}", cost.0.trim_start_matches('$')));
    let limit = limit.unwrap_or_default();
    let own = spec.models.iter().find(|(alias, setting)| setting.name(alias) == model);
    let own = own.and_then(|(_, setting)| match setting {
        ModelSetting::Table(table) => table.price.as_ref(),
        _ => None,
    });
    let price = match own {
        Some(price) => price
            .input
            .0
            .parse()
            .ok()
            .zip(price.output.0.parse().ok())
            .map(|(input, output)| redraft::llm::Price::per_million(input, output)),
        None => PriceTable::builtin().price_of(model),
    };
    let Some(price) = price else {
        return format!("{calls}\ncost: unknown, because the price of `{model}` is{limit}");
    };
    let bytes = serde_json::to_string(request).map_or(0, |text| text.len() as u64);
    let least = price.cost(Usage::new(bytes / BYTES_PER_TOKEN, SHORT_ANSWER));
    let most = price.cost(Usage::new(bytes, u64::from(request.max_output_tokens)));
    let most = Money::from_micros(most.micros().saturating_mul(drafts));
    format!(
        "{calls}\ncost of drafts: from about {least} (one answer of {SHORT_ANSWER} tokens) to at most {most} ({drafts} as long as they may be){limit}"
    )
}

//! `redraft run SPEC`: the flags, the spec they make, and one run of it. Many inputs are in `batch`, dry runs in
//! `dry_run`.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use redraft::Start;
use redraft::spec::{Flags, Makers, Registry, Spec, SpecInput};
use serde_json::{Map, Value, json};

use super::{batch, block_on, dry_run};
use crate::driving::{Driving, Manner, untyped};
use crate::makers::Machine;
use crate::settings::Settings;
use crate::trouble::{Exit, Trouble};

/// Runs a spec: drafts, judges and revises until a draft is good enough or a limit is reached.
///
/// The best draft goes to standard output and everything else to standard error.
#[derive(clap::Args)]
pub(crate) struct Run {
    /// The spec file; - reads it from standard input
    #[arg(required_unless_present = "prompt")]
    spec: Option<PathBuf>,
    /// What is wanted, in place of a spec file
    #[arg(long, conflicts_with = "spec", value_name = "TEXT")]
    prompt: Option<String>,
    /// Sets an input: key=value, or key=@file for what is in a file
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,
    /// The input as a JSON object, or @file
    #[arg(long, value_name = "JSON|@FILE", conflicts_with = "inputs")]
    input: Option<String>,
    /// Runs the spec once for each line of a file of JSON objects; - is standard input
    #[arg(long, value_name = "FILE.jsonl")]
    inputs: Option<PathBuf>,
    /// How many inputs are worked on at the same time [default: 8]
    #[arg(long, requires = "inputs", value_name = "N")]
    concurrency: Option<usize>,
    /// Lets this model write: provider:model, or a name from the spec
    #[arg(long)]
    model: Option<String>,
    /// Judges by this command too: it gets the draft on standard input and as the file draft.txt, must succeed, and what
    /// it prints is the critique
    #[arg(long, value_name = "COMMAND")]
    verify: Vec<String>,
    /// When a draft is good enough: a score from 0 to 1, or an expression
    #[arg(long, value_name = "SCORE|EXPRESSION")]
    accept: Option<String>,
    /// How many candidates are made per iteration
    #[arg(long, value_name = "N")]
    candidates: Option<u32>,
    #[command(flatten)]
    raised: Raised,
    /// Shows the first prompt and what it may cost, and asks nobody
    #[arg(long, conflicts_with_all = ["json", "jsonl", "inputs"])]
    dry_run: bool,
    /// Starts at most one run for this key; a second time, the first one is taken up or shown
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Calls the run's workflow by another name
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    manner: Manner,
}

/// Limits that a command line sets.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Raised {
    /// How much may be spent, for instance $0.50; with --inputs, on all of them together
    #[arg(long, value_name = "AMOUNT")]
    pub(crate) max_cost: Option<String>,
    /// How long it may take, for instance 90s or 10m
    #[arg(long, value_name = "TIME")]
    pub(crate) max_time: Option<String>,
    /// How many drafts may be made
    #[arg(long, value_name = "N")]
    pub(crate) max_iterations: Option<u32>,
}

impl Raised {
    /// Says whether nothing is set.
    pub(crate) fn is_empty(&self) -> bool {
        self.max_cost.is_none() && self.max_time.is_none() && self.max_iterations.is_none()
    }

    /// Sets the limits in a spec that is data.
    pub(crate) fn set(&self, spec: &mut Value) {
        let given = [
            ("cost", self.max_cost.clone().map(Value::from)),
            ("time", self.max_time.clone().map(Value::from)),
            ("iterations", self.max_iterations.map(Value::from)),
        ];
        for (name, value) in given {
            if let Some(value) = value {
                spec["limits"][name] = value;
            }
        }
    }
}

/// The file that a draft is to commands that are given as flags.
const DRAFT: &str = "draft.txt";

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("it must be key=value".to_owned()),
    }
}

impl Run {
    pub(crate) fn run(&self, settings: &Settings) -> Result<ExitCode, Trouble> {
        let spec = self.spec(settings)?;
        let set = self.set.iter().map(|(name, value)| Ok((name.clone(), from_file(value)?)));
        let set: Vec<(String, String)> = set.collect::<Result<_, Trouble>>()?;
        if self.dry_run {
            let input = spec.input_of(self.values()?, &set)?;
            return block_on(dry_run::show(&input));
        }
        let machine = Machine::new(settings);
        spec.try_models(&*machine as &dyn Makers)?;
        if let Some(inputs) = &self.inputs {
            let many = batch::Batch {
                spec: &spec,
                set: &set,
                inputs,
                at_once: self.concurrency.unwrap_or(settings.concurrency.value),
                key: self.key.as_deref(),
                max_cost: self.raised.max_cost.as_deref(),
                manner: &self.manner,
            };
            return block_on(many.run(settings));
        }
        let input = spec.input_of(self.values()?, &set)?;
        block_on(self.one(settings, &spec, input))
    }

    async fn one(&self, settings: &Settings, spec: &Spec, input: SpecInput) -> Result<ExitCode, Trouble> {
        let driving = Driving::new(settings, &self.manner);
        let work = driving.work(spec.name());
        let engine = driving.open(&work).await?;
        let start = match &self.key {
            Some(key) => Start::default().key(key),
            None => Start::default(),
        };
        let handle = untyped(engine.start_with(&work, input.clone(), start).await?);
        driving.see_through(&engine, &handle, &input, 0).await
    }

    fn values(&self) -> Result<Map<String, Value>, Trouble> {
        let Some(given) = &self.input else { return Ok(Map::new()) };
        let text = from_file(given)?;
        match serde_json::from_str(&text) {
            Ok(Value::Object(values)) => Ok(values),
            Ok(_) => Err(Trouble::new(Exit::Usage, "--input must be a JSON object")),
            Err(error) => Err(Trouble::new(Exit::Usage, format!("--input is not JSON: {error}"))),
        }
    }

    /// Reads the spec and puts in what the flags and the settings say.
    fn spec(&self, settings: &Settings) -> Result<Spec, Trouble> {
        let registry = Registry::builtin();
        let spec = match (&self.spec, &self.prompt) {
            (Some(path), _) if path.as_os_str() == "-" => {
                let mut text = Vec::new();
                let read = std::io::stdin().read_to_end(&mut text);
                read.map_err(|error| {
                    Trouble::new(Exit::Usage, format!("standard input cannot be read: {error}"))
                })?;
                Spec::parse("<stdin>", &text, Some(Path::new(".")), &registry)?
            }
            (Some(path), _) => Spec::read(path, &registry)?,
            (None, prompt) => {
                self.spec_of_flags(prompt.as_deref().unwrap_or_default(), settings, &registry)?
            }
        };
        let before = serde_json::to_value(spec.resolved()).unwrap_or_default();
        let mut changed = before.clone();
        self.change(&mut changed, settings);
        if changed == before {
            return Ok(spec);
        }
        // Looked at again as a whole: a flag can be as wrong as a file.
        let text = serde_json::to_string_pretty(&changed).unwrap_or_default();
        Ok(Spec::parse("<spec with flags>", text.as_bytes(), None, &registry)?)
    }

    fn spec_of_flags(&self, prompt: &str, settings: &Settings, registry: &Registry) -> Result<Spec, Trouble> {
        let model = self.model.clone().or_else(|| settings.model.as_ref().map(|model| model.value.clone()));
        let Some(model) = model else {
            return Err(Trouble::new(Exit::Usage, "no model was named")
                .hint("--model provider:model, or set REDRAFT_MODEL"));
        };
        if self.verify.is_empty() {
            return Err(Trouble::new(Exit::Usage, "nothing would judge the drafts")
                .hint("add a command that must succeed: --verify 'cargo test'"));
        }
        let mut flags = Flags::new(prompt, model);
        flags.name.clone_from(&self.name);
        flags.verify.clone_from(&self.verify);
        flags.folder = std::env::current_dir().ok();
        flags.accept.clone_from(&self.accept);
        Ok(Spec::from_flags(&flags, registry)?)
    }

    /// Changes a spec that is data.
    fn change(&self, spec: &mut Value, settings: &Settings) {
        for (name, limit) in &settings.limits {
            if spec["limits"].get(name).is_none_or(Value::is_null) {
                spec["limits"][*name] = limit.value.clone();
            }
        }
        super::prices::put_in(spec, settings);
        let mut raised = self.raised.clone();
        if self.inputs.is_some() {
            // One budget for all of them, and not this much for each.
            raised.max_cost = None;
        }
        raised.set(spec);
        if let Some(name) = &self.name {
            spec["name"] = json!(name);
        }
        if let Some(count) = self.candidates {
            spec["candidates"] = json!(count);
        }
        if self.prompt.is_some() {
            for check in spec["verify"].as_array_mut().into_iter().flatten() {
                check["command"]["stdin"] = json!(true);
                check["command"]["file"] = json!(DRAFT);
            }
            return;
        }
        if let Some(model) = &self.model {
            spec["draft"]["model"] = json!(model);
            if let Some(revise) = spec["revise"].as_object_mut() {
                revise.remove("model");
            }
        }
        if let Some(accept) = &self.accept {
            let score = serde_json::from_str::<serde_json::Number>(accept);
            spec["accept"] = score.map_or_else(|_| json!(accept), |score| json!({ "score": score }));
        }
        for (command, n) in self.verify.iter().zip(1..) {
            let name = if self.verify.len() == 1 { "command".to_owned() } else { format!("command-{n}") };
            if let Some(checks) = spec["verify"].as_array_mut() {
                let mut command = Flags::command(command, std::env::current_dir().ok().as_deref());
                command["stdin"] = json!(true);
                command["file"] = json!(DRAFT);
                checks.push(json!({ "name": name, "command": command }));
            }
        }
    }
}

/// Returns a text, or what is in the file if it is `@file`.
fn from_file(text: &str) -> Result<String, Trouble> {
    match text.strip_prefix('@') {
        None => Ok(text.to_owned()),
        Some(path) => std::fs::read_to_string(path)
            .map_err(|error| Trouble::new(Exit::Usage, format!("`{path}` cannot be read: {error}"))),
    }
}

//! `redraft run SPEC --inputs FILE`: one run for each input, some at a time, under one budget. One that fails does not
//! sink the rest.

use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use redraft::llm::{Allowance, Budget, Money};
use redraft::spec::{Spec, SpecInput};
use redraft::{Engine, Start};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::driving::{Manner, untyped, write_whole};
use crate::ended::Ended;
use crate::github;
use crate::interrupt::Interrupt;
use crate::live::bar::Bar;
use crate::live::{Style, say};
use crate::makers::Machine;
use crate::settings::Settings;
use crate::terminal::{Palette, one_line};
use crate::trouble::{Exit, Trouble};
use crate::work::Work;

/// Many runs of one spec.
pub(crate) struct Batch<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) set: &'a [(String, String)],
    pub(crate) inputs: &'a Path,
    pub(crate) at_once: usize,
    pub(crate) key: Option<&'a str>,
    pub(crate) max_cost: Option<&'a str>,
    pub(crate) manner: &'a Manner,
}

/// What came of one input: a run, or why there was none.
type Result1 = (usize, Result<Ended, Trouble>);

impl Batch<'_> {
    pub(crate) async fn run(&self, settings: &Settings) -> Result<ExitCode, Trouble> {
        let inputs = self.read()?;
        let budget = self.budget()?;
        let work = Work::new(self.spec.name(), Machine::new(settings), None).within(budget.clone());
        let engine = settings.engine()?.workflow(work.clone()).without_resuming().open().await?;
        let interrupt = Interrupt::listen();
        let turns = Arc::new(Semaphore::new(self.at_once.max(1)));
        let mut under_way = JoinSet::new();
        let all = inputs.len();
        for (at, input) in inputs.into_iter().enumerate() {
            let start = match self.key {
                Some(key) => Start::default().key(format!("{key}-{}", at + 1)),
                None => Start::default(),
            };
            let (engine, work, turns) = (engine.clone(), work.clone(), Arc::clone(&turns));
            under_way.spawn(async move { (at, one(&engine, &work, input, start, &turns).await) });
        }
        let style = Style::wanted(self.manner.quiet, false);
        let mut bar = Bar::new(style, Palette { colored: settings.color.wanted(&std::io::stderr()) });
        let mut results: Vec<Option<Result<Ended, Trouble>>> = (0..all).map(|_| None).collect();
        let (mut done, mut accepted, mut printed) = (0, 0, 0);
        loop {
            let next = tokio::select! {
                next = under_way.join_next() => next,
                () = interrupt.asked() => {
                    under_way.abort_all();
                    engine.shut_down().await;
                    bar.clear();
                    say(&format!("stopped after {done} of {all}; nothing is lost."));
                    for run in unfinished(&engine, self.spec.name()).await {
                        say(&format!("  continue with: redraft resume {run}"));
                    }
                    return Ok(Exit::Interrupted.into());
                }
            };
            let Some(next) = next else { break };
            let Ok((at, result)): Result<Result1, _> = next else { continue };
            done += 1;
            accepted += usize::from(result.as_ref().is_ok_and(|ended| ended.exit() == Exit::Done));
            if style == Style::Plain
                && let Some(line) = complaint(at, &result)
            {
                say(&line);
            }
            self.keep(at, &result)?;
            results[at] = Some(result);
            while let Some(Some(result)) = results.get(printed) {
                self.print(printed, result);
                printed += 1;
            }
            let spent = budget.as_ref().map(|budget| format!("   spent {}", money(budget.spent().money)));
            let words = format!("{done} of {all}   {accepted} accepted{}", spent.unwrap_or_default());
            bar.show(done as u64, all as u64, &words);
        }
        bar.clear();
        engine.shut_down().await;
        let results: Vec<Result<Ended, Trouble>> = results.into_iter().flatten().collect();
        self.conclude(&results)
    }

    /// Reads every input, and finds everything that does not fit before any run begins.
    fn read(&self) -> Result<Vec<SpecInput>, Trouble> {
        let mut text = String::new();
        let read = if self.inputs.as_os_str() == "-" {
            std::io::stdin().read_to_string(&mut text).map(drop)
        } else {
            std::fs::read_to_string(self.inputs).map(|read| text = read)
        };
        let name = self.inputs.display();
        read.map_err(|error| Trouble::new(Exit::Usage, format!("`{name}` cannot be read: {error}")))?;
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let mut inputs = Vec::new();
        let mut wrong = Vec::new();
        for (at, line) in lines {
            let values = match serde_json::from_str::<Map<String, Value>>(line) {
                Ok(values) => values,
                Err(error) => {
                    wrong.push(format!("{name}:{}: it is not a JSON object: {error}", at + 1));
                    continue;
                }
            };
            match self.spec.input_of(values, self.set) {
                Ok(input) => inputs.push(input),
                Err(error) => wrong.push(format!("{name}:{}: {error}", at + 1)),
            }
        }
        if wrong.is_empty() {
            return Ok(inputs);
        }
        let hint = "nothing was started; put these lines right first";
        Err(Trouble::new(Exit::Configuration, wrong.join("\n  ")).code("spec-input").hint(hint))
    }

    fn budget(&self) -> Result<Option<Budget>, Trouble> {
        let Some(text) = self.max_cost else { return Ok(None) };
        let money: Money = text
            .parse()
            .map_err(|error| Trouble::new(Exit::Usage, format!("--max-cost cannot be read: {error}")))?;
        Ok(Some(Budget::new(Allowance { money: Some(money), ..Allowance::default() })))
    }

    /// Writes the output file of one input: the spec's own name, with the number of the input.
    fn keep(&self, at: usize, result: &Result<Ended, Trouble>) -> Result<(), Trouble> {
        let (Some(output), Ok(ended)) = (&self.spec.resolved().output, result) else { return Ok(()) };
        let Some(draft) = ended.draft() else { return Ok(()) };
        let path = Path::new(&output.file);
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let name = match path.extension() {
            Some(extension) => format!("{stem}-{}.{}", at + 1, extension.to_string_lossy()),
            None => format!("{stem}-{}", at + 1),
        };
        write_whole(&path.with_file_name(name), draft)
    }

    /// Prints a line of JSON for one input; the whole object if it was asked for.
    fn print(&self, at: usize, result: &Result<Ended, Trouble>) {
        let mut line = json!({ "input": at + 1 });
        let object = match result {
            Ok(ended) if self.manner.json || self.manner.jsonl => ended.json(),
            Ok(ended) => json!({
                "run_id": ended.run,
                "status": ended.status,
                "stop": ended.stop,
                "score": ended.best.as_ref().map(|best| best.score),
                "text": ended.draft(),
            }),
            Err(trouble) => json!({
                "run_id": null,
                "status": "failed",
                "failure": { "code": trouble.code, "message": trouble.message },
            }),
        };
        if let (Some(line), Value::Object(object)) = (line.as_object_mut(), object) {
            line.extend(object);
        }
        let _ = writeln!(std::io::stdout(), "{line}");
    }

    fn conclude(&self, results: &[Result<Ended, Trouble>]) -> Result<ExitCode, Trouble> {
        let ended: Vec<Ended> = results.iter().filter_map(|result| result.as_ref().ok().cloned()).collect();
        for report in &self.manner.report {
            report.write(&ended)?;
        }
        github::tell(&ended);
        let exits: Vec<Exit> = results
            .iter()
            .map(|result| result.as_ref().map_or_else(|trouble| trouble.exit, Ended::exit))
            .collect();
        let count = |exit: Exit| exits.iter().filter(|one| **one == exit).count();
        if !self.manner.quiet {
            let mut spend = redraft::llm::Spend::default();
            for ended in &ended {
                spend += ended.spend;
            }
            let accepted = count(Exit::Done);
            let mut words = format!("{} inputs: {accepted} accepted", results.len());
            for (exit, word) in [
                (Exit::NotAccepted, "not accepted"),
                (Exit::Spent, "out of budget or time"),
                (Exit::Waiting, "waiting for you"),
                (Exit::Provider, "failed at a provider"),
                (Exit::Configuration, "failed"),
                (Exit::Journal, "failed"),
            ] {
                if count(exit) > 0 {
                    words.push_str(&format!(", {} {word}", count(exit)));
                }
            }
            words.push_str(&format!("; spent {}", money(spend.money)));
            let each = spend.money.filter(|_| accepted > 0);
            let each = each.map(|all| Money::from_micros(all.micros().div_ceil(accepted as u64)));
            if let Some(each) = each.filter(|each| *each > Money::ZERO) {
                words.push_str(&format!(", {each} for each that was accepted"));
            }
            say(&words);
        }
        // The gravest of what happened stands for all.
        let gravest = [
            Exit::Bug,
            Exit::Journal,
            Exit::Configuration,
            Exit::Provider,
            Exit::Spent,
            Exit::Waiting,
            Exit::NotAccepted,
        ];
        Ok(gravest.into_iter().find(|exit| exits.contains(exit)).unwrap_or(Exit::Done).into())
    }
}

async fn one(
    engine: &Engine,
    work: &Work,
    input: SpecInput,
    start: Start,
    turns: &Semaphore,
) -> Result<Ended, Trouble> {
    let _turn = turns.acquire().await;
    let handle = untyped(engine.start_with(work, input, start).await?);
    Ended::of(engine, &handle.settled().await?).await
}

/// Says what went wrong with one input, if something did.
fn complaint(at: usize, result: &Result<Ended, Trouble>) -> Option<String> {
    let n = at + 1;
    match result {
        Ok(ended) if ended.exit() == Exit::Done => None,
        Ok(ended) => {
            let why = ended.failure.as_ref().map(|why| format!(": {}", one_line(&why.message)));
            Some(format!(
                "{} input {n}  {}  {}{}",
                ended.status.glyph(),
                ended.run,
                ended.status,
                why.unwrap_or_default()
            ))
        }
        Err(trouble) => Some(format!("✗ input {n}  {}", one_line(&trouble.message))),
    }
}

async fn unfinished(engine: &Engine, workflow: &str) -> Vec<redraft::RunId> {
    let query = redraft::store::Query {
        workflow: Some(workflow.to_owned()),
        status: vec![redraft::Status::Running, redraft::Status::Queued],
        ..redraft::store::Query::default()
    };
    engine.list(query).await.map(|heads| heads.into_iter().map(|head| head.run).collect()).unwrap_or_default()
}

fn money(money: Option<Money>) -> String {
    money.map_or("an unknown amount".to_owned(), |money| money.to_string())
}

//! Stores with real runs in them, and the program on them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use redraft::llm::Scripted;
use redraft::refine::{Limits, Oversight, Refine};
use redraft::store::SqliteStore;
use redraft::verify::{Case, Finding, Rule, Severity, Verdict};
use redraft::{Ctx, Engine, Failure, RunId, flow};
use serde_json::{Value, json};
use tempfile::TempDir;

/// At most so many words.
#[derive(Debug)]
struct Short(usize);

impl Rule for Short {
    fn demand(&self) -> String {
        format!("at most {} words", self.0)
    }

    fn check(&self, case: &Case) -> Verdict {
        let words = case.draft.split_whitespace().count();
        let long = words > self.0;
        Verdict::of(
            long.then(|| Finding::new("too-long", format!("has {words} words")).about("words").line(1)),
        )
    }
}

/// Speaks of the moon; without it, a draft is worth half.
#[derive(Debug)]
struct Moon;

impl Rule for Moon {
    fn demand(&self) -> String {
        "speaks of the moon".to_owned()
    }

    fn check(&self, case: &Case) -> Verdict {
        if case.draft.contains("moon") {
            return Verdict::scored(1.0);
        }
        let finding = Finding::new("no-moon", "the moon is missing <b>&").severity(Severity::Major);
        Verdict::scored(0.5).finding(finding)
    }
}

/// A store in a folder of its own.
pub(crate) struct Store {
    folder: TempDir,
}

impl Store {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("runs.db")
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs a refinement of these drafts to its end, or to where it waits.
    pub(crate) fn refined(&self, drafts: &[&str]) -> RunId {
        self.run(essay(drafts))
    }

    /// Runs a refinement that asks a person after every draft.
    pub(crate) fn waiting(&self, drafts: &[&str]) -> RunId {
        let mut oversight = Oversight::default();
        oversight.each_iteration = true;
        self.run(essay(drafts).oversight(oversight))
    }

    /// Runs a refinement whose model has nothing more to say after these drafts.
    pub(crate) fn failed(&self, drafts: &[&str]) -> RunId {
        self.run(essay(drafts).limits(Limits::iterations(9)))
    }

    /// Runs a workflow with two refinements in it.
    pub(crate) fn several(&self) -> RunId {
        let title = essay(&GOOD).build().unwrap();
        let text = essay(&HOSTILE).build().unwrap();
        let book = flow("book", move |ctx: Ctx, (): ()| {
            let (title, text) = (title.clone(), text.clone());
            async move {
                let task = json!({ "task": "Say why there are tides." });
                let title = title.run_in(&ctx.group("title"), &task).await?;
                let text = text.run_in(&ctx.group("text"), &task).await?;
                Ok::<_, Failure>(json!([title, text]))
            }
        });
        block_on(async {
            let store = SqliteStore::open(self.file()).unwrap();
            let engine = Engine::on(store).workflow(book.clone()).without_resuming().open().await.unwrap();
            let run = engine.start(&book, ()).await.unwrap();
            run.outcome().await.unwrap();
            engine.shut_down().await;
            run.run()
        })
    }

    fn run(&self, refine: Refine) -> RunId {
        let refine = refine.build().unwrap();
        block_on(async {
            let store = SqliteStore::open(self.file()).unwrap();
            let engine = Engine::on(store).workflow(refine.clone()).without_resuming().open().await.unwrap();
            let run = engine.start(&refine, json!({ "task": "Say why there are tides." })).await.unwrap();
            let id = run.run();
            let _ = run.settled().await;
            engine.shut_down().await;
            id
        })
    }

    pub(crate) fn redraft(&self, args: &[&str]) -> Output {
        self.with(args, &[])
    }

    pub(crate) fn with(&self, args: &[&str], variables: &[(&str, &str)]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_redraft"));
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).current_dir(self.folder());
        command.env("REDRAFT_STORE", self.file()).args(args);
        for (name, value) in variables {
            command.env(name, value);
        }
        command.output().unwrap()
    }

    /// Returns what the program prints; it must succeed.
    pub(crate) fn text(&self, args: &[&str]) -> String {
        let output = self.redraft(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        serde_json::from_str(&self.text(&args)).unwrap()
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// A text on a short subject: at most eight words, about the moon.
fn essay(drafts: &[&str]) -> Refine {
    let author = Scripted::new("author", drafts.iter().map(|draft| (*draft).to_owned()));
    Refine::new("essay", author)
        .verify("short", Short(8))
        .verify("moon", Moon)
        .limits(Limits::iterations(u32::try_from(drafts.len()).unwrap()))
}

/// Three drafts, of which the last is good enough.
pub(crate) const GOOD: [&str; 3] = [
    "Tides are made by the wind, which blows over all the seas.",
    "Tides are made by the wind.",
    "Tides are made by the moon.",
];

/// Two drafts that are not good enough; the second gives orders to terminals and browsers.
pub(crate) const HOSTILE: [&str; 2] = [
    "Tides are made by \u{1b}[31mwind\u{1b}[0m\u{7}.",
    "<script>alert('潮汐')</script> & \u{202e}wind\u{1b}]0;owned\u{7} ]]>",
];

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Puts words for what differs from run to run: ids, times, durations.
pub(crate) fn settled(text: &str, run: RunId) -> String {
    let id = run.to_string();
    let short = format!("{}…{}", &id[..8], &id[id.len() - 4..]);
    let text = text.replace(&id, "RUN").replace(&short, "RUN");
    let mut out = String::new();
    for word in text.split_inclusive([' ', '\n']) {
        let bare = word.trim_end();
        let is_time = bare.ends_with('s') && bare[..bare.len() - 1].parse::<f64>().is_ok();
        let is_moment = bare.len() > 18 && bare.ends_with('Z') && bare.contains('T');
        match (is_time, is_moment) {
            (true, _) => out.push_str(&word.replace(bare, "TIME")),
            (_, true) => out.push_str(&word.replace(bare, "MOMENT")),
            _ => out.push_str(word),
        }
    }
    out
}

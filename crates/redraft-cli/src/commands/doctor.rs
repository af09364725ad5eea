//! `redraft doctor`

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use redraft::sandbox::Sandbox;
use redraft::store::Query;
use schemars::JsonSchema;
use serde::Serialize;

use super::{print, print_json};
use crate::keys::{self, KeyState, Service};
use crate::settings::Settings;
use crate::terminal::Palette;
use crate::text;
use crate::trouble::{Exit, Trouble};
use crate::weights::{self, WeightsState};

/// How long a service may take to be reached.
const REACH_WITHIN: Duration = Duration::from_secs(3);

/// Checks whether everything is as it should be: store, keys, sandbox, terminal.
///
/// Every line says what was looked at, what was found and where the setting came from; ✓ is well, △ can be lived with,
/// ✗ must be seen to, and then the exit code is 3. Nothing is changed, no key is shown, and without --online nothing is
/// sent anywhere. With it, a connection to each service that has a key is opened and closed; nothing is asked.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  redraft doctor
  redraft doctor --online       also whether services can be reached
  redraft doctor --json | jq '.checks[] | select(.state != \"well\")'")]
pub(crate) struct Doctor {
    /// Also sees whether services can be reached
    #[arg(long)]
    online: bool,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

/// What `redraft doctor --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Checkup {
    /// Whether nothing must be seen to.
    well: bool,
    /// The version of this program.
    version: String,
    /// What was looked at.
    checks: Vec<Check>,
}

/// Something that was looked at.
#[derive(Debug, Serialize, JsonSchema)]
struct Check {
    /// What.
    name: String,
    /// How it is.
    state: State,
    /// What was found.
    found: String,
    /// Where the setting came from, where there is one.
    origin: Option<String>,
    /// What to type, where something is to be done.
    next: Option<String>,
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum State {
    /// As it should be.
    Well,
    /// It can be lived with.
    Lacking,
    /// It must be seen to.
    Broken,
}

impl State {
    fn glyph(self) -> char {
        match self {
            Self::Well => '✓',
            Self::Lacking => '△',
            Self::Broken => '✗',
        }
    }
}

impl Check {
    fn new(name: impl Into<String>, state: State, found: impl Into<String>) -> Self {
        Self { name: name.into(), state, found: text::line(&found.into()), origin: None, next: None }
    }

    fn from(mut self, origin: impl ToString) -> Self {
        self.origin = Some(origin.to_string());
        self
    }

    fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }
}

impl Doctor {
    pub(crate) fn run(&self, settings: &Settings) -> Result<ExitCode, Trouble> {
        let mut checks =
            vec![Check::new("version", State::Well, format!("redraft {}", env!("CARGO_PKG_VERSION")))];
        checks.extend(store(settings));
        let services = keys::services(settings);
        checks.extend(services.iter().filter_map(key));
        if services.iter().all(|service| service.key != KeyState::Set) {
            let found = "no key of any provider is set; models on this machine need none";
            checks.push(Check::new("keys", State::Lacking, found).next("redraft models"));
        }
        if self.online {
            checks.extend(super::block_on(async { Ok(reach_all(&services).await) })?);
        }
        checks.push(local());
        checks.push(sandbox());
        checks.push(terminal(settings));
        let well = checks.iter().all(|check| check.state != State::Broken);
        let checkup = Checkup { well, version: env!("CARGO_PKG_VERSION").to_owned(), checks };
        let printed = if self.json {
            print_json(&checkup)
        } else {
            let palette = Palette { colored: settings.color.wanted(&std::io::stdout()) };
            print(&checkup.lines(palette, text::columns()).join("\n"))
        };
        Ok(if well { printed } else { Exit::Configuration.into() })
    }
}

impl Checkup {
    fn lines(&self, palette: Palette, columns: usize) -> Vec<String> {
        let names = self.checks.iter().map(|check| text::width(&check.name)).max().unwrap_or(0);
        let mut lines = Vec::new();
        for check in &self.checks {
            let sign = check.state.glyph().to_string();
            let sign = match check.state {
                State::Well => palette.good(&sign),
                State::Lacking => palette.warn(&sign),
                State::Broken => palette.bad(&sign),
            };
            let origin = check.origin.as_ref().map(|origin| format!(" (from {origin})")).unwrap_or_default();
            let indent = names + 4;
            let mut parts =
                text::wrap(&format!("{}{origin}", check.found), columns.saturating_sub(indent)).into_iter();
            lines.push(format!(
                "{sign} {}  {}",
                text::pad(&check.name, names),
                parts.next().unwrap_or_default()
            ));
            lines.extend(parts.map(|part| format!("{}{part}", " ".repeat(indent))));
            lines.extend(check.next.as_ref().map(|next| format!("{}next: {next}", " ".repeat(indent))));
        }
        lines
    }
}

fn store(settings: &Settings) -> Vec<Check> {
    let path = &settings.store.value;
    let shown = path.display().to_string();
    let mut checks = Vec::new();
    if !path.exists() {
        let found = format!("{shown} is not there yet; the first run makes it");
        checks
            .push(Check::new("store", State::Well, found).from(&settings.store.origin).next("redraft init"));
    } else {
        let looked = super::block_on(async {
            let Some(engine) = settings.look().await? else { return Ok(0) };
            Ok(engine.list(Query::default()).await?.len())
        });
        checks.push(match looked {
            Ok(runs) => {
                let size = size(path);
                let found =
                    format!("{shown}, {}, {size}; every step is flushed to disk", text::count(runs, "run"));
                Check::new("store", State::Well, found).from(&settings.store.origin)
            }
            Err(trouble) => {
                let next = match (&trouble.code, trouble.hint) {
                    (Some(code), _) => format!("redraft explain {code}"),
                    (None, hint) => hint.unwrap_or_else(|| "redraft --store FILE doctor".to_owned()),
                };
                let found = format!("{shown}: {}", trouble.message);
                Check::new("store", State::Broken, found).from(&settings.store.origin).next(next)
            }
        });
    }
    if !is_writable(path) {
        let folder = folder(path).display().to_string();
        checks.push(
            Check::new("folder", State::Broken, format!("{folder} cannot be written to"))
                .next("redraft --store FILE doctor"),
        );
    }
    checks
}

/// Returns the nearest folder above a file that is there.
fn folder(path: &Path) -> &Path {
    let mut folder = path.parent();
    while let Some(above) = folder.filter(|folder| !folder.as_os_str().is_empty()) {
        if above.exists() {
            return above;
        }
        folder = above.parent();
    }
    Path::new(".")
}

/// Asks without writing: a store that nobody used yet is not made by looking.
fn is_writable(path: &Path) -> bool {
    let read_only = |path: &Path| std::fs::metadata(path).is_ok_and(|known| known.permissions().readonly());
    !read_only(folder(path)) && !read_only(path)
}

fn size(path: &Path) -> String {
    let beside = |end: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        std::fs::metadata(name).map_or(0, |known| known.len())
    };
    let bytes = beside("") + beside("-wal");
    match bytes {
        0..1_048_576 => format!("{} KiB", bytes.div_ceil(1024)),
        _ => format!("{} MiB", bytes / 1_048_576),
    }
}

/// A key that is set is worth a line, and so is an address that somebody changed.
fn key(service: &Service) -> Option<Check> {
    let name = format!("{} key", service.name);
    let elsewhere = service.base_url_origin != "default";
    let at = if elsewhere {
        format!(", at {} from {}", service.base_url, service.base_url_origin)
    } else {
        String::new()
    };
    match service.key {
        KeyState::Set => {
            let masked = service.masked.as_deref().unwrap_or_default();
            let origin = service.key_origin.clone().unwrap_or_default();
            Some(Check::new(name, State::Well, format!("{masked}{at}")).from(origin))
        }
        KeyState::Missing if elsewhere => {
            let variable = service.key_variable.clone().unwrap_or_default();
            Some(
                Check::new(name, State::Lacking, format!("not set{at}")).next(format!("export {variable}=…")),
            )
        }
        _ => None,
    }
}

async fn reach_all(services: &[Service]) -> Vec<Check> {
    let mut checks = Vec::new();
    for service in services {
        let changed = service.base_url_origin != "default";
        if service.key != KeyState::Set && !changed {
            continue;
        }
        let name = format!("{} online", service.name);
        checks.push(match reach(&service.base_url).await {
            Ok(()) => Check::new(name, State::Well, format!("{} answers", service.base_url)),
            Err(why) => {
                Check::new(name, State::Broken, format!("{} cannot be reached: {why}", service.base_url))
                    .next("redraft doctor --online")
            }
        });
    }
    checks
}

/// Opens a connection and closes it again. Nothing is sent, so nothing is paid and no key leaves the machine.
async fn reach(url: &str) -> Result<(), String> {
    let (scheme, rest) = url.split_once("://").ok_or("the address has no scheme")?;
    let host = rest.split('/').next().unwrap_or_default();
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let address = match (has_port, scheme) {
        (true, _) => host.to_owned(),
        (false, "http") => format!("{host}:80"),
        (false, _) => format!("{host}:443"),
    };
    match tokio::time::timeout(REACH_WITHIN, tokio::net::TcpStream::connect(address)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no answer within {} s", REACH_WITHIN.as_secs())),
    }
}

fn local() -> Check {
    let weights = weights::look();
    let state = match weights.state {
        WeightsState::Present | WeightsState::NotFetched => State::Well,
        WeightsState::NotBuilt | WeightsState::Homeless => State::Lacking,
        WeightsState::Missing => State::Broken,
    };
    let check = Check::new("local model", state, weights.words());
    let check = if state == State::Broken { check.next("unset REDRAFT_LOCAL_MODEL") } else { check };
    match weights.origin {
        Some(origin) => check.from(origin),
        None => check,
    }
}

fn sandbox() -> Check {
    let support = Sandbox::available();
    match support.best() {
        Some(_) => {
            Check::new("sandbox", State::Well, format!("drafts that are programs are held by {support}"))
        }
        None => Check::new("sandbox", State::Lacking, format!("drafts cannot be run as programs: {support}"))
            .next("redraft explain sandbox-unavailable"),
    }
}

fn terminal(settings: &Settings) -> Check {
    let out = std::io::stdout();
    let kind = if out.is_terminal() { "a terminal" } else { "no terminal" };
    let colors = if settings.color.wanted(&out) { "colours" } else { "no colours" };
    Check::new("terminal", State::Well, format!("{kind}, {} columns, {colors}", text::columns()))
}

//! Claims of a draft, checked against given documents.
//!
//! One call lists the claims. Then each claim is held against the documents that speak most of it, by calls that see the
//! claim and the source and nothing else: whoever sees the draft is talked into it. A source's words count only if they
//! really stand in it.
//!
//! `passages` finds the part of a document that matters. Nothing here reads files.

mod passages;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use self::passages::{Indexed, Relevant};
use super::judge::answer::{choice, list, object, text};
use super::judge::{TRIES, fingerprints, sorted};
use super::quote::{self, count};
use super::undecided::{no_verdict, undecided};
use super::{Case, Cost, Error, Evidence, Finding, Severity, Verdict, Verifier, Verifying};
use crate::failure::Failure;
use crate::fingerprint::Fingerprint;
use crate::llm::{Model, OutputSchema, Prompts, Request, ask_shaped};
use crate::run::Ctx;

/// How many checks are made at the same time.
const AT_ONCE: usize = 8;

/// How many passages of a document are shown for a claim.
const PASSAGES: usize = 4;

/// How many documents each claim is checked against, unless said otherwise.
const SOURCES: u32 = 3;

/// What becomes of a claim that no document speaks of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Unmentioned {
    /// It is a major finding and counts against the score.
    #[default]
    Report,
    /// It is a blocking finding.
    Fail,
    /// It is as good as a supported one.
    Allow,
}

/// Checks the claims of a draft against documents.
///
/// A claim that a document contradicts is a blocking finding, with the document's own words. The score is the share of
/// the claims that are supported.
#[derive(Clone, Debug)]
pub struct Facts {
    model: Arc<dyn Model>,
    documents: Vec<Document>,
    unmentioned: Unmentioned,
    sources: u32,
    prompts: Prompts,
}

#[derive(Clone, Debug)]
struct Document {
    name: String,
    text: String,
    index: Indexed,
}

/// A check of facts as files describe it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FactsConfig {
    /// The alias of the model that lists and checks the claims.
    pub model: String,
    /// What the claims are checked against.
    pub documents: Vec<DocumentConfig>,
    /// What becomes of a claim that no document speaks of.
    #[serde(default)]
    pub unmentioned: Unmentioned,
    /// How many documents each claim is checked against: those that speak most of it.
    #[serde(default = "sources")]
    pub sources: u32,
}

/// A document as files describe it: a text, or a file that holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentConfig {
    /// What it is called by in findings; the file's name if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The file that holds its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

fn sources() -> u32 {
    SOURCES
}

#[derive(Clone, Debug, Deserialize)]
struct Claims {
    claims: Vec<Claim>,
}

#[derive(Clone, Debug, Deserialize)]
struct Claim {
    claim: String,
    quote: String,
}

#[derive(Clone, Debug, Deserialize)]
struct Check {
    verdict: Standing,
    quote: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Standing {
    Supported,
    Contradicted,
    Unmentioned,
}

impl Facts {
    /// Makes a check with a model; it needs a [`document`](Self::document).
    #[must_use]
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self {
            model,
            documents: Vec::new(),
            unmentioned: Unmentioned::default(),
            sources: SOURCES,
            prompts: Prompts::builtin(),
        }
    }

    /// Makes a check of what a file says. `model` is the one that its alias stands for, and `read` gives the text of a
    /// file.
    ///
    /// # Errors
    /// [`Error::Unusable`] if nothing could ever be checked, or what `read` says of a file.
    pub fn from_config<E: From<Error>>(
        config: FactsConfig,
        model: Arc<dyn Model>,
        prompts: Prompts,
        mut read: impl FnMut(&str) -> Result<String, E>,
    ) -> Result<Self, E> {
        let mut facts =
            Self::new(model).unmentioned(config.unmentioned).sources(config.sources).prompts(prompts);
        for document in config.documents {
            facts = match document {
                DocumentConfig { name: Some(name), text: Some(text), file: None } => {
                    facts.document(name, text)
                }
                DocumentConfig { name, text: None, file: Some(file) } => {
                    let text = read(&file)?;
                    facts.document(name.unwrap_or(file), text)
                }
                _ => {
                    let reason = "a document needs a `file`, or a `name` and a `text`".to_owned();
                    return Err(Error::Unusable { verifier: VERIFIER, reason }.into());
                }
            };
        }
        facts.check()?;
        Ok(facts)
    }

    /// Adds a document that claims are checked against.
    #[must_use]
    pub fn document(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let index = Indexed::new(&text);
        self.documents.push(Document { name: name.into(), text, index });
        self
    }

    /// Says what becomes of a claim that no document speaks of.
    #[must_use]
    pub fn unmentioned(mut self, unmentioned: Unmentioned) -> Self {
        self.unmentioned = unmentioned;
        self
    }

    /// Says how many documents each claim is checked against (3 unless said otherwise): those that speak most of it.
    #[must_use]
    pub fn sources(mut self, sources: u32) -> Self {
        self.sources = sources;
        self
    }

    /// Says with which prompts it asks: `claims` and `check-claim`.
    #[must_use]
    pub fn prompts(mut self, prompts: Prompts) -> Self {
        self.prompts = prompts;
        self
    }

    fn check(&self) -> Result<(), Error> {
        let unusable = |reason: String| Err(Error::Unusable { verifier: VERIFIER, reason });
        if self.documents.is_empty() {
            return unusable("it has no documents".to_owned());
        }
        if self.sources == 0 {
            return unusable("each claim is to be held against 0 documents; the least is 1".to_owned());
        }
        for (at, document) in self.documents.iter().enumerate() {
            if document.text.trim().is_empty() {
                return unusable(format!("the document `{}` is empty", document.name));
            }
            if self.documents.iter().take(at).any(|earlier| earlier.name == document.name) {
                return unusable(format!("two documents are called `{}`", document.name));
            }
        }
        Ok(())
    }

    async fn judged(&self, ctx: &Ctx, case: &Case) -> Result<Verdict, Failure> {
        self.check()?;
        let claims = self.claims(ctx, case).await?;
        if claims.is_empty() {
            return Ok(Verdict::pass().warning("the draft claims nothing that could be checked"));
        }
        let index: Vec<&Indexed> = self.documents.iter().map(|document| &document.index).collect();
        let pairs: Vec<(usize, &Claim, Relevant)> = claims
            .iter()
            .enumerate()
            .flat_map(|(at, claim)| {
                let found = passages::relevant(&index, &claim.claim, self.sources as usize, PASSAGES);
                found.into_iter().map(move |relevant| (at, claim, relevant))
            })
            .collect();
        let checks = ctx
            .parallel("checks", pairs, AT_ONCE, |ctx, (at, claim, relevant)| async move {
                let check = self.checked(&ctx, claim, &relevant).await?;
                Ok((at, relevant.document, check))
            })
            .await;
        let (checks, failures) = sorted(checks);
        if !failures.is_empty() {
            let message = format!("{} of the checks of claims gave nothing that can be used", failures.len());
            return Err(undecided(message, &failures));
        }
        Ok(self.verdict(&case.draft, &claims, &checks))
    }

    async fn claims(&self, ctx: &Ctx, case: &Case) -> Result<Vec<Claim>, Failure> {
        let values = json!({ "task": quote::inert(&case.task), "draft": quote::inert(&case.draft) });
        let request = Request::from(self.prompts.render("claims", values)?);
        let schema = object(Map::from_iter([(
            "claims".to_owned(),
            list(&object(Map::from_iter([
                ("claim".to_owned(), text("what is claimed, in one sentence that can be understood alone")),
                ("quote".to_owned(), text("the exact words of the text that claim it")),
            ]))),
        )]));
        let schema = OutputSchema { name: "claims".to_owned(), schema };
        let faults = |answer: &Claims| {
            let empty = answer.claims.iter().enumerate().filter(|(_, claim)| claim.claim.trim().is_empty());
            empty.map(|(at, _)| format!("at /claims/{at}/claim: it says nothing")).collect()
        };
        let answer = ask_shaped(ctx, "claims", &self.model, request, TRIES, schema, faults).await;
        Ok(answer.map_err(no_verdict)?.claims)
    }

    /// Holds one claim against one document. The draft is not there to be seen.
    async fn checked(&self, ctx: &Ctx, claim: &Claim, relevant: &Relevant) -> Result<Check, Failure> {
        let source = self.documents.get(relevant.document).map_or("", |document| document.text.as_str());
        let shown: Vec<&str> =
            relevant.passages.iter().filter_map(|bytes| source.get(bytes.clone())).collect();
        let document = quote::inert(&shown.join("\n[…]\n"));
        let values = json!({ "claim": quote::inert(&claim.claim), "document": document });
        let request = Request::from(self.prompts.render("check-claim", values)?);
        let schema = object(Map::from_iter([
            (
                "quote".to_owned(),
                text("the exact words of the source that decide it; empty if it does not say"),
            ),
            ("verdict".to_owned(), choice(&["supported", "contradicted", "unmentioned"])),
        ]));
        let schema = OutputSchema { name: "check".to_owned(), schema };
        let faults = |check: &Check| {
            let decides = check.verdict != Standing::Unmentioned;
            if decides && !shown.iter().any(|passage| quote::find(passage, &check.quote).is_some()) {
                vec!["at /quote: these words do not stand in the source; quote it exactly".to_owned()]
            } else {
                Vec::new()
            }
        };
        ask_shaped(ctx, "check", &self.model, request, TRIES, schema, faults).await.map_err(no_verdict)
    }

    fn verdict(&self, draft: &str, claims: &[Claim], checks: &[(usize, usize, Check)]) -> Verdict {
        let mut findings = Vec::new();
        let mut warnings = Vec::new();
        let mut good = 0;
        for (at, claim) in claims.iter().enumerate() {
            let first = |standing| {
                checks.iter().find(|(of, _, check)| *of == at && check.verdict == standing).map(
                    |(_, document, check)| {
                        let name = self.documents.get(*document).map_or("", |document| &document.name);
                        (name, check.quote.as_str())
                    },
                )
            };
            match (first(Standing::Contradicted), first(Standing::Supported)) {
                (Some((name, words)), supported) => {
                    if let Some((other, _)) = supported {
                        warnings.push(format!("`{name}` and `{other}` disagree on this: {}", claim.claim));
                    }
                    let finding =
                        Finding::new("contradicted", format!("`{name}` says otherwise: {}", claim.claim))
                            .evidence(format!("{name}: “{}”", words.trim()))
                            .suggest(format!("say what `{name}` says, or leave it out"));
                    findings.push(placed(finding, draft, claim));
                }
                (None, Some(_)) => good += 1,
                (None, None) if self.unmentioned == Unmentioned::Allow => good += 1,
                (None, None) => {
                    let severity = match self.unmentioned {
                        Unmentioned::Fail => Severity::Blocking,
                        Unmentioned::Report | Unmentioned::Allow => Severity::Major,
                    };
                    let finding =
                        Finding::new("unmentioned", format!("no document says this: {}", claim.claim))
                            .severity(severity)
                            .suggest("leave it out, or say only what the documents say");
                    findings.push(placed(finding, draft, claim));
                }
            }
        }
        let mut verdict = Verdict::of(findings).graded(count(good) / count(claims.len()));
        verdict.warnings = warnings;
        verdict
    }
}

const VERIFIER: &str = "check of facts";

/// Says where a claim stands, and makes it known by its words rather than by those of the document.
fn placed(finding: Finding, draft: &str, claim: &Claim) -> Finding {
    let finding = finding.about(quote::words(&claim.claim).into_iter().collect::<Vec<_>>().join(" "));
    match quote::find(draft, &claim.quote) {
        Some(bytes) => finding.span(draft, bytes),
        None => finding,
    }
}

impl Verifier for Facts {
    fn evidence(&self) -> Evidence {
        Evidence::Statistical
    }

    fn cost(&self) -> Cost {
        Cost::Model
    }

    fn describe(&self) -> Value {
        let documents: Vec<Value> = self
            .documents
            .iter()
            .map(|document| {
                let text = Fingerprint::of([document.text.as_bytes()]);
                json!({ "name": document.name, "text": text })
            })
            .collect();
        json!({
            "facts": {
                "model": self.model.name(),
                "documents": documents,
                "unmentioned": self.unmentioned,
                "sources": self.sources,
                "prompts": fingerprints(&self.prompts, &["claims", "check-claim"]),
            }
        })
    }

    fn demand(&self) -> String {
        let names: Vec<String> =
            self.documents.iter().map(|document| format!("`{}`", document.name)).collect();
        format!("only claims that the given documents support ({})", names.join(", "))
    }

    fn verify<'a>(&'a self, ctx: &'a Ctx, case: &'a Case) -> Verifying<'a> {
        Box::pin(self.judged(ctx, case))
    }
}

//! Writing drafts: the first one, and revisions of what was judged.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Refine;
use super::edits::{self, Edit, Edits};
use super::looping::{Plan, Progress};
use super::outcome::{How, Iteration};
use super::sections::{self, Part, Split};
use crate::failure::Failure;
use crate::llm::{Completion, Model, Request, ask, say};
use crate::run::Ctx;
use crate::verify::{Finding, FindingStatus};

/// How a draft is revised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Mode {
    /// All of it is written anew.
    #[default]
    Rewrite,
    /// By replacements that are tied to findings. Everything else is the same, byte for byte.
    Edits,
    /// The parts in which something was found are written anew, side by side. The others are the same, byte for byte.
    Sections,
    /// Everything from the first faulty part on is written anew. What is before it is verified and stays, and is never
    /// taken up again.
    Stepwise,
    /// The faulty steps of a chain of thought are written anew, and the answer is derived again.
    Thoughts,
    /// From the facts that a verification confirmed.
    Facts,
}

/// Which draft is revised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Origin {
    /// The best so far.
    #[default]
    Best,
    /// The last one, better or not.
    Last,
}

impl Mode {
    pub(super) fn prompt(self) -> &'static str {
        match self {
            Self::Rewrite => "revise",
            Self::Edits => "edits",
            Self::Sections | Self::Thoughts => "section",
            Self::Stepwise => "reasoning-revise",
            Self::Facts => "verification-rewrite",
        }
    }

    pub(super) fn how(self) -> How {
        match self {
            Self::Rewrite => How::Rewrite,
            Self::Edits => How::Edits,
            Self::Sections => How::Sections,
            Self::Stepwise => How::Stepwise,
            Self::Thoughts => How::Thoughts,
            Self::Facts => How::Facts,
        }
    }
}

/// A draft that nobody has judged yet.
pub(super) struct Made {
    pub(super) text: String,
    /// How many parts of it were verified before and stay.
    pub(super) frozen: u32,
}

/// How often edits that do not fit are asked for again.
const EDIT_ROUNDS: u32 = 3;
/// How many findings a reviser is told at once: more only confuse.
const MOST_FINDINGS: usize = 20;
/// How many failed tries a reviser is told of.
const MOST_FAILED: usize = 3;
/// How long an answer may be that is quoted as one that failed.
const SHORT: usize = 120;
/// How many parts are written at the same time.
const PARTS_AT_ONCE: usize = 4;

/// One writer at work on one draft.
pub(super) struct Writing<'a> {
    pub(super) refine: &'a Refine,
    pub(super) task: &'a str,
    pub(super) plan: &'a Plan,
    pub(super) progress: &'a Progress,
    /// Tells candidates apart, so that they do not all write the same.
    pub(super) seed: Option<u64>,
}

impl Writing<'_> {
    /// Writes what the plan asks for.
    pub(super) async fn write(&self, ctx: &Ctx) -> Result<Made, Failure> {
        let parent = self.plan.from.and_then(|n| self.progress.iteration(n));
        match (&self.plan.edited, parent) {
            (Some(text), _) => Ok(Made::whole(text.clone())),
            (None, None) => self.first(ctx).await,
            (None, Some(parent)) => match self.refine.mode {
                Mode::Rewrite => self.rewrite(ctx, parent).await,
                Mode::Edits => self.edit(ctx, parent).await,
                Mode::Sections => {
                    let text = self.rewrite_parts(ctx, parent, &parts_of(&parent.text)).await?;
                    Ok(Made::whole(text))
                }
                Mode::Thoughts => self.rethink(ctx, parent).await,
                Mode::Stepwise => self.go_on(ctx, parent).await,
                Mode::Facts => self.rewrite_from_facts(ctx, parent).await,
            },
        }
    }

    async fn first(&self, ctx: &Ctx) -> Result<Made, Failure> {
        let mut values = json!({ "task": self.task });
        if self.refine.opening == "draft" {
            values["criteria"] = json!(self.demands());
        }
        let request = self.request(self.refine.opening, &values)?;
        Ok(Made::whole(text_of(say(ctx, "draft", self.model(), &request).await?)))
    }

    async fn rewrite(&self, ctx: &Ctx, parent: &Iteration) -> Result<Made, Failure> {
        let request = self.request("revise", &self.brief(parent, &lines(parent.open())))?;
        Ok(Made::whole(text_of(say(ctx, "revise", self.model(), &request).await?)))
    }

    /// Asks for edits until they fit. Those that fitted in an earlier round are made too, unless a later one is about the
    /// same words: whoever is told what did not fit sends that again and no more.
    async fn edit(&self, ctx: &Ctx, parent: &Iteration) -> Result<Made, Failure> {
        let protected = edits::protected_spans(&parent.text, &self.refine.keep);
        let mut refusals: Vec<String> = Vec::new();
        let mut text = parent.text.clone();
        let mut fitting: Vec<Edit> = Vec::new();
        for _ in 0..EDIT_ROUNDS {
            let mut values = self.brief(parent, &lines(parent.open()));
            values["refusals"] = json!(refusals);
            let request = self.request("edits", &values)?;
            let mut wanted = match ask::<Edits>(ctx, "edits", self.model(), request, 2).await {
                Ok(wanted) => wanted.edits,
                // It cannot be brought to give edits: the draft stays, and the loop notices that it does.
                Err(failure) if failure.code == "model-malformed" => return Ok(Made::whole(text)),
                Err(failure) => return Err(failure),
            };
            let new = wanted.len();
            wanted.append(&mut fitting);
            let (applied, refused) = edits::apply_what_fits(&parent.text, &wanted, &protected);
            text = applied.text;
            refusals =
                refused.iter().filter(|refusal| refusal.edit <= new).map(ToString::to_string).collect();
            if refusals.is_empty() {
                break;
            }
            let fits = |edit: usize| !refused.iter().any(|refusal| refusal.edit == edit);
            fitting = (1..).zip(wanted).filter(|(at, _)| fits(*at)).map(|(_, edit)| edit).collect();
        }
        Ok(Made::whole(text))
    }

    /// Writes the parts anew in which something was found. If nobody can say where, all of it.
    async fn rewrite_parts(&self, ctx: &Ctx, parent: &Iteration, parts: &[Part]) -> Result<String, Failure> {
        let mut faulty: BTreeMap<usize, Vec<&Finding>> = BTreeMap::new();
        for finding in parent.open() {
            let at = finding.place.as_ref().and_then(|place| sections::which(parts, place, &parent.text));
            if let Some(at) = at {
                faulty.entry(at).or_default().push(finding);
            }
        }
        if faulty.is_empty() || parts.len() < 2 {
            return Ok(self.rewrite(ctx, parent).await?.text);
        }
        let written = ctx
            .try_parallel("parts", faulty, PARTS_AT_ONCE, |ctx, (at, findings)| {
                let part: &str = parts.get(at).map_or("", |part: &Part| part.of(&parent.text));
                let mut values = self.brief(parent, &lines(findings.into_iter()));
                values["part"] = json!(part);
                async move {
                    let request = self.request("section", &values)?;
                    Ok((at, text_of(say(&ctx, "section", self.model(), &request).await?)))
                }
            })
            .await?;
        // From the end, so that what is before keeps its place.
        Ok(written.into_iter().rev().fold(parent.text.clone(), |text, (at, new)| {
            sections::replace(&text, parts, at, &new).unwrap_or(text)
        }))
    }

    /// Writes the faulty steps anew and derives the answer from what the steps say now.
    async fn rethink(&self, ctx: &Ctx, parent: &Iteration) -> Result<Made, Failure> {
        let revised = self.rewrite_parts(ctx, parent, &sections::split(&parent.text, Split::Steps)).await?;
        let steps = without_answer(&revised);
        let request = self.request("derive-answer", &json!({ "task": self.task, "steps": steps }))?;
        let answer = text_of(say(ctx, "answer", self.model(), &request).await?);
        Ok(Made::whole(format!("{steps}\n{answer}")))
    }

    /// Keeps what is verified and writes on from the first faulty part.
    async fn go_on(&self, ctx: &Ctx, parent: &Iteration) -> Result<Made, Failure> {
        let parts = sections::split(&parent.text, Split::Steps);
        let at = |finding: &Finding| {
            finding.place.as_ref().and_then(|place| sections::which(&parts, place, &parent.text))
        };
        let first = parent.open().filter_map(at).min().unwrap_or(0);
        // What was frozen once is not taken up again, whatever is found in it later.
        let frozen = first.max(parent.frozen as usize).min(parts.len());
        let verified: String = parts.iter().take(frozen).map(|part| part.of(&parent.text)).collect();
        let about = parent.open().filter(|finding| at(finding).is_none_or(|at| at <= frozen));
        let fault = lines(about).join("\n");
        let values = json!({ "task": self.task, "verified": verified, "fault": fault });
        let request = self.request("reasoning-revise", &values)?;
        let new = text_of(say(ctx, "revise", self.model(), &request).await?);
        let text = if verified.is_empty() { new } else { format!("{}\n{new}", verified.trim_end()) };
        Ok(Made { text, frozen: u32::try_from(frozen).unwrap_or(u32::MAX) })
    }

    async fn rewrite_from_facts(&self, ctx: &Ctx, parent: &Iteration) -> Result<Made, Failure> {
        let mut facts = parent.strengths.clone();
        facts.extend(lines(parent.open()));
        let values = json!({ "task": self.task, "draft": parent.text, "facts": facts });
        let request = self.request("verification-rewrite", &values)?;
        Ok(Made::whole(text_of(say(ctx, "revise", self.model(), &request).await?)))
    }

    fn model(&self) -> &dyn Model {
        &*self.plan.model
    }

    fn demands(&self) -> Vec<String> {
        self.refine.criteria.iter().map(|criterion| criterion.verifier.demand()).collect()
    }

    fn request(&self, prompt: &str, values: &Value) -> Result<Request, Failure> {
        let rendered = self.refine.prompts.render(prompt, values)?;
        Ok(Request { seed: self.seed, ..Request::from(rendered) })
    }

    /// What every reviser is told.
    fn brief(&self, parent: &Iteration, findings: &[String]) -> Value {
        let failed: Vec<String> = self
            .progress
            .iterations
            .iter()
            .rev()
            // Of other chains too: an answer that was wrong once is wrong.
            .filter(|tried| tried.from == Some(parent.n) || tried.chain != parent.chain)
            .filter(|tried| !tried.beats(parent))
            .take(MOST_FAILED)
            .map(failed_try)
            .collect();
        json!({
            "task": self.task,
            "criteria": self.demands(),
            "draft": parent.text,
            "findings": findings,
            "strengths": parent.strengths,
            "lessons": self.progress.lessons,
            "failed": failed,
            "focus": self.plan.focus,
        })
    }
}

impl Made {
    fn whole(text: String) -> Self {
        Self { text, frozen: 0 }
    }
}

/// Takes the draft out of an answer. A fence around all of it is the model's habit, not a part of the draft, unless it
/// names a file.
fn text_of(completion: Completion) -> String {
    let text = completion.text.trim();
    let inside = || {
        let body = text.strip_prefix("```")?.strip_suffix("```")?;
        let (info, body) = body.split_once('\n')?;
        let names_a_file = info.contains(['.', '/', '=', ' ']);
        (!names_a_file && !body.contains("\n```")).then_some(body.trim_end_matches('\n'))
    };
    inside().unwrap_or(text).to_owned()
}

/// Takes the line off that holds the answer.
fn without_answer(text: &str) -> &str {
    let text = text.trim_end();
    let last = text.rfind('\n').map_or(0, |at| at + 1);
    let is_answer = text.get(last..).is_some_and(|line| line.to_lowercase().contains("answer:"));
    if is_answer { text.get(..last).unwrap_or(text).trim_end() } else { text }
}

fn parts_of(text: &str) -> Vec<Part> {
    let by_heading = sections::split(text, Split::Headings);
    if by_heading.len() > 1 { by_heading } else { sections::split(text, Split::Paragraphs) }
}

/// Findings as a reviser reads them: the weightiest first, with place, evidence, and what to do.
pub(super) fn lines<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<String> {
    let mut findings: Vec<&Finding> = findings.collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let mut lines: Vec<String> = findings.iter().take(MOST_FINDINGS).map(|finding| line(finding)).collect();
    if findings.len() > MOST_FINDINGS {
        lines.push(format!("and {} more of lesser weight", findings.len() - MOST_FINDINGS));
    }
    lines
}

fn line(finding: &Finding) -> String {
    let mut line = format!("[{}] {}: {finding}", finding.id, finding.verifier);
    if let Some(evidence) = &finding.evidence {
        line.push_str(&format!(" (“{}”)", evidence.trim()));
    }
    if let Some(suggestion) = &finding.suggestion {
        line.push_str(&format!(". What to do: {suggestion}"));
    }
    if finding.status == FindingStatus::Regressed {
        line.push_str(". It was fixed once; do not bring it back");
    }
    line
}

/// What is told of a try that was not better.
fn failed_try(tried: &Iteration) -> String {
    let new: Vec<&str> = tried
        .findings
        .iter()
        .filter(|finding| matches!(finding.status, FindingStatus::New | FindingStatus::Regressed))
        .map(|finding| finding.message.as_str())
        .take(3)
        .collect();
    let brought = if new.is_empty() { "what was wrong stayed wrong".to_owned() } else { new.join("; ") };
    // A short answer is named, so that it is not given again; of a long text what it did wrong says more.
    let answer = tried.text.trim();
    let named = if answer.chars().count() <= SHORT { format!(" “{answer}”") } else { String::new() };
    format!("a version{named} with score {:.2}: {brought}", tried.score)
}

/// The model that writes, and the ones that may take its place.
pub(super) fn writer(refine: &Refine, revising: bool, switched: usize) -> Arc<dyn Model> {
    let other = switched.checked_sub(1).and_then(|at| refine.others.get(at));
    let own = if revising { refine.reviser.as_ref().unwrap_or(&refine.author) } else { &refine.author };
    Arc::clone(other.unwrap_or(own))
}

//! The conversation itself.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::routing::{self, Target};
use super::{APPROVED, Agent, DONE, FeedbackLoop, Voice};
use crate::failure::Failure;
use crate::llm::{Completion, Message, Model, Request, say};
use crate::outcome::Stop;
use crate::refine::criterion::Judgement;
use crate::refine::{Best, How, Iteration, Opinion, Refined, Said, ledger, looping, making};
use crate::run::{Ctx, Step};
use crate::verify::{Case, Finding, Gate, Verdict};

/// How often an agent whose call of a tool cannot be used is asked again.
const TRIES: u32 = 3;

/// Lets the agents talk until a rule ends it, or the cap is reached.
pub(super) async fn talk(it: &FeedbackLoop, ctx: &Ctx, input: &Value) -> Result<Refined, Failure> {
    let frozen = json!({
        "rules": it.rules,
        "otherwise": it.otherwise,
        "criteria": it.criteria.iter().map(|criterion| criterion.describe()).collect::<Vec<_>>(),
    });
    let step = Step::named("criteria").input(&frozen);
    ctx.step(step, || async { Ok::<_, Failure>(frozen.clone()) }).await?;

    let mut talk =
        Talk { it, context: it.context.clone(), said: Vec::new(), iterations: Vec::new(), draft: None };
    let ended = match talk.go(ctx, input).await {
        Ok(ended) => ended,
        Err(failure) if failure.code == "budget-spent" => {
            Ended { stop: Stop::BudgetSpent, reason: "budget_spent".to_owned(), because: Some(failure) }
        }
        Err(failure) if failure.is_cancelled() => {
            Ended { stop: Stop::Cancelled, reason: "cancelled".to_owned(), because: None }
        }
        Err(failure) => return Err(failure),
    };
    Ok(talk.into_refined(ended, ctx.spent()))
}

struct Ended {
    stop: Stop,
    reason: String,
    because: Option<Failure>,
}

/// A conversation under way.
struct Talk<'a> {
    it: &'a FeedbackLoop,
    context: Map<String, Value>,
    said: Vec<Said>,
    /// The drafts that were reviewed.
    iterations: Vec<Iteration>,
    /// A draft that was not reviewed yet, and what the criteria say of it.
    draft: Option<(String, Judgement)>,
}

impl Talk<'_> {
    async fn go(&mut self, ctx: &Ctx, input: &Value) -> Result<Ended, Failure> {
        let mut speaker = self.it.agents.first().map(|agent| agent.name.clone()).unwrap_or_default();
        let time = self.it.limits.time;
        let began = if time.is_some() { ctx.elapsed().await } else { Duration::ZERO };
        for turn in 1..=self.it.max_turns {
            // A draft in the last turn could not be reviewed.
            let Some(agent) =
                self.it.named(&speaker).filter(|_| speaker != self.it.drafter || turn < self.it.max_turns)
            else {
                break;
            };
            let scope = ctx.group(&format!("turn-{turn}"));
            // Looked at before a draft is written, so that none is left without its review.
            if let Some(time) = time.filter(|_| speaker == self.it.drafter)
                && scope.elapsed().await.saturating_sub(began) >= time
            {
                return Ok(Ended { stop: Stop::TimeSpent, reason: "time_spent".to_owned(), because: None });
            }
            let said = self.turn(&scope, agent, input).await?;
            self.context.extend(said.sets.clone());
            self.said.push(said.clone());
            if speaker == self.it.drafter {
                if let Err(failure) = self.check_draft(&scope, &said.text).await {
                    // What the budget refused is dealt with where a refused turn is.
                    let Some(stop @ Stop::Undecidable) = looping::stop_of(&failure, true) else {
                        return Err(failure);
                    };
                    return Ok(Ended { stop, reason: "undecidable".to_owned(), because: Some(failure) });
                }
            } else if speaker == self.it.reviewer {
                self.review(&scope, &said).await?;
            }
            match routing::next(&self.it.rules, &self.it.otherwise, &said, &self.context) {
                Target::Agent(next) => speaker.clone_from(next),
                Target::Stay => {}
                Target::Terminate(reason) => {
                    let approved =
                        reason == APPROVED && self.iterations.last().is_some_and(|last| last.accepted);
                    let stop = if approved { Stop::Accepted } else { Stop::Rejected };
                    return Ok(Ended { stop, reason: reason.clone(), because: None });
                }
            }
        }
        Ok(Ended { stop: Stop::IterationsSpent, reason: self.it.cap_reason.clone(), because: None })
    }

    /// One turn: what is said and what it sets are one step, and so one act.
    async fn turn(&self, ctx: &Ctx, agent: &Agent, input: &Value) -> Result<Said, Failure> {
        match &agent.voice {
            Voice::Fixed(template) => {
                let text = template.render(input)?.trim().to_owned();
                let said = Said { speaker: agent.name.clone(), text, called: None, sets: Map::new() };
                let step = Step::named(agent.name.clone()).input(&said);
                ctx.step(step, || async { Ok::<_, Failure>(said.clone()) }).await
            }
            Voice::Model { model, system } => self.speak(ctx, agent, model, system).await,
        }
    }

    async fn speak(
        &self,
        ctx: &Ctx,
        agent: &Agent,
        model: &Arc<dyn Model>,
        system: &str,
    ) -> Result<Said, Failure> {
        let mut request = self.request(agent, system);
        let mut left = TRIES;
        loop {
            let completion = say(ctx, &agent.name, model, &request).await?;
            left -= 1;
            match self.understood(agent, &completion) {
                Ok(said) => return Ok(said),
                Err(trouble) if left > 0 => {
                    request = request
                        .message(Message::assistant(format!(
                            "(a call that cannot be used: {})",
                            completion.text
                        )))
                        .message(Message::user(format!("{trouble} Speak again.")));
                }
                Err(trouble) => {
                    return Err(Failure::terminal("model-malformed", format!("`{}`: {trouble}", agent.name)));
                }
            }
        }
    }

    /// Everybody hears everything; one's own words are the assistant's, all others' the user's.
    fn request(&self, agent: &Agent, system: &str) -> Request {
        let mut request = Request::new("").system(system);
        request.messages = self
            .said
            .iter()
            .map(|said| {
                if said.speaker == agent.name {
                    Message::assistant(said.text.clone())
                } else {
                    Message::user(format!("{}: {}", said.speaker, said.text))
                }
            })
            .collect();
        if agent.name == self.it.reviewer
            && let Some((_, judgement)) = &self.draft
            && !judgement.opinions.is_empty()
        {
            let found = making::lines(judgement.findings.iter());
            let words = if found.is_empty() {
                "Checked by program: every rule is met.".to_owned()
            } else {
                format!("Checked by program, and to be trusted:\n- {}", found.join("\n- "))
            };
            request.messages.push(Message::user(words));
        }
        request.tools = agent.tools.iter().map(|tool| tool.tool.clone()).collect();
        request
    }

    fn understood(&self, agent: &Agent, completion: &Completion) -> Result<Said, String> {
        let mut said = Said {
            speaker: agent.name.clone(),
            text: completion.text.trim().to_owned(),
            called: None,
            sets: Map::new(),
        };
        let Some(call) = completion.calls.first() else { return Ok(said) };
        let Some(tool) = agent.tools.iter().find(|tool| tool.tool.name == call.name) else {
            return Err(format!("There is no tool `{}`.", call.name));
        };
        let Some(reason) = call.arguments.get("reason").and_then(Value::as_str) else {
            return Err(format!("`{}` takes a `reason`, which is a text.", call.name));
        };
        if said.text.is_empty() {
            reason.clone_into(&mut said.text);
        }
        said.called = Some(call.name.clone());
        said.sets.insert(tool.key.clone(), tool.value.clone());
        Ok(said)
    }

    /// Checks a new draft by the criteria, before anybody reviews it.
    async fn check_draft(&mut self, ctx: &Ctx, text: &str) -> Result<(), Failure> {
        let mut said = Vec::new();
        for criterion in &self.it.criteria {
            let task = self.said.first().map(|first| first.text.clone()).unwrap_or_default();
            let case = Case::new(task, text);
            let verdict = criterion.verifier.verify(&ctx.group(&criterion.name), &case).await?;
            said.push((criterion, Some(verdict)));
        }
        self.draft = Some((text.to_owned(), Judgement::of(said)));
        Ok(())
    }

    /// Says whether a turn approves: by the tool of the source page, or because a rule ends the conversation so.
    fn is_approval(&self, said: &Said) -> bool {
        let ends = || routing::next(&self.it.rules, &self.it.otherwise, said, &self.context);
        said.sets.get(DONE) == Some(&Value::Bool(true))
            || (!said.sets.is_empty() && *ends() == Target::Terminate(APPROVED.to_owned()))
    }

    /// Turns a review into the verdict on the draft. An approval counts only if no gate is shut: fail closed.
    async fn review(&mut self, ctx: &Ctx, said: &Said) -> Result<(), Failure> {
        let Some((text, mut judgement)) = self.draft.take() else { return Ok(()) };
        let blocked = judgement.findings.iter().any(Finding::is_blocking);
        let gates_pass = judgement.gates == judgement.gates_passed && !blocked;
        let approves = self.is_approval(said);
        let approved = approves && gates_pass;
        if approves && !gates_pass {
            // The flag is taken back: the reviewer was told of the findings and approved all the same.
            self.context.retain(|key, _| !said.sets.contains_key(key));
            judgement
                .warnings
                .push("the reviewer approved a draft that fails a gate; it was not accepted".to_owned());
        }
        let name = &self.it.reviewer;
        if !approves {
            let finding = Finding::new("review", said.text.clone()).about(said.text.clone());
            judgement.findings.extend(Verdict::of([finding]).filed(name).findings);
        }
        let score = if approved { 1.0 } else { 0.0 };
        let gate = if approved { Gate::Pass } else { Gate::Fail };
        judgement.opinions.push(Opinion { verifier: name.clone(), score: Some(score), gate, spread: None });
        let scores: Vec<f64> = judgement.opinions.iter().filter_map(|opinion| opinion.score).collect();
        let n = u32::try_from(self.iterations.len() + 1).unwrap_or(u32::MAX);
        let from = n.checked_sub(1).filter(|n| *n > 0);
        let iteration = Iteration {
            n,
            score: scores.iter().sum::<f64>() / scores.len().max(1) as f64,
            accepted: approved,
            findings: ledger::compared(judgement.findings, &judgement.opinions, from, &self.iterations),
            text,
            verdicts: judgement.opinions,
            gates_passed: judgement.gates_passed + u32::from(approved),
            gates: judgement.gates + 1,
            how: if from.is_some() { How::Rewrite } else { How::Draft },
            by: self.it.drafter.clone(),
            from,
            chain: 1,
            repeats: None,
            frozen: 0,
            tactic: None,
            candidates: 1,
            strengths: judgement.strengths,
            warnings: judgement.warnings,
        };
        let step = Step::named("verdict").input(&n);
        let iteration = ctx.step(step, || async { Ok::<_, Failure>(iteration.clone()) }).await?;
        self.iterations.push(iteration);
        Ok(())
    }

    fn into_refined(self, ended: Ended, spend: crate::llm::Spend) -> Refined {
        let (mut repaired, mut damaged) = (0, 0);
        for pair in self.iterations.windows(2) {
            if let [before, after] = pair {
                repaired += u32::from(after.beats(before));
                damaged += u32::from(before.beats(after));
            }
        }
        // Without scores all rejected drafts are alike; the last one has heard the most.
        let best = self.iterations.iter().reduce(|best, next| if best.beats(next) { best } else { next });
        let best = best.map(|best| Best {
            iteration: best.n,
            score: best.score,
            text: best.text.clone(),
            findings: best.open().cloned().collect(),
        });
        let warnings = self.iterations.iter().flat_map(|iteration| iteration.warnings.clone()).collect();
        Refined {
            stop: ended.stop,
            best,
            iterations: self.iterations,
            spend,
            repaired,
            damaged,
            warnings,
            because: ended.because,
            closed: Some(ended.reason),
            transcript: self.said,
        }
    }
}

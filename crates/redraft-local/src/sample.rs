//! Chooses the next token: the likeliest, or one by chance among the likely.

use llguidance::toktrie::SimpleVob;

/// How much is left to chance if the request does not say.
const TEMPERATURE: f64 = 0.7;

/// The likeliest tokens that together have this much of the probability are chosen from.
const NUCLEUS: f64 = 0.95;

/// A token that is this many times less likely than the likeliest one is left out at once.
const FAINT: f64 = 1e-5;

pub(crate) struct Sampler {
    temperature: f64,
    chance: fastrand::Rng,
}

impl Sampler {
    /// Makes a sampler; without a seed, every one is different.
    pub(crate) fn new(temperature: Option<f64>, seed: Option<u64>) -> Self {
        let chance = seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        Self { temperature: temperature.unwrap_or(TEMPERATURE).max(0.0), chance }
    }

    /// Chooses among the allowed tokens; nothing if none is.
    pub(crate) fn choose(&mut self, scores: &[f32], allowed: Option<&SimpleVob>) -> Option<u32> {
        let may = |token: u32| allowed.is_none_or(|allowed| allowed.is_allowed(token));
        let candidates = (0_u32..).zip(scores).filter(|(token, score)| may(*token) && !score.is_nan());
        let (best, most) =
            candidates.clone().reduce(|best, next| if next.1 > best.1 { next } else { best })?;
        if self.temperature == 0.0 {
            return Some(best);
        }
        let likelihood = |score: f32| ((f64::from(score) - f64::from(*most)) / self.temperature).exp();
        let mut likely: Vec<(u32, f64)> = candidates
            .map(|(token, score)| (token, likelihood(*score)))
            .filter(|(_, likelihood)| *likelihood >= FAINT)
            .collect();
        // Equals in the order of their numbers: the choice must not depend on how they were sorted.
        likely.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let total: f64 = likely.iter().map(|(_, likelihood)| likelihood).sum();
        let mut kept = 0.0;
        let nucleus = likely
            .iter()
            .position(|(_, likelihood)| {
                kept += likelihood;
                kept >= NUCLEUS * total
            })
            .map_or(likely.len(), |last| last + 1);
        likely.truncate(nucleus);
        let kept: f64 = likely.iter().map(|(_, likelihood)| likelihood).sum();
        let mut point = self.chance.f64() * kept;
        for (token, likelihood) in &likely {
            point -= likelihood;
            if point < 0.0 {
                return Some(*token);
            }
        }
        likely.last().map(|(token, _)| *token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(temperature: f64, seed: u64, scores: &[f32]) -> Vec<u32> {
        let mut sampler = Sampler::new(Some(temperature), Some(seed));
        (0..50).filter_map(|_| sampler.choose(scores, None)).collect()
    }

    #[test]
    fn without_chance_the_likeliest_is_taken_and_the_first_among_equals() {
        assert!(drawn(0.0, 1, &[0.1, 3.0, 3.0, -1.0]).iter().all(|token| *token == 1));
    }

    #[test]
    fn a_seed_gives_the_same_choices_and_another_seed_others() {
        let scores = [1.0, 1.1, 0.9, 1.0];
        assert_eq!(drawn(1.0, 7, &scores), drawn(1.0, 7, &scores));
        assert_ne!(drawn(1.0, 7, &scores), drawn(1.0, 8, &scores));
    }

    #[test]
    fn what_is_unlikely_or_forbidden_is_never_chosen() {
        assert!(drawn(1.0, 3, &[10.0, 10.0, 0.0]).iter().all(|token| *token < 2));
        let mut allowed = SimpleVob::alloc(3);
        assert_eq!(Sampler::new(None, None).choose(&[1.0, 2.0, 3.0], Some(&allowed)), None);
        allowed.allow_token(0);
        assert_eq!(Sampler::new(None, None).choose(&[1.0, 2.0, 3.0], Some(&allowed)), Some(0));
        assert_eq!(Sampler::new(None, None).choose(&[f32::NAN], None), None);
    }
}

//! Synthetic laboratories with a known truth.
//!
//! Values are higher-is-better rates; effects are in logarithms.

use seekwell_stats::design::Design;
use seekwell_stats::rng::{Rng, seeded};

/// Noise of the stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// Coefficients of variation 1.5 to 5 %.
    Calm,
    /// A quarter of the stacks 8 to 15 %, the rest as calm.
    Fast17,
}

/// Further disturbances of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Normal noise, nothing else.
    None,
    /// Student's t with 3 degrees of freedom instead of normal noise.
    HeavyTails,
    /// One trial in ten falls into a mode 15 % slower.
    TwoModes,
    /// Every stack leaves the device slower or faster for the next trial, by N(0, 2 %).
    CarryOver,
    /// All three at once.
    All,
}

/// Sizes of the axes filesystem, scheduler, mount options, journal.
pub fn sizes(stacks: usize) -> [usize; 4] {
    match stacks {
        48 => [4, 3, 4, 1],
        72 => [6, 3, 4, 1],
        192 => [6, 4, 4, 2],
        480 => [6, 4, 10, 2],
        other => panic!("no matrix of {other} stacks is defined"),
    }
}

/// A laboratory: true effects, noise, and the state that trials change.
pub struct Lab {
    /// Axes of the stacks.
    pub design: Design,
    /// True log rate of every stack, the best is 0.
    pub truth: Vec<f64>,
    /// Standard deviation of a trial of every stack.
    pub spread: Vec<f64>,
    /// Effect of a stack on the next trial.
    carry: Vec<f64>,
    trouble: Trouble,
    drift_per_trial: f64,
    drift: f64,
    previous: Option<usize>,
    rng: Rng,
    /// Trials run so far.
    pub trials: usize,
}

impl Lab {
    /// The matrix of the founding simulation: filesystem effects -|N(0, `filesystem`)|,
    /// scheduler N(0, .03), mount options N(0, .04), journal N(0, .05), interactions N(0, .02),
    /// drift a random walk of N(0, .001) per trial.
    pub fn matrix(
        stacks: usize,
        noise: Noise,
        filesystem: f64,
        trouble: Trouble,
        seed: u64,
    ) -> Self {
        let mut rng = seeded(seed);
        let sizes = sizes(stacks);
        let design = Design::product(&sizes);
        let widths = [filesystem, 0.03, 0.04, 0.05];
        let mut effects: Vec<Vec<f64>> = Vec::new();
        for (axis, (size, width)) in sizes.iter().zip(widths).enumerate() {
            let draw = |rng: &mut Rng| {
                let value = width * rng.normal();
                if axis == 0 { -value.abs() } else { value }
            };
            effects.push((0..*size).map(|_| draw(&mut rng)).collect());
        }
        let mut truth: Vec<f64> = (0..stacks)
            .map(|stack| {
                let main: f64 = (0..4).map(|axis| effects[axis][design.level(stack, axis)]).sum();
                main + 0.02 * rng.normal()
            })
            .collect();
        let best = truth.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        truth.iter_mut().for_each(|value| *value -= best);
        let spread = (0..stacks).map(|_| noise.draw(&mut rng)).collect();
        let carry = (0..stacks).map(|_| 0.02 * rng.normal()).collect();
        Self {
            design,
            truth,
            spread,
            carry,
            trouble,
            drift_per_trial: 0.001,
            drift: 0.0,
            previous: None,
            rng,
            trials: 0,
        }
    }

    /// Stacks with the given true effects and one spread, no drift.
    pub fn plain(truth: &[f64], spread: f64, seed: u64) -> Self {
        Self {
            design: Design::unstructured(truth.len()),
            truth: truth.to_vec(),
            spread: vec![spread; truth.len()],
            carry: vec![0.0; truth.len()],
            trouble: Trouble::None,
            drift_per_trial: 0.0,
            drift: 0.0,
            previous: None,
            rng: seeded(seed),
            trials: 0,
        }
    }

    /// Runs one trial: a rate.
    pub fn trial(&mut self, stack: usize) -> f64 {
        self.drift += self.drift_per_trial * self.rng.normal();
        let mut log = self.truth[stack] + self.drift + self.noise(stack);
        if matches!(self.trouble, Trouble::CarryOver | Trouble::All) {
            log += self.previous.map_or(0.0, |previous| self.carry[previous]);
        }
        self.previous = Some(stack);
        self.trials += 1;
        log.exp()
    }

    fn noise(&mut self, stack: usize) -> f64 {
        let width = self.spread[stack];
        let mut noise = match self.trouble {
            Trouble::HeavyTails | Trouble::All => width * student_t3(&mut self.rng),
            _ => width * self.rng.normal(),
        };
        if matches!(self.trouble, Trouble::TwoModes | Trouble::All) {
            // Centred, so that the truth stays the mean.
            noise += 0.015 - if self.rng.uniform() < 0.1 { 0.15 } else { 0.0 };
        }
        noise
    }

    /// Runs one trial of each stack in the given order.
    pub fn round(&mut self, order: &[usize]) -> Vec<(usize, Option<f64>)> {
        order.iter().map(|&stack| (stack, Some(self.trial(stack)))).collect()
    }

    /// Share of the best rate that is lost by choosing a stack.
    pub fn loss(&self, stack: usize) -> f64 {
        -self.truth[stack].exp_m1()
    }
}

impl Noise {
    fn draw(self, rng: &mut Rng) -> f64 {
        let noisy = rng.uniform() < 0.25;
        match self {
            Self::Fast17 if noisy => rng.uniform_in(0.08, 0.15),
            _ => rng.uniform_in(0.015, 0.05),
        }
    }
}

/// Student's t with 3 degrees of freedom, scaled to variance 1.
fn student_t3(rng: &mut Rng) -> f64 {
    let squares: f64 = (0..3).map(|_| rng.normal().powi(2)).sum();
    rng.normal() / squares.sqrt()
}

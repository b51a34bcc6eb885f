//! The cost of each knob in each model, which the replies asked for.

use tickwright_threads::Dictionary;

use super::column::Column;
use super::lanes::Lane;
use super::model::{Knobs, Model};

/// The settings that are compared with each model's own settings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub(crate) guard: Vec<bool>,
    pub(crate) stack: Vec<usize>,
    pub(crate) cache: Vec<bool>,
    pub(crate) registry: Vec<Dictionary>,
}

/// The name of the lane of an unchanged model.
const AS_IT_IS: &str = "as it is";

impl Settings {
    /// The lanes of each model: the unchanged model, then one lane for each value of each knob.
    pub(crate) fn lanes(&self, models: &[Model], base: Knobs) -> Vec<Lane> {
        let word = |on: bool| if on { "on" } else { "off" };
        let mut settings = vec![(AS_IT_IS.to_owned(), base)];
        for &on in &self.guard {
            settings.push((format!("guard {}", word(on)), Knobs { guard: Some(on), ..base }));
        }
        for &bytes in &self.stack {
            settings.push((format!("stack {}k", bytes >> 10), Knobs { stack: Some(bytes), ..base }));
        }
        for &on in &self.cache {
            settings.push((format!("stack cache {}", word(on)), Knobs { cache: Some(on), ..base }));
        }
        for &dictionary in &self.registry {
            settings.push((format!("registry {dictionary}"), Knobs { registry: Some(dictionary), ..base }));
        }
        let mut lanes = Vec::new();
        for &model in models {
            let has = |knobs: &Knobs| knobs.cache.is_none() || model.has_cache();
            for (name, knobs) in settings.iter().filter(|(_, knobs)| has(knobs)) {
                lanes.push(Lane::new(name.as_str(), Column::Ours(model), *knobs));
            }
        }
        lanes
    }
}

/// The unchanged model, which is the reference of its settings.
pub(crate) fn own<'l>(lanes: &'l [Lane], lane: &Lane) -> Option<&'l Lane> {
    lanes.iter().find(|own| own.column == lane.column && own.name == AS_IT_IS)
}

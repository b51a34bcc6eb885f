//! What each knob costs in each model: the question of the replies.

use tickwright_threads::Dictionary;

use super::column::Column;
use super::lanes::Lane;
use super::model::{Knobs, Model};

/// Which settings are compared with a model's own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub(crate) guard: Vec<bool>,
    pub(crate) stack: Vec<usize>,
    pub(crate) cache: Vec<bool>,
    pub(crate) registry: Vec<Dictionary>,
}

/// The name of a model without a setting.
const AS_IT_IS: &str = "as it is";

impl Settings {
    /// Each model as it is, and with one knob at a time turned to each of its values.
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

/// A model as it is, for each of its settings.
pub(crate) fn own<'l>(lanes: &'l [Lane], lane: &Lane) -> Option<&'l Lane> {
    lanes.iter().find(|own| own.column == lane.column && own.name == AS_IT_IS)
}

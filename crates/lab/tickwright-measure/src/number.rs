//! Whole numbers with a range.

use serde::{Deserialize, Serialize};

/// A whole number from `LOW` to `HIGH`, in files and on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "i64", into = "u64")]
pub struct Within<const LOW: u64, const HIGH: u64>(u64);

impl<const LOW: u64, const HIGH: u64> Within<LOW, HIGH> {
    /// Returns the number.
    pub fn get(self) -> u64 {
        self.0
    }

    /// Parses `500`, `10_000`, `10k` or `1M`; a value parser for the command line.
    ///
    /// # Errors
    /// If the text is not a valid number. The message says what is wrong and states the range.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (digits, unit) = match text.strip_suffix(['k', 'K']) {
            Some(digits) => (digits, 1000),
            None => text.strip_suffix('M').map_or((text, 1), |digits| (digits, 1_000_000)),
        };
        let number = digits.replace('_', "").parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
        number
            .filter(|number| (LOW..=HIGH).contains(number))
            .map(Self)
            .ok_or_else(|| format!("'{text}' is not a whole number from {LOW} to {HIGH}"))
    }
}

impl<const LOW: u64, const HIGH: u64> TryFrom<i64> for Within<LOW, HIGH> {
    type Error = String;

    fn try_from(number: i64) -> Result<Self, String> {
        let found = u64::try_from(number).ok().filter(|number| (LOW..=HIGH).contains(number));
        found.map(Self).ok_or_else(|| format!("{number} is not a whole number from {LOW} to {HIGH}"))
    }
}

impl<const LOW: u64, const HIGH: u64> From<Within<LOW, HIGH>> for u64 {
    fn from(number: Within<LOW, HIGH>) -> u64 {
        number.0
    }
}

#[cfg(feature = "schema")]
impl<const LOW: u64, const HIGH: u64> schemars::JsonSchema for Within<LOW, HIGH> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Within{LOW}To{HIGH}").into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "integer", "minimum": LOW, "maximum": HIGH })
    }
}

/// The number of timers pending at once.
pub type Population = Within<1, 16_777_216>;
/// The number of operations in a sample.
pub type Operations = Within<1, 100_000_000>;
/// The least number of operations in a sample for each pending timer.
pub type PerTimer = Within<1, 100>;
/// The number of samples of each structure.
pub type Rounds = Within<1, 1000>;
/// The seed of all generated operations.
pub type Seed = Within<0, { i64::MAX as u64 }>;

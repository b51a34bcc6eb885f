//! Conclusions from the samples: a figure compared with a published figure or a bound, and the
//! verdict.

use serde::{Deserialize, Serialize};

use super::section::{Cell, Table};
use super::series::Labels;
use crate::format::Format;
use crate::stats::{Bound, CONFIDENCE, Summary, TIE, Verdict};

/// One conclusion of a run.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The subject of the finding, in words, such as `heap4 beside the fastest rival, n=10k`.
    pub about: String,
    /// The subject as labels, for programs.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// The published result, with its source if a reader needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// The result of this run, in words.
    pub here: String,
    /// The figure that `here` describes, in most cases a ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<Summary>,
    /// The bound that the figure should meet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    /// The verdict on the figure.
    pub verdict: Verdict,
    /// Whether the published claim was found here. Missing if the verdict already says this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
}

/// The answer to the question whether a published claim holds on this machine.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// The run shows what was published.
    Holds,
    /// The run shows the opposite.
    Fails,
    /// The run decides neither way.
    Open,
}

impl Claim {
    /// Returns the answer to the claim that one time was longer than another time. `verdict` is the
    /// verdict on the ratio of the two times.
    #[must_use]
    pub fn slower(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Slower => Self::Holds,
            Verdict::Faster => Self::Fails,
            _ => Self::Open,
        }
    }

    /// What [`words`](Self::words) mean, for every output that shows them.
    pub const MEANING: &'static str =
        "a published claim is a direction, such as which is faster; its size counts only where it is named";

    /// Returns the answer in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "the published claim holds",
            Self::Fails => "the published claim DOES NOT HOLD here",
            Self::Open => "the published claim cannot be told here",
        }
    }
}

impl Finding {
    /// Returns whether the published claim holds. Returns `None` if nothing was published, or if
    /// there was no claim that this run could decide.
    #[must_use]
    pub fn claim(&self) -> Option<Claim> {
        self.published.as_ref()?;
        self.claim.or(match self.verdict {
            Verdict::Held => Some(Claim::Holds),
            Verdict::Missed => Some(Claim::Fails),
            Verdict::NotShown | Verdict::NoDifferenceShown => Some(Claim::Open),
            Verdict::Faster | Verdict::Slower | Verdict::Stated => None,
        })
    }

    /// Returns the conclusion for a reader: whether the published claim holds, or else the verdict.
    /// Returns an empty text if there is no conclusion.
    #[must_use]
    pub fn conclusion(&self) -> &'static str {
        self.claim().map_or(self.verdict.words(), Claim::words)
    }

    /// Returns the published result, if there is one, and the result of this run with its
    /// conclusion: one line each.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let conclusion = self.conclusion();
        let is_said = conclusion.is_empty() || self.here.contains(conclusion);
        let conclusion = if is_said { String::new() } else { format!("; {conclusion}") };
        let published = self.published.iter().map(|words| format!("published: {words}"));
        published.chain([format!("here: {}{conclusion}", self.here)]).collect()
    }

    /// Creates a finding about a ratio of times. The verdict is faster, slower, or no difference
    /// shown.
    pub fn ratio(about: impl Into<String>, figure: Summary, here: impl Into<String>) -> Self {
        let verdict = Verdict::on(&figure);
        Self { figure: Some(figure), ..Self::stated(about, here) }.judged(verdict)
    }

    /// Creates a finding about a figure with a bound. The verdict is held, missed, or not shown.
    pub fn bounded(about: impl Into<String>, figure: Summary, bound: Bound) -> Self {
        let here = format!("{:.2}", figure.median);
        Self { figure: Some(figure), bound: Some(bound), ..Self::stated(about, here) }
            .judged(bound.judge(&figure))
    }

    /// Creates a finding about a figure without an error, such as a count, with a bound. `here` is
    /// the figure in words.
    pub fn counted(about: impl Into<String>, figure: f64, here: impl Into<String>, bound: Bound) -> Self {
        Self { bound: Some(bound), ..Self::stated(about, here) }.judged(bound.judge_exact(figure))
    }

    /// Creates a finding for a fact that no test decides.
    pub fn stated(about: impl Into<String>, here: impl Into<String>) -> Self {
        Self {
            about: about.into(),
            labels: Labels::new(),
            published: None,
            here: here.into(),
            figure: None,
            bound: None,
            verdict: Verdict::Stated,
            claim: None,
        }
    }

    /// Sets the verdict.
    #[must_use]
    pub fn judged(mut self, verdict: Verdict) -> Self {
        self.verdict = verdict;
        self
    }

    /// Adds the published result.
    #[must_use]
    pub fn published(mut self, words: impl Into<String>) -> Self {
        self.published = Some(words.into());
        self
    }

    /// Sets whether the published claim holds, for a finding whose verdict is about something else.
    #[must_use]
    pub fn claimed(mut self, claim: Claim) -> Self {
        self.claim = Some(claim);
        self
    }

    /// Sets the labels.
    #[must_use]
    pub fn labelled(mut self, labels: Labels) -> Self {
        self.labels = labels;
        self
    }
}

/// Returns findings as rows of a table: the published result, the figure with its interval, the
/// bound, and the verdict. The table has each of these columns if at least one finding has it.
/// `format` is the format of the figures.
#[must_use]
pub fn table(heading: &str, format: Format, findings: &[Finding]) -> Table {
    let bounded = findings.iter().any(|finding| finding.bound.is_some());
    let mut table = Table::new().column(heading, Format::Text);
    let published = findings.iter().any(|finding| finding.published.is_some());
    if published {
        table = table.column("published", Format::Text);
    }
    if bounded {
        table = table.column("limit", Format::Text);
    }
    let figures = findings.iter().any(|finding| finding.figure.is_some());
    if figures {
        table = table.columns(["figure", "from", "to"], format);
    }
    let words = findings.iter().any(|finding| finding.figure.is_none() || finding.bound.is_none());
    if words {
        table = table.column("here", Format::Text);
    }
    let mut table = table.column("verdict", Format::Text);
    for finding in findings {
        let figure = finding.figure;
        let interval = figure.map(|figure| figure.interval).filter(|interval| interval.coverage > 0.0);
        let mut row = vec![Cell::from(finding.about.as_str())];
        if published {
            row.push(finding.published.as_deref().unwrap_or_default().into());
        }
        if bounded {
            row.push(finding.bound.map_or(String::new(), |bound| bound.to_string()).into());
        }
        if figures {
            row.push(figure.map(|figure| figure.median).into());
            row.push(interval.map(|interval| interval.low).into());
            row.push(interval.map(|interval| interval.high).into());
        }
        if words {
            row.push(finding.here.as_str().into());
        }
        row.push(format!("{}{}", finding.verdict.words(), finding.why()).into());
        table.row(row);
    }
    table
}

impl Finding {
    /// Returns the reason why no difference is shown.
    fn why(&self) -> String {
        match &self.figure {
            Some(ratio) if self.verdict == Verdict::NoDifferenceShown => {
                if ratio.interval.coverage < CONFIDENCE {
                    " (too few rounds to show one)".into()
                } else if (1.0 / (1.0 + TIE)..1.0 + TIE).contains(&ratio.median) {
                    format!(" (under {:.0} %)", TIE * 100.0)
                } else {
                    " (the interval includes 1)".into()
                }
            }
            _ => String::new(),
        }
    }
}

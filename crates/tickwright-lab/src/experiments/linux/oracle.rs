//! What each way of re-arming must answer for one timer, from the geometry of Linux's wheel alone:
//! nothing of the library is used.

/// A way of re-arming.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Only an equal deadline matches.
    Equal,
    /// The same bucket matches, unless a timer armed anew would get a finer level.
    Bucket,
}

/// The delays at which levels begin: 63 buckets of the level below.
const STARTS: [u64; 9] = [0, 63, 504, 4032, 32_256, 258_048, 2_064_384, 16_515_072, 132_120_576];

/// Delays from here on are clamped in Linux; they are no part of the experiment.
pub(crate) const BEYOND: u64 = 63 << 24;

/// The level of a delay short of [`BEYOND`].
pub(crate) fn level(delay: u64) -> u32 {
    (0..9).rev().find(|&level| delay >= STARTS[level as usize]).unwrap_or(0)
}

/// The tick at which a timer of this level fires: the end of its granule.
pub(crate) fn end(deadline: u64, level: u32) -> u64 {
    ((deadline >> (3 * level)) + 1) << (3 * level)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Did {
    Match,
    Requeue,
    Start,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Model {
    /// Its deadline, and the level at which it was filed; none when it is not pending.
    armed: Option<(u64, u32)>,
}

impl Model {
    /// Arms it at `now` for `delay`. Its shard has been advanced to `now`.
    pub(crate) fn arm(&mut self, way: Way, now: u64, delay: u64) -> Did {
        let deadline = now + delay;
        let fresh = level(delay);
        let Some((old, filed)) = self.armed.filter(|&(old, filed)| end(old, filed) > now) else {
            self.armed = Some((deadline, fresh));
            return Did::Start;
        };
        let stays = match way {
            Way::Equal => old == deadline,
            Way::Bucket => end(old, filed) == end(deadline, filed) && fresh >= filed,
        };
        if stays {
            self.armed = Some((deadline, filed));
            Did::Match
        } else {
            self.armed = Some((deadline, fresh));
            Did::Requeue
        }
    }
}

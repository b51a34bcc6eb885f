//! The correct result of each way of re-arming, for one timer. The result follows only from the
//! geometry of Linux's wheel, and the oracle uses no code of the library.

/// A way of re-arming.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// A re-arm matches only if the deadline is equal.
    Equal,
    /// A re-arm matches if the bucket is the same, unless the new delay belongs to a finer level.
    Bucket,
}

/// The smallest delay of each level, which is 63 buckets of the level below.
const STARTS: [u64; 9] = [0, 63, 504, 4032, 32_256, 258_048, 2_064_384, 16_515_072, 132_120_576];

/// Linux clamps delays from this value on; the experiment excludes such delays.
pub(crate) const BEYOND: u64 = 63 << 24;

/// Returns the level of a delay below [`BEYOND`].
pub(crate) fn level(delay: u64) -> u32 {
    (0..9).rev().find(|&level| delay >= STARTS[level as usize]).unwrap_or(0)
}

/// Returns the tick at which a timer of this level fires: the end of its granule.
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
    /// The deadline and the level of the timer; `None` if the timer is not pending.
    armed: Option<(u64, u32)>,
}

impl Model {
    /// Arms the timer at `now` for `delay` ticks. The timer's shard must have advanced to `now`.
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

//! The recorder of a program's trace, and the recorders of its queues.

use core::cell::Cell;
use core::fmt;
use core::panic::Location;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tickwright_trace::{Event, Header, TraceError, What, Writer};

use crate::time::{Clock, Instant, SystemClock};

/// Writes one trace for all queues and threads of a program. Clones write to the same trace.
///
/// When the last clone and the last [`QueueRecorder`] are dropped, the remaining events are
/// written. Only [`finish`](Self::finish) returns errors.
#[derive(Clone)]
pub struct Recorder(Arc<Shared>);

struct Shared {
    /// The recorder's number. A thread stores it together with the thread's number in this trace,
    /// see `NUMBER`.
    id: u64,
    clock: Arc<dyn Clock>,
    start: Instant,
    trace: Mutex<Trace>,
}

struct Trace {
    /// `None` after `finish`.
    writer: Option<Writer<Box<dyn Write + Send>>>,
    /// The first error. After an error nothing more is recorded.
    error: Option<TraceError>,
    /// The number of each call site. The key has the address of the file's name, the line and the
    /// column.
    sites: HashMap<(usize, u32, u32), u32>,
    threads: u32,
    /// For each base (the entry of a named queue in the trace), how many queues use it.
    queues: [u32; 256],
    events: u64,
    lost: u64,
}

thread_local! {
    /// The number of the recorder to which this thread wrote last, and the thread's number in that
    /// trace.
    static NUMBER: Cell<(u64, u32)> = const { Cell::new((0, 0)) };
}

impl Recorder {
    /// Begins a trace of the program named `of`. Times are read from the monotonic clock.
    ///
    /// # Errors
    /// [`TraceError::Io`] if the header of the trace cannot be written.
    pub fn new(to: impl Write + Send + 'static, of: &str) -> Result<Self, TraceError> {
        Self::with_clock(to, of, SystemClock::default())
    }

    /// Like [`new`](Self::new), but times are read from `clock`. Pass the clock that the recorded
    /// schedulers use.
    ///
    /// # Errors
    /// The same as for [`new`](Self::new).
    pub fn with_clock(
        to: impl Write + Send + 'static,
        of: &str,
        clock: impl Clock + 'static,
    ) -> Result<Self, TraceError> {
        static RECORDERS: AtomicU64 = AtomicU64::new(1);
        let host = [("system", std::env::consts::OS), ("architecture", std::env::consts::ARCH)];
        let header = Header {
            of: of.into(),
            clock: "monotonic".into(),
            host: host.map(|(name, fact)| (name.into(), fact.into())).into(),
            unseen: vec!["timers of other libraries, and waits".into()],
            ..Header::of("wrapper")
        };
        let to: Box<dyn Write + Send> = Box::new(to);
        let writer = Some(Writer::new(to, &header)?);
        let (sites, start) = (HashMap::new(), clock.now());
        let trace = Trace { writer, error: None, sites, threads: 0, queues: [0; 256], events: 0, lost: 0 };
        let id = RECORDERS.fetch_add(1, Ordering::Relaxed);
        Ok(Self(Arc::new(Shared { id, clock: Arc::new(clock), start, trace: Mutex::new(trace) })))
    }

    /// Returns the recorder of one queue of the program. Its tick lasts `tick_ns` nanoseconds, or
    /// is unknown if `tick_ns` is 0. A second call with the same name returns a recorder of the
    /// same queue.
    ///
    /// # Errors
    /// [`TraceError::Unfit`] if the trace already has 256 queues, or after
    /// [`finish`](Self::finish). [`TraceError::Io`] if a write fails.
    pub fn queue(&self, name: &str, tick_ns: u64) -> Result<QueueRecorder, TraceError> {
        let mut trace = self.lock();
        let writer = trace.writer.as_mut().ok_or(TraceError::Unfit("the trace is finished"))?;
        let base = writer.base(name, tick_ns)?;
        Ok(QueueRecorder { recorder: self.clone(), base, tick_ns: tick_ns.max(1), mark: 0 })
    }

    /// Returns how many events were recorded.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.lock().events
    }

    /// Returns how many events were lost. Events are lost only after an error.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lock().lost
    }

    /// Writes all events so far, so that the file has them whatever happens to the program.
    ///
    /// # Errors
    /// The first error of this recorder. A reader can read what was written before the error.
    pub fn flush(&self) -> Result<(), TraceError> {
        let mut trace = self.lock();
        if let Some(error) = trace.error.take() {
            trace.writer = None;
            return Err(error);
        }
        trace.writer.as_mut().map_or(Ok(()), Writer::flush)
    }

    /// Ends the trace. Later events are not recorded. A second call does nothing.
    ///
    /// # Errors
    /// The first error of this recorder. A reader can read what was written before the error.
    pub fn finish(&self) -> Result<(), TraceError> {
        self.lock().finish()
    }

    fn lock(&self) -> MutexGuard<'_, Trace> {
        self.0.trace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the time in ns since the start of the trace.
    fn now(&self) -> i64 {
        self.since_start(self.0.clock.now())
    }

    fn since_start(&self, at: Instant) -> i64 {
        let difference = i128::from(at.as_nanos()) - i128::from(self.0.start.as_nanos());
        difference.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }
}

impl Trace {
    fn finish(&mut self) -> Result<(), TraceError> {
        if let Some(error) = self.error.take() {
            self.writer = None;
            return Err(error);
        }
        self.writer.take().map_or(Ok(()), |writer| writer.finish().map(|_| ()))
    }

    fn push(&mut self, event: Event, site: Option<&Location<'_>>, recorder: u64) {
        if self.error.is_some() {
            self.lost += 1;
            return;
        }
        let thread = self.thread(recorder);
        let site = site.map_or(Ok(0), |site| self.site(site));
        let Some(writer) = &mut self.writer else { return };
        let pushed = thread.and_then(|thread| Ok((thread, site?)));
        match pushed.and_then(|(thread, site)| writer.push(&Event { thread, site, ..event })) {
            Ok(()) => self.events += 1,
            Err(error) => (self.error, self.lost) = (Some(error), self.lost + 1),
        }
    }

    /// Returns the number of the calling thread in the trace.
    fn thread(&mut self, recorder: u64) -> Result<u32, TraceError> {
        let known = NUMBER.try_with(Cell::get).unwrap_or((0, 0));
        if known.0 == recorder {
            return Ok(known.1);
        }
        let Some(writer) = &mut self.writer else { return Ok(0) };
        self.threads += 1;
        let thread = std::thread::current();
        let number = writer.thread(&format!("{} #{}", thread.name().unwrap_or("thread"), self.threads))?;
        // A thread that is ending can no longer store its number, so it gets a new number at each
        // call.
        let _ = NUMBER.try_with(|cell| cell.set((recorder, number)));
        Ok(number)
    }

    fn site(&mut self, site: &Location<'_>) -> Result<u32, TraceError> {
        let key = (site.file().as_ptr().addr(), site.line(), site.column());
        if let Some(&number) = self.sites.get(&key) {
            return Ok(number);
        }
        let Some(writer) = &mut self.writer else { return Ok(0) };
        let number = writer.site(&format!("{}:{}", site.file(), site.line()))?;
        self.sites.insert(key, number);
        Ok(number)
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = self.finish();
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let trace = self.lock();
        f.debug_struct("Recorder")
            .field("events", &trace.events)
            .field("lost", &trace.lost)
            .finish_non_exhaustive()
    }
}

/// Records the events of one queue in the trace of a [`Recorder`]. The caller identifies each timer
/// by a number.
///
/// Each call records one event. The recorder does not check that the events are possible. A clone
/// records for the same queue, so if you record two queues through clones, give their timers
/// different numbers. [`Recorded`](super::Recorded) and
/// [`Settings::recorded`](crate::scheduler::Settings::recorded) distinguish the timers of their
/// queues automatically, also if they get clones of one recorder.
#[derive(Clone, Debug)]
pub struct QueueRecorder {
    recorder: Recorder,
    base: u8,
    tick_ns: u64,
    /// Combined with a timer's number, so that timers of several queues with the same base have
    /// different numbers.
    mark: u64,
}

impl QueueRecorder {
    /// Returns the recorder of one more queue with this base. Its timers have different numbers in
    /// the trace from the timers of the earlier queues, although two queues can use equal keys.
    pub(crate) fn of_new_queue(&self) -> Self {
        let number = {
            let queues = &mut self.recorder.lock().queues[usize::from(self.base)];
            core::mem::replace(queues, queues.wrapping_add(1))
        };
        // The mark of the first queue is 0, so its numbers do not change. The marks of the other
        // queues are far apart, because each is a multiple of 2^64 divided by the golden ratio. The
        // keys of live timers differ only in few bits, so the resulting numbers differ.
        Self { mark: u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15), ..self.clone() }
    }

    /// Returns the length of a tick in ns.
    #[must_use]
    pub fn tick_ns(&self) -> u64 {
        self.tick_ns
    }

    /// Records that an idle timer was armed, due in `ticks` ticks.
    #[track_caller]
    pub fn arm(&self, timer: u64, ticks: u64) {
        self.armed(timer, ticks, |deadline| What::Arm { deadline, period: 0 });
    }

    /// Records that a pending timer was moved, and is now due in `ticks` ticks.
    #[track_caller]
    pub fn rearm(&self, timer: u64, ticks: u64) {
        self.armed(timer, ticks, |deadline| What::Rearm { deadline, period: 0 });
    }

    /// Records that a pending timer was cancelled.
    #[track_caller]
    pub fn cancel(&self, timer: u64) {
        self.push(timer, Some(Location::caller()), |_| What::Cancel);
    }

    /// Records that a pending timer expired.
    pub fn fire(&self, timer: u64) {
        self.push(timer, None, |_| What::Fire);
    }

    #[track_caller]
    fn armed(&self, timer: u64, ticks: u64, what: impl FnOnce(i64) -> What) {
        let delay = i64::try_from(ticks.saturating_mul(self.tick_ns)).unwrap_or(i64::MAX);
        self.push(timer, Some(Location::caller()), |now| what(now.saturating_add(delay)));
    }

    /// Records an event that happened at the instant `at` of the recorder's clock.
    pub(crate) fn at(&self, timer: u64, at: Instant, what: impl FnOnce(i64) -> What) {
        let deadline = self.recorder.since_start(at);
        self.push(timer, None, |_| what(deadline));
    }

    fn push(&self, timer: u64, site: Option<&Location<'_>>, what: impl FnOnce(i64) -> What) {
        let mut trace = self.recorder.lock();
        // The clock is read under the lock, so the times of the events in the trace never decrease,
        // whichever threads record them.
        let now = self.recorder.now();
        let event = Event { base: self.base, ..Event::new(now, timer ^ self.mark, what(now)) };
        trace.push(event, site, self.recorder.0.id);
    }
}

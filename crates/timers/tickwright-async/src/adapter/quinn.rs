//! The adapter for quinn: a runtime that uses our timers, on top of the program's runtime.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Instant;

use quinn::{AsyncTimer, AsyncUdpSocket, Runtime};

use crate::sleep::Sleep;
use crate::timers::Timers;

/// A runtime for quinn that uses our timers. The sockets and tasks come from another runtime.
///
/// A QUIC connection moves its timer with nearly every packet, mostly to a later deadline. With our
/// timers, a move to a later deadline costs only one store.
///
/// ```no_run
/// # #[cfg(feature = "example-quic")] {
/// # use std::sync::Arc;
/// # use tickwright_async::{QuinnRuntime, Timers};
/// # fn endpoint(socket: std::net::UdpSocket) -> std::io::Result<quinn::Endpoint> {
/// let runtime = QuinnRuntime::new(quinn::TokioRuntime, Timers::new()?);
/// quinn::Endpoint::new(quinn::EndpointConfig::default(), None, socket, Arc::new(runtime))
/// # }
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct QuinnRuntime<R> {
    runtime: R,
    timers: Timers,
}

impl<R> QuinnRuntime<R> {
    /// Creates a runtime that takes its timers from `timers` and everything else from `runtime`.
    pub fn new(runtime: R, timers: Timers) -> Self {
        Self { runtime, timers }
    }
}

impl<R: Runtime> Runtime for QuinnRuntime<R> {
    fn new_timer(&self, deadline: Instant) -> Pin<Box<dyn AsyncTimer>> {
        Box::pin(self.timers.sleep_until(deadline))
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        self.runtime.spawn(future);
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        self.runtime.wrap_udp_socket(socket)
    }

    fn now(&self) -> Instant {
        self.timers.now()
    }
}

impl AsyncTimer for Sleep {
    fn reset(self: Pin<&mut Self>, deadline: Instant) {
        Self::reset(self.get_mut(), deadline);
    }

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Future::poll(self, cx)
    }
}

//! The messages between client and server.

use std::io;

/// A request from the client to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    /// Number of the round trip, from 1.
    pub(super) number: u64,
    /// Id of the called task.
    pub(super) target: u64,
    /// The token that the registry holds for the task.
    pub(super) token: u64,
}

/// The server's reply to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reply {
    /// Number of the request.
    pub(super) number: u64,
    /// The answer to the request, which only the called task can compute.
    pub(super) answer: u64,
}

/// Returns the token of a task: a mix of the bits of its id (the finalizer of SplitMix64).
#[inline]
pub(super) fn token(id: u64) -> u64 {
    let id = (id ^ (id >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let id = (id ^ (id >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    id ^ (id >> 31)
}

/// Returns the answer of the task `target`. The mix of bits differs from the token, so an echoed
/// request is not a valid answer.
#[inline]
fn answer(target: u64) -> u64 {
    token(target ^ 0x5bd1_e995_5bd1_e995)
}

/// The answer to a request with a wrong token.
const REFUSED: u64 = 0;

/// The client's side of a channel.
pub(super) trait Channel {
    /// Sends a request and waits for the reply. Returns an error if the server has ended.
    fn call(&mut self, request: Request) -> io::Result<Reply>;
}

/// The server's side of a channel.
pub(super) trait Port {
    /// Receives the next request; returns `None` when the client has hung up.
    fn receive(&mut self) -> io::Result<Option<Request>>;

    /// Sends the reply to the received request.
    fn answer(&mut self, reply: Reply) -> io::Result<()>;
}

/// Runs the server: verifies and answers requests until the client hangs up.
pub(super) fn serve(port: &mut dyn Port) -> io::Result<()> {
    while let Some(request) = port.receive()? {
        port.answer(reply_to(request))?;
    }
    Ok(())
}

#[inline]
fn reply_to(request: Request) -> Reply {
    let right = request.token == token(request.target);
    Reply { number: request.number, answer: if right { answer(request.target) } else { REFUSED } }
}

/// Returns the error message of a run that lost its server.
pub(super) fn lost(error: &io::Error) -> String {
    format!("the server cannot be reached: {error}")
}

/// Numbers the calls and verifies the answers.
pub(super) struct Client<'c> {
    channel: &'c mut dyn Channel,
    number: u64,
}

impl<'c> Client<'c> {
    pub(super) fn new(channel: &'c mut dyn Channel) -> Self {
        Self { channel, number: 0 }
    }

    /// Calls a task with the token from the registry. Returns an error if the answer is wrong or
    /// missing.
    #[inline]
    pub(super) fn call(&mut self, target: u64, token: u64) -> Result<(), String> {
        self.number += 1;
        let number = self.number;
        let reply = self.channel.call(Request { number, target, token }).map_err(|error| lost(&error))?;
        match reply.answer {
            _ if reply.number != number => {
                Err(format!("call {number} was answered with the number {}", reply.number))
            }
            REFUSED => Err(format!("the server refused what the registry gave for task {target}")),
            other if other != answer(target) => {
                Err(format!("task {target} answered {other:#x} instead of {:#x}", answer(target)))
            }
            _ => Ok(()),
        }
    }
}

/// A server in the client's own thread. This server is used for counting, not for timing.
#[derive(Debug)]
pub(super) struct Loopback;

impl Channel for Loopback {
    fn call(&mut self, request: Request) -> io::Result<Reply> {
        Ok(reply_to(request))
    }
}

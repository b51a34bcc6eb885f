//! What client and server say to each other, and over what.

use std::fs::File;
use std::io::{self, Read, Write};

use clap::ValueEnum;

/// How messages travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Transport {
    /// A mailbox in shared memory; a waiter sleeps on a futex
    Futex,
    /// Two pipes
    Pipe,
    /// A pair of Unix stream sockets
    Socket,
}

/// A call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    /// Of the round trip, from 1.
    pub(super) number: u64,
    /// The task called.
    pub(super) target: u64,
    /// What the registry has of it.
    pub(super) token: u64,
}

/// Its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reply {
    /// That of the request.
    pub(super) number: u64,
    /// What the task alone can say.
    pub(super) answer: u64,
}

/// What a registry must have of a task: a mix of its id's bits (the finaliser of SplitMix64).
#[inline]
pub(super) fn token(id: u64) -> u64 {
    let id = (id ^ (id >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let id = (id ^ (id >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    id ^ (id >> 31)
}

/// The answer of the task `target`: another mix, so that an echo is no answer.
#[inline]
fn answer(target: u64) -> u64 {
    token(target ^ 0x5bd1_e995_5bd1_e995)
}

/// The answer to a request with a wrong token.
const REFUSED: u64 = 0;

/// Where a client sends its calls.
pub(super) trait Channel {
    /// Calls, and waits for the answer; fails when the server is gone.
    fn call(&mut self, request: Request) -> io::Result<Reply>;
}

/// Where a server takes its requests from.
pub(super) trait Port {
    /// The next request; `None` when the client has hung up.
    fn receive(&mut self) -> io::Result<Option<Request>>;

    /// Answers it.
    fn answer(&mut self, reply: Reply) -> io::Result<()>;
}

/// The server: verifies and answers until the client hangs up.
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

/// Why a run is worth nothing, where a server was lost.
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

    /// Calls a task with what the registry has of it; fails for a wrong answer, or none.
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

/// A server in the client's own thread, for what is counted and not timed.
#[derive(Debug)]
pub(super) struct Loopback;

impl Channel for Loopback {
    fn call(&mut self, request: Request) -> io::Result<Reply> {
        Ok(reply_to(request))
    }
}

/// Pipes and sockets: whole messages, one `write` and one `read` each as a rule.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) input: File,
    pub(super) output: File,
}

fn pack<const N: usize, const BYTES: usize>(words: [u64; N]) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

fn unpack<const N: usize>(bytes: &[u8]) -> [u64; N] {
    let mut words = [0; N];
    for (word, chunk) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*chunk);
    }
    words
}

impl Channel for Stream {
    fn call(&mut self, request: Request) -> io::Result<Reply> {
        let Request { number, target, token } = request;
        self.output.write_all(&pack::<3, 24>([number, target, token]))?;
        let mut bytes = [0; 16];
        self.input.read_exact(&mut bytes)?;
        let [number, answer] = unpack(&bytes);
        Ok(Reply { number, answer })
    }
}

impl Port for Stream {
    fn receive(&mut self) -> io::Result<Option<Request>> {
        let mut bytes = [0; 24];
        match self.input.read_exact(&mut bytes) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        let [number, target, token] = unpack(&bytes);
        Ok(Some(Request { number, target, token }))
    }

    fn answer(&mut self, reply: Reply) -> io::Result<()> {
        self.output.write_all(&pack::<2, 16>([reply.number, reply.answer]))
    }
}

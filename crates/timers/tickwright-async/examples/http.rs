//! An HTTP server and a client that use our timers for their time-outs:
//!
//! ```text
//! cargo run -p tickwright-async --features hyper --example http
//! ```
//!
//! To use our timers, hyper needs only the line `.timer(timers.clone())`.

use core::convert::Infallible;
use core::error::Error;
use core::net::SocketAddr;
use core::time::Duration;
use std::io;
use std::time::Instant;

use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tickwright_async::Timers;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// How long the server waits for the head of a request, including the time between two requests.
const HEADER: Duration = Duration::from_secs(3);
/// How long a client waits for a response.
const ANSWER: Duration = Duration::from_secs(1);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let timers = Timers::new()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(serve(listener, timers.clone()));

    // All requests of this connection use one slot for their time-outs.
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let mut slot = timers.slot();
    for path in ["/", "/again", "/slow"] {
        // This waits because the connection's task possibly has not run yet, or is still reading
        // the last response.
        sender.ready().await?;
        let request = Request::get(path).header("host", "localhost").body(Empty::<Bytes>::new())?;
        match slot.timeout(ANSWER, sender.send_request(request)).await {
            Ok(answer) => {
                let body = answer?.into_body().collect().await?.to_bytes();
                assert_ne!(path, "/slow", "its answer takes longer than the client waits");
                println!("{path}: {}", String::from_utf8_lossy(&body));
            }
            Err(elapsed) => println!("{path}: {elapsed}"),
        }
    }

    // The first client is slow on purpose. The second client keeps its connection open, but sends
    // no second request.
    let slow = closed_after(address, "GET / HTTP/1.1\r\nhost:");
    let idle = closed_after(address, "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let (slow, idle) = tokio::try_join!(slow, idle)?;
    println!("half a head: closed after {slow:?}");
    println!("kept alive: closed after {idle:?}");
    assert!(slow >= HEADER && idle >= HEADER, "no time-out is early");

    print!("{}", timers.report());
    Ok(())
}

async fn serve(listener: TcpListener, timers: Timers) {
    while let Ok((stream, _)) = listener.accept().await {
        let sleeper = timers.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let timers = sleeper.clone();
            async move {
                if request.uri().path() == "/slow" {
                    timers.sleep(ANSWER * 60).await;
                }
                Ok::<_, Infallible>(Response::new(String::from("hello")))
            }
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(timers.clone())
            .header_read_timeout(HEADER)
            .serve_connection(TokioIo::new(stream), service);
        tokio::spawn(connection);
    }
}

/// Connects to the server, sends `sent`, and reads until the server closes the connection. Returns
/// how long this took.
async fn closed_after(server: SocketAddr, sent: &str) -> io::Result<Duration> {
    let start = Instant::now();
    let mut stream = TcpStream::connect(server).await?;
    stream.write_all(sent.as_bytes()).await?;
    stream.read_to_end(&mut Vec::new()).await?;
    Ok(start.elapsed())
}

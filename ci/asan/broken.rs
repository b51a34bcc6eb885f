//! Reads memory that was given back, on a stack that is a kernel thread's: what AddressSanitizer
//! must find before its silence elsewhere means anything.

fn main() {
    let read = std::thread::spawn(|| {
        let gone = Box::into_raw(Box::new(42_u32));
        // SAFETY: 1. Made above, and given back once.
        drop(unsafe { Box::from_raw(gone) });
        // SAFETY: none, which is the error.
        unsafe { std::hint::black_box(gone).read_volatile() }
    });
    println!("not found: {}", read.join().unwrap());
}

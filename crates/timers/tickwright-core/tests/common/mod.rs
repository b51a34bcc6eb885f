//! Code that the storage tests share.
#![allow(dead_code, unused_macros)]

/// Defines one module per test function, with one test for each family:
/// `for_each_family! { suite [a_test another] }`.
macro_rules! suite {
    ([$($test:ident)+] $($id:literal => $family:ty;)+) => {
        suite! { @all [$($test)+] [$($id => $family;)+] }
    };
    (@all [$($test:ident)+] $families:tt) => { $(suite! { @one $test $families })+ };
    (@one $test:ident [$($id:literal => $family:ty;)+]) => {
        mod $test {
            #[test]
            fn on_every_family() {
                $(
                    println!("{}", $id);
                    super::$test::<$family>();
                )+
            }
        }
    };
}

/// Returns the tick at which a timer for `deadline`, inserted at `now`, is due in this family. In
/// an exact family the result is `deadline`.
pub(crate) fn due<F: tickwright_core::Family>(now: u64, deadline: u64) -> u64 {
    use tickwright_core::SlabQueue;
    let mut queue = SlabQueue::<F, ()>::new();
    let _ = queue.insert_at(deadline, (), now);
    queue.next_expiry().unwrap_or(u64::MAX)
}

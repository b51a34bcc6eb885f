//! What the storage tests share.

/// One module per test function, with one test that runs it on every family: `for_each_family! { suite [a_test another] }`.
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

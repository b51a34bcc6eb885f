//! Error types whose text is one sentence.

/// Implements the text of an error: `error_texts! { TYPE: PATTERN => TEXT, ... }`, with the
/// patterns of a `match`.
macro_rules! error_texts {
    ($error:ident: $($case:pat => $text:expr),+ $(,)?) => {
        impl core::fmt::Display for $error {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(match self { $($case => $text),+ })
            }
        }

        impl core::error::Error for $error {}
    };
}

//! How a function of this library learns who called it.
//!
//! The exported symbol is one or two instructions: it loads the return address into the register of
//! the sixth argument and jumps. No recorded function has a sixth argument of its own.

/// Exports `$symbol`, which calls `$inner` with the return address as its sixth argument.
macro_rules! enter {
    ($($symbol:ident => $inner:ident;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $symbol() {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!("endbr64", "mov r9, [rsp]", "jmp {inner}", inner = sym $inner);
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!("hint #34", "mov x5, x30", "b {inner}", inner = sym $inner);
        }
    )*};
}

/// A placeholder for an argument that a function does not have.
pub(crate) type No = usize;

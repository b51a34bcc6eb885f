//! How a function of this library interposes a real function, and learns the address of its caller.
//!
//! The exported symbol is one or two instructions: it loads the return address into the register of
//! the sixth argument and jumps. No recorded function has a sixth argument.

/// Interposes functions. `fn $symbol(..; _ _)` has the arguments of the C header, followed by one
/// `_` for each argument that is missing from five. Within the block, `$site` is the return
/// address, and `$call` calls the real function with the caller's arguments.
macro_rules! hide {
    ($(
        fn $symbol:ident($($argument:ident: $type:ty),+ $(; $($pad:tt)+)?) $(-> $out:ty)?, $real:ident,
        |$site:ident, $call:ident| $body:block
    )+) => {$(
        const _: () = {
            unsafe extern "C-unwind" fn inner(
                $($argument: $type,)+ $($($pad: usize,)+)? $site: usize
            ) $(-> $out)? {
                let $call = || real!($real, $site, fn($($type),+) $(-> $out)?, $($argument),+);
                $body
            }

            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $symbol() {
                #[cfg(target_arch = "x86_64")]
                core::arch::naked_asm!("endbr64", "mov r9, [rsp]", "jmp {inner}", inner = sym inner);
                #[cfg(target_arch = "aarch64")]
                core::arch::naked_asm!("hint #34", "mov x5, x30", "b {inner}", inner = sym inner);
            }
        };
    )+};
}

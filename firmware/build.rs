//! Writes the memory map of the board that `TICKWRIGHT_BOARD` names, and passes the map's folder to
//! the linker.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-env-changed=TICKWRIGHT_BOARD");
    println!("cargo:rerun-if-changed=build.rs");
    let target = env::var("TARGET").unwrap_or_default();
    let riscv = target.starts_with("riscv32");
    if !riscv && !target.starts_with("thumb") {
        return;
    }
    let board = env::var("TICKWRIGHT_BOARD").unwrap_or_else(|_| if riscv { "virt" } else { "mps2" }.into());
    let (flash, ram) = match board.as_str() {
        // mps2-an385 (M3) and mps2-an386 (M4).
        "mps2" => ("ORIGIN = 0x00000000, LENGTH = 4M", "ORIGIN = 0x20000000, LENGTH = 4M"),
        // M0: an nRF51822.
        "microbit" => ("ORIGIN = 0x00000000, LENGTH = 256K", "ORIGIN = 0x20000000, LENGTH = 16K"),
        "virt" => ("ORIGIN = 0x80000000, LENGTH = 8M", "ORIGIN = 0x80800000, LENGTH = 4M"),
        _ => panic!("TICKWRIGHT_BOARD={board}: name mps2, microbit or virt"),
    };
    // Small boards have too little memory for the large wheels, and too little for all other
    // statics in one program. Therefore, `TICKWRIGHT_PART=wheels` selects the program with the
    // small wheels.
    println!("cargo:rerun-if-env-changed=TICKWRIGHT_PART");
    println!("cargo:rustc-check-cfg=cfg(small_board)");
    println!("cargo:rustc-check-cfg=cfg(part, values(\"wheels\"))");
    if board == "microbit" {
        println!("cargo:rustc-cfg=small_board");
    }
    if env::var("TICKWRIGHT_PART").is_ok_and(|part| part == "wheels") {
        println!("cargo:rustc-cfg=part=\"wheels\"");
    }
    // The structure that the program `size` contains.
    println!("cargo:rerun-if-env-changed=TICKWRIGHT_FAMILY");
    println!("cargo:rustc-check-cfg=cfg(family, values(any()))");
    println!("cargo:rustc-check-cfg=cfg(quiet_panic)");
    if env::var_os("TICKWRIGHT_FAMILY").is_some() {
        println!("cargo:rustc-cfg=quiet_panic");
    }
    let family = env::var("TICKWRIGHT_FAMILY").unwrap_or_else(|_| "none".into());
    println!("cargo:rustc-cfg=family=\"{family}\"");
    let mut script = format!("MEMORY {{\n  FLASH : {flash}\n  RAM : {ram}\n}}\n");
    if !riscv {
        // A stack that grows into the statics corrupts them without a fault.
        script += "ASSERT(_stack_start - __sheap >= 4096, \"less than 4 KiB are left for the stack\");\n";
    }
    if riscv {
        for (region, memory) in [
            ("TEXT", "FLASH"),
            ("RODATA", "FLASH"),
            ("DATA", "RAM"),
            ("BSS", "RAM"),
            ("HEAP", "RAM"),
            ("STACK", "RAM"),
        ] {
            script += &format!("REGION_ALIAS(\"REGION_{region}\", {memory});\n");
        }
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("memory.x"), script).expect("the memory map is written");
    // A program with its own vector table (`rtic`) has its own handler for each interrupt in that
    // table.
    fs::write(out.join("device.x"), "").expect("the list of default handlers is written");
    println!("cargo:rustc-link-search={}", out.display());
    if riscv {
        println!("cargo:rustc-link-arg-bins=-Tmemory.x");
    }
    println!("cargo:rustc-link-arg-bins=-Tlink.x");
}

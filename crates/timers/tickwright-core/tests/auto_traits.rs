//! Tests which types can be sent to other threads, shared with other threads, moved, and created in
//! constants. `compile_fail` examples in the documentation show what must *not* compile. The
//! negative asserts here cover cases in which an example cannot tell why the compiler rejects it.
#![cfg(feature = "alloc")] // the list of families names growing heaps

use core::cell::Cell;
use core::marker::PhantomPinned;
use std::rc::Rc;

use tickwright_collections::{Avl, BPlusDict, By, EntryKey, HookDict, Link, ObjectRef, SlabDict};
use tickwright_core::{Family, HookQueue, Timer, TimerRef, for_each_family, for_each_slab_only_family};

/// `Probe::<T>::SEND` is true if `T: Send`, because the inherent constant then has precedence over
/// the constant of the trait.
struct Probe<T>(core::marker::PhantomData<T>);
trait Otherwise {
    const SEND: bool = false;
    const SYNC: bool = false;
    const UNPIN: bool = false;
}
impl<T> Otherwise for Probe<T> {}
struct SendProbe<T>(core::marker::PhantomData<T>);
impl<T> Otherwise for SendProbe<T> {}
impl<T: Send> SendProbe<T> {
    const SEND: bool = true;
}
struct SyncProbe<T>(core::marker::PhantomData<T>);
impl<T> Otherwise for SyncProbe<T> {}
impl<T: Sync> SyncProbe<T> {
    const SYNC: bool = true;
}
impl<T: Unpin> Probe<T> {
    const UNPIN: bool = true;
}

macro_rules! auto {
    ($type:ty: $send:literal $sync:literal $unpin:literal) => {
        const _: () = assert!(SendProbe::<$type>::SEND == $send, "Send");
        const _: () = assert!(SyncProbe::<$type>::SYNC == $sync, "Sync");
        const _: () = assert!(Probe::<$type>::UNPIN == $unpin, "Unpin");
    };
}

macro_rules! suite {
    ([] $($id:literal => $family:ty;)+) => { $(const _: () = {
        type F = $family;
        //                                       Send  Sync  Unpin
        auto!(Timer<F, u32>:                     true  true  false);
        auto!(Timer<F, Cell<u32>>:               true  false false);
        auto!(Timer<F, Rc<u32>>:                 false false false);
        auto!(TimerRef<'static, F, u32>:         true  true  true);
        auto!(TimerRef<'static, F, Cell<u32>>:   false false true);
        auto!(HookQueue<'static, F, u32>:        true  true  true);
        auto!(HookQueue<'static, F, Cell<u32>>:  false false true);
        auto!(HookQueue<'static, F, Rc<u32>>:    false false true);
        auto!(HookQueue<'static, F, PhantomPinned>: true true true);

        const _: () = {
            use tickwright_core::SlabQueue;
            auto!(SlabQueue<F, u32>:             true  true  true);
            auto!(SlabQueue<F, Cell<u32>>:       true  false true);
            auto!(SlabQueue<F, Rc<u32>>:         false false true);
        };

        // Constant expressions can create a queue and a node, so both can be statics.
        static _NODE: Timer<F, u32> = Timer::new(1);
        static _QUEUE: std::sync::Mutex<HookQueue<'static, F, u32>> = std::sync::Mutex::new(HookQueue::new());
    };)+ };
}

for_each_family! { suite [] }

macro_rules! slab_suite {
    ([] $($id:literal => $family:ty;)+) => { $(const _: () = {
        use tickwright_core::SlabQueue;
        type F = $family;
        auto!(SlabQueue<F, u32>:             true  true  true);
        auto!(SlabQueue<F, Cell<u32>>:       true  false true);
        auto!(SlabQueue<F, Rc<u32>>:         false false true);
    };)+ };
}

for_each_slab_only_family! { slab_suite [] }

//                                               Send  Sync  Unpin
auto!(Link:                                      true  true  false);
auto!(Link<Avl>:                                 true  true  false);
auto!(ObjectRef<'static, Cell<u32>>:             false false true);
auto!(HookDict<'static, (), u32>:                true  true  true);
auto!(HookDict<'static, (), u32, Avl>:           true  true  true);
auto!(HookDict<'static, Cell<u32>, u32>:         true  false true);
auto!(HookDict<'static, Rc<u32>, u32>:           false false true);
auto!(HookDict<'static, (), Cell<u32>>:          false false true);
auto!(HookDict<'static, (), Rc<u32>>:            false false true);
auto!(SlabDict<(), u32>:                         true  true  true);
auto!(SlabDict<(), Cell<u32>>:                   true  false true);
auto!(SlabDict<Rc<u32>, u32>:                    false false true);
auto!(BPlusDict<By<fn(&u32) -> u32>, u32>:       true  true  true);
auto!(BPlusDict<By<fn(&Rc<u32>) -> u32>, Rc<u32>>: false false true);
auto!(EntryKey:                                  true  true  true);

static _LINK: Link = Link::new();
static _DICTIONARY: std::sync::Mutex<HookDict<'static, (), u32>> = std::sync::Mutex::new(HookDict::new(()));

/// Compiles only if `'a` and `T` are covariant, so that a queue or node with a longer lifetime can
/// be used where a shorter lifetime is expected.
#[allow(dead_code)]
fn covariant<'short, F: Family>(
    queue: HookQueue<'static, F, &'static str>,
    timer: &'static Timer<F, &'static str>,
) -> (HookQueue<'short, F, &'short str>, &'short Timer<F, &'short str>) {
    (queue, timer)
}

use super::*;

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, 8).unwrap()
}

/// Returns the number of spare blocks of the calling thread.
fn spares() -> usize {
    let (mut count, mut at) = (0, SPARES.get());
    while let Some(spare) = NonNull::new(at) {
        count += 1;
        // SAFETY: each block of the list begins with a `Spare`.
        at = unsafe { spare.read() }.next;
    }
    count
}

fn free(block: *mut u8, bytes: usize) {
    // SAFETY: the block is from this allocator.
    unsafe { Malloc.dealloc(block, layout(bytes)) };
}

#[test]
fn the_smallest_block_that_serves_is_taken_once() {
    covered(&[(1, 1000), (2, 100)], || {
        assert_eq!(spares(), 3);
        let small = [taken(layout(60)), taken(layout(100))];
        assert!(small.iter().all(|block| !block.is_null()));
        assert_ne!(small[0], small[1]);
        assert!(taken(layout(1001)).is_null());
        let large = taken(layout(60));
        assert!(!large.is_null(), "a larger block serves too");
        assert!(taken(layout(1)).is_null());
        assert_eq!(spares(), 0);
        for block in small {
            free(block, 100);
        }
        free(large, 60);
    })
    .unwrap();
    assert_eq!(spares(), 0);
}

#[test]
fn a_cover_within_a_cover_has_its_own_blocks() {
    covered(&[(2, 64)], || {
        covered(&[(1, 64)], || assert_eq!(spares(), 1)).unwrap();
        assert_eq!(spares(), 2);
    })
    .unwrap();
    assert_eq!(spares(), 0);
}

#[test]
fn a_panic_gives_the_blocks_back() {
    let panicked = std::panic::catch_unwind(|| covered(&[(2, 64)], || panic!("on purpose")).unwrap());
    assert!(panicked.is_err());
    assert_eq!(spares(), 0);
}

#[test]
fn alignment_beyond_malloc_is_served_by_no_spare_block() {
    covered(&[(1, 1000)], || {
        assert!(taken(Layout::from_size_align(64, 4 * ALIGNED).unwrap()).is_null());
    })
    .unwrap();
}

#[test]
fn memory_is_aligned_zeroed_and_kept_when_it_moves() {
    for align in [1, 2, 8, 16, 64, 4096] {
        for bytes in [1, 7, 16, 100, 5000] {
            let layout = Layout::from_size_align(bytes, align).unwrap();
            // SAFETY: the size is not 0.
            let block = unsafe { Malloc.alloc_zeroed(layout) };
            assert!(!block.is_null() && block.addr() % align == 0);
            // SAFETY: the block has that many bytes, and they are initialized.
            let contents = unsafe { core::slice::from_raw_parts_mut(block, bytes) };
            assert!(contents.iter().all(|byte| *byte == 0));
            contents.fill(7);
            // SAFETY: the block is from this allocator, with this layout.
            let moved = unsafe { Malloc.realloc(block, layout, bytes + 9000) };
            assert!(!moved.is_null() && moved.addr() % align == 0);
            // SAFETY: the block had at least that many bytes before.
            let contents = unsafe { core::slice::from_raw_parts(moved, bytes) };
            assert!(contents.iter().all(|byte| *byte == 7));
            // SAFETY: the block is from this allocator, with this alignment.
            unsafe { Malloc.dealloc(moved, Layout::from_size_align(bytes + 9000, align).unwrap()) };
        }
    }
}

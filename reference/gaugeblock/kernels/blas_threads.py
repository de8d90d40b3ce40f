"""IR text that divides calls of BLAS among the pool's threads.

    @NAME_blas_parts(library, work, grain) -> i64                  how many parts the work is worth
    @NAME_share_blas(library, part, context, parts, wide) -> i1    part(context, k) for every k < parts
    @NAME_leave_to_blas(library, wide)                             prepare for a call that BLAS divides itself

After a call the threads of OpenBLAS spin for tens of milliseconds, on processors that the pool's threads need. So
OpenBLAS uses one thread while the pool runs parts, and gets its own number of threads back when no call is left. `wide`
says that OpenBLAS would use several threads for the call.

`library` points to five addresses: the function of BLAS, OpenBLAS's functions that get and set its number of threads,
and those that allocate and free a buffer. Where the setter is null, or the pool has one thread, BLAS divides the work
itself.

OpenBLAS prefetches from its buffers. Prefetching from a page that was never written costs a walk of the page tables
each time, which in a virtual machine slowed products of 256 x 256 down to a quarter of the speed. So the pages are
written once, before the first wide call.
"""

from __future__ import annotations

from .code import Code

PARTS_OF_THREAD = 2
"""The most parts for each thread: a thread that is delayed leaves its second part to another."""
GET_SLOT, SET_SLOT, ALLOCATE_SLOT, FREE_SLOT = 1, 2, 3, 4
MOST_BUFFERS, BUFFER, PAGE = 64, 1 << 20, 4096
"""The most buffers whose pages are written, the bytes of each, and of a page."""
_STATE = "@single_lock @single_calls @written @single_before"


def text(name: str) -> str:
    """Return the functions of this module; @NAME_run and @NAME_rest are the pool's."""
    state = [f"{one} = internal global i64 0, align 64" for one in _STATE.split()]
    internal = [_forget(), _locked(), _write_buffers(), _single(), _several()]
    return "\n".join([*state, *internal, _parts(name), _leave(name), _share(name)])


def _forget() -> str:
    """@forget_blas: no call is left, as in a child process."""
    code = Code()
    for one in _STATE.split()[:3]:
        code.line(f"store atomic i64 0, ptr {one} release, align 8")
    return code.function("define internal void @forget_blas()", "  ret void")


def _locked() -> str:
    """@locked: wait until no other thread changes the number of BLAS's threads."""
    code = Code()
    again, done = code.label(), code.label()
    code.jump(again)
    code.begin(again)
    taken = code.register("cmpxchg ptr @single_lock, i64 0, i64 1 acq_rel monotonic, align 8")
    code.branch(code.register(f"extractvalue {{i64, i1}} {taken}, 1"), done, again)
    code.begin(done)
    return code.function("define internal void @locked()", "  ret void")


def _unlock(code: Code) -> None:
    code.line("store atomic i64 0, ptr @single_lock release, align 8")


def _write_buffers() -> str:
    """@write_buffers: write the pages of as many buffers as there are threads, unless that is done."""
    code = Code()
    allocate, free = (code.load("ptr", code.slot("%library", slot)) for slot in (ALLOCATE_SLOT, FREE_SLOT))
    code.leave(code.register(f"icmp eq ptr {free}, null"), "void")
    many = code.minimum(_threads(code), MOST_BUFFERS)
    written = code.register("load atomic i64, ptr @written acquire, align 8")
    code.leave(code.register(f"icmp sge i64 {written}, {many}"), "void")
    buffers = code.register(f"alloca [{MOST_BUFFERS} x ptr]")
    with code.loop(0, many) as k:
        buffer = code.register(f"call ptr {allocate}(i32 0)")
        code.store("ptr", buffer, code.slot(buffers, k))
        with code.when(code.register(f"icmp ne ptr {buffer}, null")), code.loop(0, BUFFER, PAGE) as place:
            code.line(f"store volatile i8 0, ptr {code.move(buffer, place)}")
    with code.loop(0, many) as k:
        buffer = code.load("ptr", code.slot(buffers, k))
        with code.when(code.register(f"icmp ne ptr {buffer}, null")):
            code.line(f"call void {free}(ptr {buffer})")
    code.line(f"store atomic i64 {many}, ptr @written release, align 8")
    return code.function("define internal void @write_buffers(ptr %library)", "  ret void")


def _left_to_blas(code: Code) -> str:
    """Return the i1 that is true where BLAS, not the pool, divides the work among threads."""
    unknown = code.register(f"icmp eq ptr {code.load('ptr', code.slot('%library', SET_SLOT))}, null")
    return code.register(f"or i1 {unknown}, {code.register(f'icmp sle i64 {_threads(code)}, 1')}")


def _threads(code: Code) -> str:
    return code.register("load atomic i64, ptr @threads acquire, align 8")


def _parts(name: str) -> str:
    code = Code()
    code.leave(_left_to_blas(code), "i64 1")
    most = code.register(f"mul i64 {_threads(code)}, {PARTS_OF_THREAD}")
    found = code.minimum(code.register("udiv i64 %work, %grain"), most)
    some = code.register(f"icmp sgt i64 {found}, 1")
    found = code.register(f"select i1 {some}, i64 {found}, i64 1")
    return code.function(f"define i64 @{name}_blas_parts(ptr %library, i64 %work, i64 %grain)", f"  ret i64 {found}")


def _single() -> str:
    """@single: let BLAS use one thread."""
    code = Code()
    code.line("call void @locked()")
    calls = code.load("i64", "@single_calls")
    code.store("i64", code.register(f"add i64 {calls}, 1"), "@single_calls")
    with code.when(code.register(f"icmp eq i64 {calls}, 0")):
        get, set = (code.load("ptr", code.slot("%library", slot)) for slot in (GET_SLOT, SET_SLOT))
        before = code.register(f"call i32 {get}()")
        code.store("i64", code.register(f"sext i32 {before} to i64"), "@single_before")
        with code.when(code.register(f"icmp ne i32 {before}, 1")):
            code.line(f"call void {set}(i32 1)")
    _unlock(code)
    return code.function("define internal void @single(ptr %library)", "  ret void")


def _several() -> str:
    """@several: let BLAS use as many threads as before, unless another call is left or somebody set their number."""
    code = Code()
    code.line("call void @locked()")
    calls = code.register(f"sub i64 {code.load('i64', '@single_calls')}, 1")
    code.store("i64", calls, "@single_calls")
    with code.when(code.register(f"icmp eq i64 {calls}, 0")):
        get, set = (code.load("ptr", code.slot("%library", slot)) for slot in (GET_SLOT, SET_SLOT))
        before = code.register(f"trunc i64 {code.load('i64', '@single_before')} to i32")
        still = code.register(f"icmp eq i32 {code.register(f'call i32 {get}()')}, 1")
        changed = code.register(f"icmp ne i32 {before}, 1")
        with code.when(code.register(f"and i1 {still}, {changed}")):
            code.line(f"call void {set}(i32 {before})")
    _unlock(code)
    return code.function("define internal void @several(ptr %library)", "  ret void")


def _leave(name: str) -> str:
    code = Code()
    with code.when("%wide"):
        code.line("call void @write_buffers(ptr %library)")
    code.line(f"call void @{name}_rest()")
    return code.function(f"define void @{name}_leave_to_blas(ptr %library, i1 %wide)", "  ret void")


def _share(name: str) -> str:
    code = Code()
    code.line("call void @begin()")
    left = _left_to_blas(code)
    with code.when(code.register(f"and i1 %wide, {left}")):
        code.line(f"call void @{name}_leave_to_blas(ptr %library, i1 true)")
    held = code.register(f"and i1 %wide, {code.register(f'xor i1 {left}, true')}")
    with code.when(held):
        code.line("call void @write_buffers(ptr %library)")
        code.line("call void @single(ptr %library)")
    failed = code.register(f"call i1 @{name}_run(ptr %part, ptr %context, i64 %parts)")
    with code.when(held):
        code.line("call void @several(ptr %library)")
    arguments = "ptr %library, ptr %part, ptr %context, i64 %parts, i1 %wide"
    return code.function(f"define i1 @{name}_share_blas({arguments})", f"  ret i1 {failed}")

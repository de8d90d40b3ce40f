"""The pool of native threads that large loops are shared out to: made on demand, kept, never holding Python's lock.

    @NAME_run(part, context, count) -> i1     part(context, k) for every k < count, each once; whether any failed
    @NAME_rest()                              idle workers sleep at once, for another library's threads to have room

The caller looks every tenth of a second for signals, and for an exception that another thread sent to it, as away()
does to stop a call. When a handler raises (Ctrl-C), or one was sent, parts that nobody has begun are left out, the
exception is pending, and the result is true; whatever else that thread shares out before its next @begin is left out.

The caller works too, taking one part after another as the others do, so that a thread that wakes late costs nothing.
One job runs at a time: a second caller meanwhile does its parts alone, as does everybody inside a worker.
"""

from __future__ import annotations

import os

from .code import Code
from .entry import python_api
from .isa import machine
from .parallel import SPINS

_PAUSES = {"x86": "void @llvm.x86.sse2.pause()", "arm": "void @llvm.aarch64.hint(i32 1)"}
"""Call of the instruction that tells the processor of a waiting loop."""
_FAMILIES = {"x86_64": "x86", "amd64": "x86", "aarch64": "arm", "arm64": "arm"}


SIGNALS = 100_000_000
"""Nanoseconds from one look for signals to the next."""
NO_PART = 1 << 62
"""The number of the next part once the caller has left."""
_CLOCK = 6
"""The clock that is cheapest to read: on Linux CLOCK_MONOTONIC_COARSE, on macOS CLOCK_MONOTONIC."""
_STATE = {
    "[128 x i8]": "mutex wake", "ptr": "look stopped_thread part context",
    "i64": "workers busy open running job next fault count spins patience",
}  # fmt: skip
"""The pool's variables by type, all zero at first; `threads` is 1."""
_PTHREAD = {"mutex_init": 2, "mutex_lock": 1, "mutex_unlock": 1, "cond_init": 2, "cond_wait": 2, "cond_broadcast": 1,
            "create": 4, "detach": 1}  # fmt: skip
"""Functions of POSIX threads and their numbers of arguments."""
_THREAD = "call ptr @PyGILState_GetThisThreadState()"
_JOB = "ptr %part, ptr %context, i64 %count"


class _PoolCode(Code):
    """Instructions on variables that threads share."""

    def acquired(self, place: str, type: str = "i64") -> str:
        """Load what another thread has released."""
        return self.register(f"load atomic {type}, ptr {place} acquire, align 8")

    def release(self, value: str | int, place: str, type: str = "i64") -> None:
        """Store what other threads acquire."""
        self.line(f"store atomic {type} {value}, ptr {place} release, align 8")

    def mark(self) -> str:
        """Begin a block to jump back to."""
        label = self.label()
        self.jump(label)
        self.begin(label)
        return label

    def no_more(self, next: str, fault: str) -> None:
        """Leave out the parts that nobody has begun."""
        self.release(NO_PART, next)
        self.release(1, fault)


def text(name: str) -> str:
    """LLVM IR of the pool; where there are no POSIX threads the caller does all parts."""
    declared = [f"declare i32 @pthread_{one}({', '.join(['ptr'] * count)})" for one, count in _PTHREAD.items()]
    for type, names in _STATE.items():
        declared += [f"@{one} = internal global {type} zeroinitializer, align 64" for one in names.split()]
    pause = _PAUSES.get(_FAMILIES.get(machine(), ""), "")
    declared += [f"declare {pause.replace('i32 1', 'i32')}", "declare i32 @clock_gettime(i32, ptr)"]
    declared += ["declare i32 @sched_yield()", "@threads = internal global i64 1, align 64"]
    several = os.name == "posix"
    let_look = f"define void @{name}_let_look(ptr %look) {{\n  store ptr %look, ptr @look\n  ret void\n}}"
    rest = f"define internal void @{name}_rest() {{\n  store atomic i64 0, ptr @spins release, align 8\n  ret void\n}}"
    functions = [let_look, rest, _is_stopped(), _begin(), _clock(), _interrupted(), _raised(), _work(), _alone()]
    functions += [_stopped(several), _set(name, several), _forget(name, several), _run(name, pause, several)]
    functions += [_worker(pause)] if several else []
    kept = declared if several else [one for one in declared if "pthread" not in one and "sched" not in one]
    return python_api("\n".join([*(one for one in kept if one != "declare "), *functions]))


def _is_stopped() -> str:
    """@is_stopped: whether this thread was told to leave parts out."""
    code = _PoolCode()
    thread = code.register(_THREAD)
    same = code.register(f"icmp eq ptr {thread}, {code.acquired('@stopped_thread', 'ptr')}")
    both = code.register(f"and i1 {same}, {code.register(f'icmp ne ptr {thread}, null')}")
    return code.function("define internal i1 @is_stopped()", f"  ret i1 {both}")


def _begin() -> str:
    code = _PoolCode()
    with code.when(code.register("call i1 @is_stopped()")):
        code.release("null", "@stopped_thread", "ptr")
    return code.function("define internal void @begin()", "  ret void")


def _clock() -> str:
    code = Code()
    place = code.register("alloca [2 x i64]")
    code.register(f"call i32 @clock_gettime(i32 {_CLOCK}, ptr {place})")
    whole = code.register(f"mul i64 {code.load('i64', place)}, 1000000000")
    now = code.register(f"add i64 {whole}, {code.load('i64', code.slot(place, 1))}")
    return code.function("define internal i64 @clock()", f"  ret i64 {now}")


def _interrupted() -> str:
    """@interrupted(since): whether this thread is to leave parts out, for which it looks now and then."""
    code = _PoolCode()
    raised = code.register("alloca i1")
    code.leave(code.register("call i1 @is_stopped()"), "i1 true")
    now = code.register("call i64 @clock()")
    gone = code.register(f"sub i64 {now}, {code.load('i64', '%since')}")
    code.leave(code.register(f"icmp slt i64 {gone}, {SIGNALS}"), "i1 false")
    code.store("i64", now, "%since")
    state = code.register("call i32 @PyGILState_Ensure()")
    handled = code.register("call i32 @PyErr_CheckSignals()")
    code.store("i1", code.register(f"icmp ne i32 {handled}, 0"), raised, 1)
    function = code.load("ptr", "@look")
    calm, given = code.register(f"icmp eq i32 {handled}, 0"), code.register(f"icmp ne ptr {function}, null")
    with code.when(code.register(f"and i1 {calm}, {given}")):
        result = code.register(f"call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr {function}, ptr null)")
        code.store("i1", code.register(f"icmp eq ptr {result}, null"), raised, 1)
        code.line(f"call void @Py_DecRef(ptr {result})")
    stop = code.load("i1", raised, 1)
    with code.when(stop):
        code.release(code.register(_THREAD), "@stopped_thread", "ptr")
    code.line(f"call void @PyGILState_Release(i32 {state})")
    return code.function("define internal i1 @interrupted(ptr %since)", f"  ret i1 {stop}")


def _raised() -> str:
    """@raised: whether an exception is pending in this thread, if it is one of Python's."""
    code = _PoolCode()
    code.leave(code.register(f"icmp eq ptr {code.register(_THREAD)}, null"), "i1 false")
    state = code.register("call i32 @PyGILState_Ensure()")
    found = code.register(f"icmp ne ptr {code.register('call ptr @PyErr_Occurred()')}, null")
    code.line(f"call void @PyGILState_Release(i32 {state})")
    return code.function("define internal i1 @raised()", f"  ret i1 {found}")


def _work() -> str:
    """@work: parts, one after another, as long as there are more."""
    code = _PoolCode()
    left = code.register("alloca i1")
    since = code.variable("i64", code.register("call i64 @clock()"))
    take = code.mark()
    k = code.register("atomicrmw add ptr %next, i64 1 acq_rel, align 8")
    code.leave(code.register(f"icmp sge i64 {k}, %count"), "void")
    code.store("i1", "false", left, 1)
    with code.when(code.register(f"call i1 %part(ptr %context, i64 {k})")):
        code.release(1, "%fault")
        code.store("i1", code.register("call i1 @raised()"), left, 1)
    with code.when(code.register(f"xor i1 {code.load('i1', left, 1)}, true")):
        code.store("i1", code.register(f"call i1 @stopped(ptr {since})"), left, 1)
    with code.ending(code.load("i1", left, 1)):
        code.no_more("%next", "%fault")
        code.line("ret void")
    code.jump(take)
    return code.function(f"define internal void @work({_JOB}, ptr %next, ptr %fault)")


def _alone() -> str:
    code = Code()
    next, fault = code.variable("i64", 0), code.variable("i64", 0)
    code.line(f"call void @work({_JOB}, ptr {next}, ptr {fault})")
    any = code.register(f"icmp ne i64 {code.load('i64', fault)}, 0")
    return code.function(f"define internal i1 @alone({_JOB})", f"  ret i1 {any}")


def _stopped(several: bool) -> str:
    """@stopped(since): whether to leave the parts that are not begun; a worker does once the caller has."""
    code = _PoolCode()
    if several:
        with code.ending(code.register(f"icmp eq ptr {code.register(_THREAD)}, null")):
            gone = code.register(f"icmp sge i64 {code.acquired('@next')}, {NO_PART}")
            code.line(f"ret i1 {gone}")
    stop = code.register("call i1 @interrupted(ptr %since)")
    return code.function("define internal i1 @stopped(ptr %since)", f"  ret i1 {stop}")


def _set(name: str, several: bool) -> str:
    code = _PoolCode()
    if several:
        code.release("%wanted", "@threads")
        code.release("%spins", "@patience")
        code.release("%wanted", "@single_before")  # what BLAS gets back after a call that runs now
    return code.function(f"define void @{name}_set(i64 %wanted, i64 %spins)", "  ret void")


def _forget(name: str, several: bool) -> str:
    code = _PoolCode()
    if several:
        code.register("call i32 @pthread_mutex_init(ptr @mutex, ptr null)")
        code.register("call i32 @pthread_cond_init(ptr @wake, ptr null)")
        for place in ("@workers", "@running", "@busy"):
            code.release(0, place)
        code.store("i64", 0, "@open")
        code.line("call void @forget_blas()")
    return code.function(f"define void @{name}_forget()", "  ret void")


def _worker(pause: str) -> str:
    """@worker: a thread of the pool, which looks for a new job for a while and then sleeps until there is one."""
    code = _PoolCode()
    seen, turn = code.variable("i64", 0), code.register("alloca i64")
    idle = code.mark()
    code.store("i64", 0, turn)
    spin, enter = code.mark(), code.label()
    fresh = code.register(f"icmp ne i64 {code.acquired('@job')}, {code.load('i64', seen)}")
    tired = code.register(f"icmp sge i64 {code.load('i64', turn)}, {code.acquired('@spins')}")
    again = code.label()
    code.branch(code.register(f"or i1 {fresh}, {tired}"), enter, again)
    code.begin(again)
    _pause(code, pause, turn)
    code.jump(spin)
    code.begin(enter)
    code.register("call i32 @pthread_mutex_lock(ptr @mutex)")
    look = code.mark()
    current = code.acquired("@job")
    with code.ending(code.register(f"icmp eq i64 {current}, {code.load('i64', seen)}")):
        code.register("call i32 @pthread_cond_wait(ptr @wake, ptr @mutex)")
        code.jump(look)
    others, room = code.acquired("@running"), code.register(f"sub i64 {code.acquired('@threads')}, 1")
    free = code.register(f"icmp slt i64 {others}, {room}")
    going = code.register(f"icmp ne i64 {code.load('i64', '@open')}, 0")
    takes = code.register(f"and i1 {free}, {going}")
    part, context, count = code.load("ptr", "@part"), code.load("ptr", "@context"), code.load("i64", "@count")
    with code.when(takes):
        code.register("atomicrmw add ptr @running, i64 1 acq_rel, align 8")
    code.register("call i32 @pthread_mutex_unlock(ptr @mutex)")
    with code.when(takes):
        code.line(f"call void @work(ptr {part}, ptr {context}, i64 {count}, ptr @next, ptr @fault)")
        code.register("atomicrmw sub ptr @running, i64 1 acq_rel, align 8")
    code.store("i64", current, seen)
    code.jump(idle)
    return code.function("define internal ptr @worker(ptr %unused)")


def _pause(code: Code, pause: str, turn: str) -> None:
    """Wait for a moment, and count the turn."""
    if pause:
        code.line(f"call {pause}")
    code.store("i64", code.register(f"add i64 {code.load('i64', turn)}, 1"), turn)


def _run(name: str, pause: str, several: bool) -> str:
    code = _PoolCode()
    if not several:
        any = code.register(f"call i1 @alone({_JOB})")
        return code.function(f"define i1 @{name}_run({_JOB})", f"  ret i1 {any}")
    handle, since, turn = code.register("alloca ptr"), code.register("alloca i64"), code.variable("i64", 0)
    wanted = code.acquired("@threads")
    single, forbidden = code.register("icmp sle i64 %count, 1"), code.register(f"icmp sle i64 {wanted}, 1")
    mine = code.variable("i1", "false", 1)
    with code.when(code.register(f"xor i1 {code.register(f'or i1 {single}, {forbidden}')}, true")):
        claimed = code.register("cmpxchg ptr @busy, i64 0, i64 1 acq_rel monotonic, align 8")
        code.store("i1", code.register(f"extractvalue {{i64, i1}} {claimed}, 1"), mine, 1)
    with code.ending(code.register(f"xor i1 {code.load('i1', mine, 1)}, true")):
        code.line(f"ret i1 {code.register(f'call i1 @alone({_JOB})')}")
    staff = code.mark()
    there = code.acquired("@workers")
    with code.when(code.register(f"icmp slt i64 {there}, {code.register(f'sub i64 {wanted}, 1')}")):
        refused = code.register(f"call i32 @pthread_create(ptr {handle}, ptr null, ptr @worker, ptr null)")
        with code.ending(code.register(f"icmp eq i32 {refused}, 0")):
            code.register(f"call i32 @pthread_detach(ptr {code.load('ptr', handle)})")
            code.release(code.register(f"add i64 {there}, 1"), "@workers")
            code.jump(staff)
    code.register("call i32 @pthread_mutex_lock(ptr @mutex)")
    for type, variable in zip(("ptr", "ptr", "i64"), ("part", "context", "count"), strict=True):
        code.store(type, f"%{variable}", f"@{variable}")
    code.release(0, "@next")
    code.release(0, "@fault")
    code.release(code.acquired("@patience"), "@spins")
    code.store("i64", 1, "@open")
    code.register("atomicrmw add ptr @job, i64 1 acq_rel, align 8")
    code.register("call i32 @pthread_cond_broadcast(ptr @wake)")
    code.register("call i32 @pthread_mutex_unlock(ptr @mutex)")
    code.line(f"call void @work({_JOB}, ptr @next, ptr @fault)")
    code.register("call i32 @pthread_mutex_lock(ptr @mutex)")
    code.store("i64", 0, "@open")
    code.register("call i32 @pthread_mutex_unlock(ptr @mutex)")
    code.store("i64", code.register("call i64 @clock()"), since)
    wait = code.mark()
    with code.ending(code.register(f"icmp eq i64 {code.acquired('@running')}, 0")):
        fault = code.acquired("@fault")
        code.release(0, "@busy")
        code.line(f"ret i1 {code.register(f'icmp ne i64 {fault}, 0')}")
    with code.ending(code.register(f"icmp slt i64 {code.load('i64', turn)}, {SPINS}")):
        _pause(code, pause, turn)
        code.jump(wait)
    code.register("call i32 @sched_yield()")
    code.store("i64", 0, turn)
    with code.when(code.register(f"call i1 @interrupted(ptr {since})")):
        code.no_more("@next", "@fault")
    code.jump(wait)
    return code.function(f"define i1 @{name}_run({_JOB})")

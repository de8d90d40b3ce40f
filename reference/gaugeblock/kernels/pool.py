"""The pool of native threads that large loops are shared out to: made on demand, kept, never holding Python's lock.

    @NAME_run(part, context, count) -> i1     part(context, k) for every k < count, each once; whether any failed

The caller looks every tenth of a second for signals, and for an exception that another thread sent to it, as away()
does to stop a call. When a handler raises (Ctrl-C), or one was sent, parts that nobody has begun are left out, the
exception is pending, and the result is true; whatever else that thread shares out before its next @begin is left out.

The caller works too, taking one part after another as the others do, so that a thread that wakes late costs nothing.
One job runs at a time: a second caller meanwhile does its parts alone, as does everybody inside a worker.
"""

from __future__ import annotations

import os
import platform

from .entry import python_api

SPINS = 400
"""How often an idle worker looks for a new job, pausing in between, before it sleeps: some 20 microseconds."""


_PAUSES = {
    "x86": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "arm": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
    "other": ("", ""),
}
"""Declaration and call of the instruction that tells the processor of a waiting loop."""
_FAMILIES = {"x86_64": "x86", "amd64": "x86", "aarch64": "arm", "arm64": "arm"}


SIGNALS = 100_000_000
"""Nanoseconds from one look for signals to the next."""
NO_PART = 1 << 62
"""The number of the next part once the caller has left."""
_CLOCK = 6
"""The clock that is cheapest to read: on Linux CLOCK_MONOTONIC_COARSE, on macOS CLOCK_MONOTONIC."""

_WORK = f"""declare i32 @clock_gettime(i32, ptr)
@look = internal global ptr null, align 64
@stopped_thread = internal global ptr null, align 64
define void @NAME_let_look(ptr %look) {{
  store ptr %look, ptr @look
  ret void
}}
define internal i1 @is_stopped() {{
  %thread = call ptr @PyGILState_GetThisThreadState()
  %last = load atomic ptr, ptr @stopped_thread acquire, align 8
  %same = icmp eq ptr %thread, %last
  %ours = icmp ne ptr %thread, null
  %is = and i1 %same, %ours
  ret i1 %is
}}
define internal void @begin() {{
  %again = call i1 @is_stopped()
  br i1 %again, label %clear, label %done
clear:
  store atomic ptr null, ptr @stopped_thread release, align 8
  br label %done
done:
  ret void
}}
define internal i64 @clock() {{
  %place = alloca [2 x i64]
  %r = call i32 @clock_gettime(i32 {_CLOCK}, ptr %place)
  %seconds = load i64, ptr %place
  %rest_place = getelementptr i64, ptr %place, i64 1
  %rest = load i64, ptr %rest_place
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}}
define internal i1 @interrupted(ptr %since) {{
  %already = call i1 @is_stopped()
  br i1 %already, label %stop, label %time
time:
  %now = call i64 @clock()
  %before = load i64, ptr %since
  %gone = sub i64 %now, %before
  %due = icmp sge i64 %gone, {SIGNALS}
  br i1 %due, label %look, label %not_yet
not_yet:
  ret i1 false
look:
  store i64 %now, ptr %since
  %state = call i32 @PyGILState_Ensure()
  %handled = call i32 @PyErr_CheckSignals()
  %raised = icmp ne i32 %handled, 0
  br i1 %raised, label %note, label %other
other:
  %function = load ptr, ptr @look
  %given = icmp ne ptr %function, null
  br i1 %given, label %call, label %nothing
call:
  %result = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %function, ptr null)
  %failed = icmp eq ptr %result, null
  br i1 %failed, label %note, label %returned
returned:
  call void @Py_DecRef(ptr %result)
  br label %nothing
nothing:
  call void @PyGILState_Release(i32 %state)
  ret i1 false
note:
  %thread = call ptr @PyGILState_GetThisThreadState()
  store atomic ptr %thread, ptr @stopped_thread release, align 8
  call void @PyGILState_Release(i32 %state)
  br label %stop
stop:
  ret i1 true
}}
define internal i1 @raised() {{
  %thread = call ptr @PyGILState_GetThisThreadState()
  %ours = icmp eq ptr %thread, null
  br i1 %ours, label %none, label %ask
ask:
  %state = call i32 @PyGILState_Ensure()
  %error = call ptr @PyErr_Occurred()
  call void @PyGILState_Release(i32 %state)
  %is = icmp ne ptr %error, null
  ret i1 %is
none:
  ret i1 false
}}
define internal void @work(ptr %part, ptr %context, i64 %count, ptr %next, ptr %fault) {{
entry:
  %since = alloca i64
  %begin = call i64 @clock()
  store i64 %begin, ptr %since
  br label %take
take:
  %k = atomicrmw add ptr %next, i64 1 acq_rel, align 8
  %more = icmp slt i64 %k, %count
  br i1 %more, label %do, label %done
do:
  %failed = call i1 %part(ptr %context, i64 %k)
  br i1 %failed, label %note, label %look
note:
  store atomic i64 1, ptr %fault release, align 8
  %raised = call i1 @raised()
  br i1 %raised, label %left, label %look
look:
  %stop = call i1 @stopped(ptr %since)
  br i1 %stop, label %left, label %take
left:
  store atomic i64 {NO_PART}, ptr %next release, align 8
  store atomic i64 1, ptr %fault release, align 8
  br label %done
done:
  ret void
}}
define internal i1 @alone(ptr %part, ptr %context, i64 %count) {{
  %next = alloca i64
  %fault = alloca i64
  store i64 0, ptr %next
  store i64 0, ptr %fault
  call void @work(ptr %part, ptr %context, i64 %count, ptr %next, ptr %fault)
  %any = load i64, ptr %fault
  %result = icmp ne i64 %any, 0
  ret i1 %result
}}
"""
_ALONE = """define internal i1 @stopped(ptr %since) {
  %stop = call i1 @interrupted(ptr %since)
  ret i1 %stop
}
define void @NAME_set(i64 %wanted) {
  ret void
}
define void @NAME_forget() {
  ret void
}
define i1 @NAME_run(ptr %part, ptr %context, i64 %count) {
  %any = call i1 @alone(ptr %part, ptr %context, i64 %count)
  ret i1 %any
}
"""


_STATE = {
    "[128 x i8]": "mutex wake", "ptr": "part context",
    "i64": "workers busy open running job next fault count",
}  # fmt: skip
"""The pool's variables by type, all zero at first; `threads` is 1."""
_PTHREAD = {"mutex_init": 2, "mutex_lock": 1, "mutex_unlock": 1, "cond_init": 2, "cond_wait": 2, "cond_broadcast": 1,
            "create": 4, "detach": 1}  # fmt: skip
"""Functions of POSIX threads and their numbers of arguments."""


def _globals() -> str:
    declared = [f"declare i32 @pthread_{name}({', '.join(['ptr'] * count)})" for name, count in _PTHREAD.items()]
    for type, names in _STATE.items():
        declared += [f"@{name} = internal global {type} zeroinitializer, align 64" for name in names.split()]
    return "\n".join(["@threads = internal global i64 1, align 64", *declared])


def text(name: str) -> str:
    """LLVM IR of the pool; where there are no POSIX threads the caller does all parts."""
    if os.name != "posix":
        return python_api((_WORK + _ALONE).replace("NAME", name))
    declaration, pause = _PAUSES[_FAMILIES.get(platform.machine().lower(), "other")]
    return python_api(f"""{declaration}
{_WORK.replace("NAME", name)}{_globals()}
declare i32 @sched_yield()

define internal i1 @stopped(ptr %since) {{
  %thread = call ptr @PyGILState_GetThisThreadState()
  %ours = icmp eq ptr %thread, null
  br i1 %ours, label %worker, label %python
worker:
  %next = load atomic i64, ptr @next acquire, align 8
  %left = icmp sge i64 %next, {NO_PART}
  ret i1 %left
python:
  %stop = call i1 @interrupted(ptr %since)
  ret i1 %stop
}}

define void @{name}_set(i64 %wanted) {{
  store atomic i64 %wanted, ptr @threads release, align 8
  ret void
}}

define void @{name}_forget() {{
  %a = call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  %b = call i32 @pthread_cond_init(ptr @wake, ptr null)
  store atomic i64 0, ptr @workers release, align 8
  store atomic i64 0, ptr @running release, align 8
  store atomic i64 0, ptr @busy release, align 8
  store i64 0, ptr @open
  ret void
}}

define internal ptr @worker(ptr %unused) {{
entry:
  br label %idle
idle:
  %seen = phi i64 [0, %entry], [%current, %after]
  br label %spin
spin:
  %turn = phi i64 [0, %idle], [%turn_next, %again]
  %now = load atomic i64, ptr @job acquire, align 8
  %fresh = icmp ne i64 %now, %seen
  %tired = icmp sge i64 %turn, {SPINS}
  %stop = or i1 %fresh, %tired
  br i1 %stop, label %enter, label %again
again:
  {pause}
  %turn_next = add i64 %turn, 1
  br label %spin
enter:
  %l = call i32 @pthread_mutex_lock(ptr @mutex)
  br label %look
look:
  %current = load atomic i64, ptr @job acquire, align 8
  %none = icmp eq i64 %current, %seen
  br i1 %none, label %sleep, label %join
sleep:
  %w = call i32 @pthread_cond_wait(ptr @wake, ptr @mutex)
  br label %look
join:
  %open = load i64, ptr @open
  %others = load atomic i64, ptr @running acquire, align 8
  %wanted = load atomic i64, ptr @threads acquire, align 8
  %room = sub i64 %wanted, 1
  %free = icmp slt i64 %others, %room
  %going = icmp ne i64 %open, 0
  %takes = and i1 %free, %going
  %part = load ptr, ptr @part
  %context = load ptr, ptr @context
  %count = load i64, ptr @count
  br i1 %takes, label %count_in, label %leave
count_in:
  %before = atomicrmw add ptr @running, i64 1 acq_rel, align 8
  br label %leave
leave:
  %u = call i32 @pthread_mutex_unlock(ptr @mutex)
  br i1 %takes, label %run, label %after
run:
  call void @work(ptr %part, ptr %context, i64 %count, ptr @next, ptr @fault)
  %left = atomicrmw sub ptr @running, i64 1 acq_rel, align 8
  br label %after
after:
  br label %idle
}}

define i1 @{name}_run(ptr %part, ptr %context, i64 %count) {{
entry:
  %handle = alloca ptr
  %since = alloca i64
  %wanted = load atomic i64, ptr @threads acquire, align 8
  %several = icmp sgt i64 %count, 1
  %allowed = icmp sgt i64 %wanted, 1
  %both = and i1 %several, %allowed
  br i1 %both, label %claim, label %alone
claim:
  %claimed = cmpxchg ptr @busy, i64 0, i64 1 acq_rel monotonic, align 8
  %mine = extractvalue {{i64, i1}} %claimed, 1
  br i1 %mine, label %staff, label %alone
alone:
  %any = call i1 @alone(ptr %part, ptr %context, i64 %count)
  ret i1 %any
staff:
  %there = load atomic i64, ptr @workers acquire, align 8
  %needed = sub i64 %wanted, 1
  %short = icmp slt i64 %there, %needed
  br i1 %short, label %hire, label %start
hire:
  %refused = call i32 @pthread_create(ptr %handle, ptr null, ptr @worker, ptr null)
  %came = icmp eq i32 %refused, 0
  br i1 %came, label %hired, label %start
hired:
  %thread = load ptr, ptr %handle
  %detached = call i32 @pthread_detach(ptr %thread)
  %more_there = add i64 %there, 1
  store atomic i64 %more_there, ptr @workers release, align 8
  br label %staff
start:
  %l = call i32 @pthread_mutex_lock(ptr @mutex)
  store ptr %part, ptr @part
  store ptr %context, ptr @context
  store i64 %count, ptr @count
  store atomic i64 0, ptr @next release, align 8
  store atomic i64 0, ptr @fault release, align 8
  store i64 1, ptr @open
  %number = atomicrmw add ptr @job, i64 1 acq_rel, align 8
  %woken = call i32 @pthread_cond_broadcast(ptr @wake)
  %u = call i32 @pthread_mutex_unlock(ptr @mutex)
  call void @work(ptr %part, ptr %context, i64 %count, ptr @next, ptr @fault)
  %l2 = call i32 @pthread_mutex_lock(ptr @mutex)
  store i64 0, ptr @open
  %u2 = call i32 @pthread_mutex_unlock(ptr @mutex)
  %begin = call i64 @clock()
  store i64 %begin, ptr %since
  br label %wait
wait:
  %turn = phi i64 [0, %start], [%turn_next, %pause], [0, %yield], [0, %stopping]
  %running = load atomic i64, ptr @running acquire, align 8
  %finished = icmp eq i64 %running, 0
  br i1 %finished, label %finish, label %linger
linger:
  %long = icmp sge i64 %turn, {SPINS}
  br i1 %long, label %yield, label %pause
pause:
  {pause}
  %turn_next = add i64 %turn, 1
  br label %wait
yield:
  %y = call i32 @sched_yield()
  %stop = call i1 @interrupted(ptr %since)
  br i1 %stop, label %stopping, label %wait
stopping:
  store atomic i64 {NO_PART}, ptr @next release, align 8
  store atomic i64 1, ptr @fault release, align 8
  br label %wait
finish:
  %fault = load atomic i64, ptr @fault acquire, align 8
  store atomic i64 0, ptr @busy release, align 8
  %result = icmp ne i64 %fault, 0
  ret i1 %result
}}
""")

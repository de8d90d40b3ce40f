"""The conversation with a backend: tensors are made, operators called, every step recorded and checked for purity."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from . import accusation, as_ran, causes
from .aliasing import gives_one_tensor, writes_first
from .assertion import looks_at_nothing, unbound
from .backend import Array, Backend, MissingCapability, Unsupported, numpy_dtype
from .building import Misbuilt, kind_of, maker_of_views, told, wrong_of
from .case import TensorCase, default_strides
from .dialect import AdapterDialect, Dialect
from .exact import WrongAnswer, exact, use_that_raised
from .failure import ConformanceError, NoReproducer
from .handle import Handle, raw_values
from .outcome import Outcome
from .own_rules import OwnRules
from .problem import first_line
from .purity import Purity, Root
from .python_lines import PythonLines
from .reach import Dims, dims_of
from .trace import Call, Create, Line, Name, Step, made_by, names_in, operands_of, render
from .traced import TracedBackend

T = TypeVar("T")


class Conversation(PythonLines):
    """Makes tensors in ``backend`` and calls its operators; :mod:`.judge` adds what may be expected of them.

    After :meth:`trace` the snippet so far is told before every use of the backend, so that it survives a crash. In a
    worker process, ``returned`` is called after every call of the backend, and ``check_liveness`` after an
    example in which the backend raised.
    """

    returned: ClassVar[Any] = None
    check_liveness: ClassVar[Any] = None

    def __init__(self, backend: Backend) -> None:
        self.backend = exact(backend)
        self.outcome = Outcome()
        self.trace_sink: Callable[[str], None] | None = None
        self._log_sink: Callable[[str], None] | None = None
        self._traced: TracedBackend | None = None
        self._adapter = as_ran.telling(backend)
        self._known: dict[int, str] = {}
        self.dialect: Dialect = getattr(backend, "dialect", None) or AdapterDialect()
        self._holds_data: bool = getattr(backend, "has_data", True)
        self.has_data = self._holds_data
        self.on_cpu = str(getattr(backend, "device", "cpu")).lower().startswith("cpu")
        self.capabilities = self.backend.capabilities
        self.own_rules = OwnRules(getattr(backend, "rules", ()), self.outcome.used)
        self._purity = Purity(self.backend, self.has_data, "strided" in self.capabilities)
        self._drawn: dict[str, Any] = {}
        self._steps: list[Step] = []
        self._names = 0
        self._opaque: dict[int, tuple[Any, str]] = {}
        self._created: list[tuple[str, Root]] = []
        self._kinds: set[tuple[object, ...]] = set()
        self._view_of: Callable[..., Any] | None = None
        self._inside = False
        self._from_table = False
        self._has_raised = False

    def trace(
        self, sink: Callable[[str], None], at: Callable[[str], None] = lambda use: None,
        log: Callable[[str], None] | None = None,
    ) -> None:  # fmt: skip
        """Tell ``sink`` the snippet that ends with each use of the backend before it happens, ``at`` the use, in the
        words of :mod:`.traced`, and ``log`` all calls of the example by way of the adapter."""
        self.trace_sink, self._log_sink = sink, log
        self._traced = TracedBackend(self.backend, at, self._tell_reading)
        self.backend = cast("Backend", self._traced)
        self._view_of = None
        self._purity = Purity(self.backend, self.has_data, "strided" in self.capabilities)

    def _tell(self, lines: list[str] | None = None, name: str = "") -> None:
        """Tell the sinks of a use of the backend: of the last step, or of ``lines`` that look at ``name``."""
        if self.trace_sink is not None:
            self.trace_sink(self._up_to_last() if lines is None else self.snippet(lines, {name}))
        if self._log_sink is not None:
            adapter = getattr(self.backend, "adapter_dialect", None) or self.dialect
            self._log_sink(render(self._steps, adapter, lines or [], None))

    def _tell_reading(self, member: str, raw: Any) -> None:
        name = self._known.get(id(raw))
        if name is not None:
            what = "version" if member == "version_of" else member
            told = self.dialect.whole(name) if member == "to_numpy" else self.dialect.observe(what, name)
            self._tell([told], name)

    def require(self, *capabilities: str) -> None:
        """Skip the running test unless the backend lists all ``capabilities``."""
        for name in capabilities:
            if name not in self.capabilities:
                raise MissingCapability(name)

    def need_data(self) -> None:
        """End the example, as unsupported, on a device whose tensors have no data."""
        if not self._holds_data:
            raise Unsupported("to_numpy", "the device holds no data")

    def without_data(self) -> None:
        """For the rest of the example take it that tensors have no data: values are neither read nor compared."""
        self.has_data = self._purity.has_data = False

    def begin(self, drawn: dict[str, Any] | None = None) -> None:
        """Forget the last example's tensors and steps (called by itself for tests without drawn inputs)."""
        self._drawn = drawn or {}
        self._steps.clear()
        self._created.clear()
        self._opaque.clear()
        self._known.clear()
        self._names = 0
        self._purity.clear()
        self.has_data = self._purity.has_data = self._holds_data

    def tensor(self, data: Any, dtype: str | None = None, name: str | None = None) -> Handle:
        """A fresh contiguous tensor of nested lists or an array, of ``dtype`` (default: float32 or the array's)."""
        if isinstance(data, np.ndarray | np.generic):
            array = np.asarray(data) if dtype is None else np.asarray(data).astype(numpy_dtype(dtype))
        else:
            array = np.array(data, dtype=numpy_dtype(dtype or "float32"))
        name = name or self._fresh("x")
        self._steps.append(Create(name, array))
        raw = self._built("from_numpy", lambda: self.backend.from_numpy(np.array(array)))
        return self._adopt(raw, name, None, array.reshape(-1))

    def build(self, case: TensorCase, name: str | None = None) -> Handle:
        """The tensor of a drawn case: its storage from NumPy, then a view of it (needs ``as_strided`` unless plain).

        A backend whose strides cannot be seen gets the elements alone, as a contiguous tensor.
        """
        if not case.plain and not self.capabilities & {"strided", "as_strided"}:
            return self.tensor(case.array, name=name)
        self.outcome.tensors += not self._from_table
        name = name or self._fresh("x")
        contents = case.contents
        if case.plain:
            self._steps.append(Create(name, case))
            raw = self._built("from_numpy", lambda: self.backend.from_numpy(contents.reshape(case.sizes)))
            return self._adopt(raw, name, case, contents)
        if case.offset or case.strides != default_strides(case.sizes):
            self.outcome.noncontiguous += not self._from_table
        if "as_strided" not in self.capabilities:
            raise Unsupported("as_strided", "a capability that the backend does not list")
        self._steps.append(Create(name, case))
        base = self._built("from_numpy", lambda: self.backend.from_numpy(contents))
        if self._view_of is None:
            self._view_of = maker_of_views(self.backend)
        make = self._view_of
        view = self._built("as_strided", lambda: make(base, case.sizes, case.strides, case.offset))
        kind = kind_of(case)
        if kind not in self._kinds:
            wrong = self.guard("to_numpy", lambda: wrong_of(self, case, view))
            if wrong is not None:
                raise told(self, case, wrong)
            self._kinds.add(kind)
        return self._adopt(view, name, case, contents, base)

    def _built(self, what: str, action: Callable[[], Any]) -> Any:
        """What ``action`` gives. Raises Misbuilt where it raises."""
        if self._traced is not None:
            self._traced.building = True
            self._tell()
        try:
            return self.guard(what, action)
        except ConformanceError as error:
            misbuilt = Misbuilt(*error.__reduce__()[1])  # type: ignore[arg-type]
            raise misbuilt from error.__cause__
        finally:
            if self._traced is not None:
                self._traced.building = False

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        """Call an operator of the backend and check the purity of the call.

        Handles among the arguments become the backend's tensors; a tensor that comes back becomes a new handle (lists
        and tuples of them item by item), anything else is returned as it is.

        Raises:
            ConformanceError: the backend raised, or changed what it must not.
        """
        raw_args, raw_kwargs = raw_values(args), raw_values(kwargs) if kwargs else kwargs
        step = self._record(operator, args, kwargs)
        try:
            result = self._run(step, operator, raw_args, raw_kwargs)
        except _TOLD:
            raise
        except Exception as error:
            self.outcome.operators.add(operator)
            raise self.unexpected(operator, error) from error
        return self._finish(step, operator, args, kwargs, result, (raw_args, raw_kwargs))

    def call_within(
        self, manager: AbstractContextManager[T], operator: str, *args: Any, **kwargs: Any
    ) -> tuple[Any, T]:
        """Like :meth:`call`, with ``manager`` entered around the backend's call alone; also what entering it gave."""
        entered: list[T] = []
        raw_args, raw_kwargs = raw_values(args), raw_values(kwargs)
        step = self._record(operator, args, kwargs)

        def action() -> Any:
            with manager as given:
                entered.append(given)
                return self.backend.call(operator, *raw_args, **raw_kwargs)

        result = self.guard(operator, action)
        return self._finish(step, operator, args, kwargs, result, (raw_args, raw_kwargs)), entered[0]

    def attempt(self, operator: str, *args: Any, **kwargs: Any) -> tuple[Any, Exception | None]:
        """Like :meth:`call`, but hands back an exception of the backend: (result, None) or (None, exception)."""
        raw_args, raw_kwargs = raw_values(args), raw_values(kwargs) if kwargs else kwargs
        step = self._record(operator, args, kwargs)
        try:
            result = self._run(step, operator, raw_args, raw_kwargs)
        except Unsupported:
            raise
        except Exception as error:
            self._has_raised = True
            self.outcome.operators.add(operator)
            if not self._inside:
                self.outcome.examples += 1
            step.refused = True
            self._purity.check_failed_call(self, operator)
            return None, error
        return self._finish(step, operator, args, kwargs, result, (raw_args, raw_kwargs)), None

    def _run(self, step: Call, operator: str, args: Any, kwargs: Any) -> Any:
        """What the backend's call gives; the step learns what the adapter made of it."""
        if self._adapter is None:
            return self.backend.call(operator, *args, **kwargs)
        with as_ran.learning(self._adapter, step, (operator, args, kwargs), self._is_tensor):
            return self.backend.call(operator, *args, **kwargs)

    def run_and_check_liveness(self, function: Callable[..., None], /, *args: Any, **kwargs: Any) -> None:
        """Run ``function``; if the backend raised in it, let the worker process see whether it still works."""
        try:
            function(*args, **kwargs)
        except Exception:
            self._has_raised = True
            raise
        finally:
            if self._has_raised and self.check_liveness is not None:
                self._has_raised = False
                if self.trace_sink is not None:
                    more = [*self.dialect.create("more", np.array([1.0, 2.0], np.float32)), self.dialect.whole("more")]
                    self.trace_sink(self._up_to_last(more))
                self.check_liveness()

    def sync(self, x: Handle) -> None:
        """Accept the present bytes of ``x``'s storage as right (after a write that the test itself judges)."""
        self._purity.accept(x)

    def created(self) -> list[tuple[str, Root]]:
        """Names and storages of the tensors that the suite made in this example."""
        return self._created

    def steps(self) -> list[Step]:
        return self._steps

    def last_operator(self) -> str:
        """Return the operator that the running example called last; empty if it called none."""
        return next((step.operator for step in reversed(self._steps) if isinstance(step, Call)), "")

    def drawn(self) -> dict[str, str]:
        """The running example's inputs, as text."""
        texts = {name: repr(value) for name, value in self._drawn.items()}
        return {name: text for name, text in texts.items() if text != "data(...)"}

    def observe(self, what: str, x: Handle) -> Any:
        """What the backend's observer ``what`` says of ``x``; needs the capability that the observer belongs to."""
        if what in _OBSERVED:
            self.require(_OBSERVED[what])
        return self.guard(what, lambda: getattr(self.backend, what)(x.raw))

    def read(self, x: Handle) -> Array:
        """The elements of ``x`` as an array."""
        self.need_data()
        array: Array = self.guard("to_numpy", lambda: self.backend.to_numpy(x.raw))
        return array

    def text(self, operator: str, *args: Any) -> str:
        """A call of ``operator`` as the snippet would have it."""
        return self.dialect.expression(operator, self._named(args), {})

    def name_of(self, value: Any) -> str:
        """The snippet's variable for something that a call gave; its text if it has none."""
        named = self._named(value)
        return named.text if isinstance(named, Name) else repr(value)

    def origin(self, x: Handle) -> str:
        """``x`` and the operator that made it, for a message."""
        maker, _ = self._maker(x)
        return f"{maker}'s result" if maker else x.name

    def maker(self, x: Handle) -> str:
        """The operator that gave ``x``, empty if the suite made it."""
        return self._maker(x)[0]

    def _maker(self, x: Handle) -> tuple[str, int]:
        """The operator that gave ``x``, empty if the suite made it, and the place of ``x`` among its results."""
        step = made_by(self._steps, x.name)
        if step is None:
            return "", 0
        return step.operator, step.targets.index(x.name) if x.name in step.targets else 0

    def _operands(self, x: Handle) -> list[Array]:
        """The operands of the call that gave ``x``: numbers, tensors as they were built, and parts of these."""
        return operands_of(self._steps, x.name)

    def _dims(self, x: Handle) -> Dims:
        """The dims that the call names which gave ``x``."""
        step = made_by(self._steps, x.name)
        return None if step is None else dims_of(step.operator, step.args, step.kwargs)

    def failure(
        self, message: str, expected: str, got: str, lines: list[str] | NoReproducer, wanted: Collection[str] = (),
        cause: str | None = None,
    ) -> ConformanceError:  # fmt: skip
        """The error to raise: ``lines`` conclude the snippet, ``wanted`` are the variables that they mention.

        Without lines the snippet ends with the last step. Lines that look at nothing show nothing and are left out.
        """
        if isinstance(lines, list) and lines and looks_at_nothing(lines):
            lines = NoReproducer("the test compares what no expression gives")
        if isinstance(lines, NoReproducer):
            snippet = lines.told(self._up_to_last())
        else:
            snippet = self.snippet(lines, set(wanted)) if lines else self._up_to_last()
            strange = unbound(snippet)
            if strange is not None:
                snippet = NoReproducer(f"{strange} has no form in the backend's own API").told(snippet)
        key = causes.of_failure(cause or message, self._writer(message))
        return ConformanceError(message, expected, got, self.drawn(), snippet, key)

    def _writer(self, message: str) -> str:
        """The operator that last wrote to a tensor which the message names, else the one that was called last."""
        calls = [step for step in reversed(self._steps) if isinstance(step, Call)]
        writers = [step for step in calls if any(re.search(rf"\b{name}\b", message) for name in step.mutates)]
        return next((step.operator for step in [*writers, *calls]), "")

    def _named(self, value: Any) -> Any:
        kind = type(value)
        if kind is Handle:
            return Name(value.name)
        if kind is tuple or kind is list:
            return kind([Name(v.name) if type(v) is Handle else self._named(v) for v in value])
        if kind is dict:
            return {k: self._named(v) for k, v in value.items()} if value else value
        return Name(self._opaque[id(value)][1]) if id(value) in self._opaque else value

    def _record(self, operator: str, args: Any, kwargs: Any) -> Call:
        mutates = _NOTHING
        if writes_first(operator) and args and type(args[0]) is Handle:
            mutates = frozenset({args[0].name})
            if operator.startswith("set_.") and len(args) > 1 and type(args[1]) is Handle:
                mutates |= {args[1].name}  # Its storage may grow.
        if operator == "from_dlpack":
            mutates |= frozenset(names_in(self._named(args)))  # It may give back what its producer counts.
        if kwargs and (out := kwargs.get("out")) is not None:
            mutates |= {h.name for h in (out if isinstance(out, tuple | list) else (out,)) if type(h) is Handle}
        step = Call((), operator, self._named(args), self._named(kwargs), mutates)
        self._steps.append(step)
        self.outcome.calls += 1
        if self._traced is not None:
            self._tell()
        return step

    def _finish(self, step: Call, operator: str, args: Any, kwargs: Any, result: Any, raw: Any) -> Any:
        if self.returned is not None:
            self.returned()
        wrapped: Any
        if type(result) in self._purity.types:
            name = self._fresh("y")
            wrapped = self._handle(result, name)
            step.targets = (name,)
        else:
            names: list[str] = []
            wrapped = self._wrap(result, names)
            step.targets = tuple(names)
            step.unpack = isinstance(wrapped, list | tuple) and bool(wrapped) and isinstance(wrapped[0], Handle)
            if type(wrapped) is not Handle and gives_one_tensor(operator):
                self.outcome.operators.add(operator)
                step.targets = step.targets or (self._fresh("r"),)
                accusation.not_a_tensor(self, operator, result, self._purity.types[0], step.targets[0])
        self.outcome.operators.add(operator)
        if not self._inside:
            self.outcome.examples += 1
        self._purity.check_call(self, operator, args, kwargs, wrapped, raw)
        return wrapped

    def _wrap(self, value: Any, names: list[str]) -> Any:
        if isinstance(value, list | tuple) and self._holds_tensors(value):
            made = [self._wrap_part(v, names) for v in value]
            return made if isinstance(value, list) else tuple(made)
        if not self._is_tensor(value):
            if not names and value is not None:
                names.append(self._fresh("r"))
                if type(value) not in _PLAIN:
                    self._opaque[id(value)] = (value, names[0])
            return value
        name = self._fresh("y")
        names.append(name)
        return self._handle(value, name)

    def _handle(self, raw: Any, name: str) -> Handle:
        if self._traced is not None:
            self._known[id(raw)] = name
        return Handle(raw, name)

    def _wrap_part(self, value: Any, names: list[str]) -> Any:
        if value is not None:
            return self._wrap(value, names)
        names.append("_")
        return None

    def _holds_tensors(self, values: Sequence[Any]) -> bool:
        """Return whether these are tensors, perhaps with None for missing ones."""
        kinds = [self._is_tensor(v) for v in values]
        return any(kinds) and all(kind or v is None for kind, v in zip(kinds, values, strict=True))

    def _is_tensor(self, value: Any) -> bool:
        kind = type(value)
        if kind in _PLAIN:
            return False
        return bool(self._purity.is_tensor(value))

    def _adopt(
        self, raw: Any, name: str, case: TensorCase | None, contents: Array, base: Any = None
    ) -> Handle:
        root = self._purity.register(raw if base is None else base, contents)
        if self._traced is not None:
            self._known.update({id(root.base): name, id(raw): name})
        if case is None:
            self.outcome.tensors += 1
        self._created.append((name, root))
        return Handle(raw, name, root, case)

    def _fresh(self, letter: str) -> str:
        self._names += 1
        return f"{letter}{self._names}"

    def guard(self, what: str, action: Callable[[], Any]) -> Any:
        """What ``action`` gives. Raises ConformanceError, naming ``what``, where it raises."""
        try:
            given = action()
        except _TOLD:
            raise
        except Exception as error:
            raise self.unexpected(what, error) from error
        if self.returned is not None:
            self.returned()
        return given

    def unexpected(self, what: str, error: BaseException) -> ConformanceError:
        """Return the failure of a backend that raised ``error`` where it must not."""
        kind = type(error).__name__
        if isinstance(error, WrongAnswer):
            return self.failure(str(error), error.wanted, error.got, [], cause=f"{what} gives no {error.wanted}")
        message = f"{what} raised {kind}: {first_line(error)}"
        return self.failure(message, "no exception", kind, [], cause=causes.of_exception(what, error))

    def raised_by_backend(self, error: Exception) -> ConformanceError | None:
        """Return the failure that names the use of the backend that raised ``error``; None if no use did."""
        use = use_that_raised(error)
        return None if use is None else self.unexpected(use, error)

    def snippet(self, conclusion: list[str], wanted: set[str]) -> str:
        return render(self._steps, self.dialect, conclusion, wanted)

    def _up_to_last(self, more: Sequence[str] = ()) -> str:
        """A snippet that ends with the last step, even if that has not returned, and ``more`` lines."""
        last = self._steps[-1] if self._steps else None
        if not isinstance(last, Call):
            wanted = {last.target, *last.uses} if isinstance(last, Line) else {last.target} if last else set()
            return self.snippet([*more], wanted)
        used = {*names_in(last.args), *names_in(last.kwargs)}
        return render(self._steps[:-1], self.dialect, [self.dialect.statement(last), *more], used)


# What is told as it is: not the fault of the call that raised it.
_TOLD = (Unsupported, MissingCapability, ConformanceError)
_NOTHING: frozenset[str] = frozenset()
_OBSERVED = {
    "strides": "strided", "storage_offset": "strided",
    "storage_id": "storage", "storage_nbytes": "storage", "data_ptr": "storage",
}  # fmt: skip
_PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None), list, tuple, dict, set})

"""The calls of :mod:`..backend_autograd` for a module of torch's style."""

from __future__ import annotations

import importlib
import pickle
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import cached_property
from multiprocessing.reduction import ForkingPickler
from typing import Any

from ..backend import Unsupported
from ..backend_autograd import CALLS, Context, Hook, Program, Rule
from .autograd_contexts import context_manager
from .autograd_hooks import Hooks
from .autograd_rules import function_of

_SAVED = "_saved_"


class Differentiating:
    """Answers autograd's calls; ``call`` is the adapter's."""

    def __init__(self, module: Any, call: Callable[..., Any]) -> None:
        self.module = module
        self.call = call
        self.log: list[Any] = []

    def resolve(self, operator: str) -> Callable[..., Any]:
        """The function behind a name of the table."""
        if not hasattr(self.module, "autograd"):
            raise Unsupported(operator, f"{self.module.__name__} has no autograd")
        found: Callable[..., Any] = getattr(self, operator)
        assert operator in CALLS
        return found

    @cached_property
    def _hooks(self) -> Hooks:
        return Hooks(self.module, self.log)

    # autograd

    def backward(
        self, tensors: Any, gradients: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
        inputs: Any = None,
    ) -> None:  # fmt: skip
        named: dict[str, Any] = {"retain_graph": retain_graph, "create_graph": create_graph}
        if inputs is not None:
            named["inputs"] = inputs
        if isinstance(tensors, list | tuple):
            self.module.autograd.backward(tensors, gradients, **named)
        else:
            tensors.backward(gradients, **named)

    def gradients(self, outputs: Any, inputs: Any, grad_outputs: Any = None, **flags: Any) -> tuple[Any, ...]:
        return tuple(self.module.autograd.grad(outputs, inputs, grad_outputs, **flags))

    def grad(self, tensor: Any) -> Any:
        return tensor.grad

    def set_grad(self, tensor: Any, value: Any) -> None:
        tensor.grad = value

    def set_requires_grad(self, tensor: Any, value: bool) -> None:
        tensor.requires_grad = value

    def is_leaf(self, tensor: Any) -> bool:
        return bool(tensor.is_leaf)

    def retain_grad(self, tensor: Any) -> None:
        tensor.retain_grad()

    def retains_grad(self, tensor: Any) -> bool:
        return bool(tensor.retains_grad)

    def output_nr(self, tensor: Any) -> int:
        return int(tensor.output_nr)

    def is_grad_enabled(self) -> bool:
        return bool(self.module.is_grad_enabled())

    def is_inference_mode_enabled(self) -> bool:
        return bool(self.module.is_inference_mode_enabled())

    def is_inference(self, tensor: Any) -> bool:
        return bool(tensor.is_inference())

    def enter(self, context: Context) -> Any:
        manager = context_manager(self.module, context, self.log)
        manager.__enter__()
        return manager

    def leave(self, manager: Any) -> None:
        manager.__exit__(None, None, None)

    def decorated(self, context: Context, operator: str, *args: Any, **kwargs: Any) -> Any:
        manager: Any = context_manager(self.module, context, self.log)

        @manager  # type: ignore[untyped-decorator]
        def run() -> Any:
            return self.call(operator, *args, **kwargs)

        return run()

    def under(self, context: Context, operator: str, *args: Any, **kwargs: Any) -> Any:
        with context_manager(self.module, context, self.log):
            return self.call(operator, *args, **kwargs)

    def variable(self, tensor: Any) -> Any:
        return self.module.autograd.Variable(tensor)

    def functional(
        self, name: str, program: Program, inputs: Sequence[Any], v: Any = None, create_graph: bool = False
    ) -> Any:
        function = getattr(self.module.autograd.functional, name)
        given = () if v is None else (v,)
        return function(
            lambda *tensors: program.run(self.call, tensors), tuple(inputs), *given, create_graph=create_graph
        )

    def backward_in_threads(self, tensors: Sequence[Any]) -> None:
        errors: list[Exception] = []
        ready = threading.Barrier(len(tensors))

        def run(tensor: Any) -> None:
            try:
                ready.wait()
                tensor.backward()
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=run, args=(tensor,)) for tensor in tensors]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]

    def sent(self, tensor: Any) -> Any:
        importlib.import_module(f"{self.module.__name__}.multiprocessing")
        return pickle.loads(ForkingPickler.dumps(tensor))

    # autograd.graph

    def grad_fn(self, tensor: Any) -> Any:
        return tensor.grad_fn

    def node_name(self, node: Any) -> str:
        return str(node.name())

    def apply_node(self, node: Any, *gradients: Any) -> tuple[Any, ...]:
        given = node(*gradients)
        return given if isinstance(given, tuple) else (given,)

    def next_functions(self, node: Any) -> tuple[tuple[Any, int], ...]:
        return tuple((following, int(slot)) for following, slot in node.next_functions)

    def next_node(self, node: Any, edge: int) -> Any:
        return node.next_functions[edge][0]

    def same_node(self, one: Any, other: Any) -> bool:
        return one is other

    def saved_names(self, node: Any) -> tuple[str, ...]:
        return tuple(sorted(name.removeprefix(_SAVED) for name in dir(node) if name.startswith(_SAVED)))

    def saved(self, node: Any, name: str) -> Any:
        return getattr(node, f"{_SAVED}{name}")

    def node_variable(self, node: Any) -> Any:
        return node.variable

    def watch_tensor(self, tensor: Any) -> Callable[[], bool]:
        reference = weakref.ref(tensor)
        return lambda: reference() is not None

    # autograd.hooks

    def register_hook(self, tensor: Any, hook: Hook) -> Any:
        return self._hooks.keep(tensor.register_hook(self._hooks.on_tensor(hook)))

    def register_post_accumulate_grad_hook(self, leaf: Any, hook: Hook) -> Any:
        return self._hooks.keep(leaf.register_post_accumulate_grad_hook(self._hooks.on_leaf(hook)))

    def register_node_prehook(self, node: Any, hook: Hook) -> Any:
        return self._hooks.keep(node.register_prehook(self._hooks.before_node(hook)))

    def register_node_hook(self, node: Any, hook: Hook) -> Any:
        return self._hooks.keep(node.register_hook(self._hooks.after_node(hook)))

    def register_multi_grad_hook(self, tensors: Sequence[Any], hook: Hook) -> Any:
        register = self.module.autograd.graph.register_multi_grad_hook
        return self._hooks.keep(register(tuple(tensors), self._hooks.on_tensors(hook)))

    def remove_hook(self, handle: Any) -> None:
        handle.remove()

    def autograd_log(self) -> tuple[Any, ...]:
        entries = tuple(self.log)
        self.log.clear()
        return entries

    # autograd.func

    def define_function(self, rule: Rule) -> Any:
        return function_of(self.module, rule, self.log)

    def apply_function(self, function: Any, *tensors: Any) -> Any:
        return function.apply(*tensors)

    # autograd.fwd

    def make_dual(self, tensor: Any, tangent: Any) -> Any:
        return self.module.autograd.forward_ad.make_dual(tensor, tangent)

    def unpack_dual(self, tensor: Any) -> tuple[Any, Any]:
        primal, tangent = self.module.autograd.forward_ad.unpack_dual(tensor)
        return primal, tangent

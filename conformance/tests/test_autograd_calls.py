"""Autograd's calls are answered by the adapter, and told in snippets by the names of what the backend gave."""

from __future__ import annotations

from gaugeblock_conformance import backend_autograd
from gaugeblock_conformance.backend_autograd import Hook, NoGrad, Program, Rule, Value
from gaugeblock_conformance.backends.autograd_calls import Differentiating
from gaugeblock_conformance.backends.numpy import NumpyBackend
from gaugeblock_conformance.session import Session


def test_every_call_of_the_table_is_answered() -> None:
    assert all(hasattr(Differentiating, name) for name in backend_autograd.CALLS)
    assert set(backend_autograd.CALLS) >= backend_autograd.STATEFUL


def test_parts_are_written_without_their_defaults() -> None:
    assert repr(NoGrad()) == "NoGrad()"
    assert repr(Hook("a", argument=2.0)) == "Hook(label='a', argument=2.0)"
    assert repr(Rule("exp", setup=True)) == "Rule(forward='exp', setup=True)"


def test_program_numbers_inputs_first() -> None:
    program = Program((("square", Value(0)), ("add", Value(2), Value(1))), outputs=(3, 2))
    calls = {"square": lambda x: x * x, "add": lambda x, y: x + y}
    assert program.run(lambda name, *args: calls[name](*args), [3, 4]) == (13, 9)


class _Backend(NumpyBackend):
    """Answers with a list of one array and a missing one, and with an object of its own."""

    def call(self, operator: str, *args: object, **kwargs: object) -> object:
        if operator == "gradients":
            return (None, args[0])
        return _Node() if operator == "grad_fn" else super().call(operator, *args, **kwargs)


class _Node:
    pass


def test_missing_gradients_and_opaque_answers_have_names_in_snippets() -> None:
    s = Session(_Backend())
    s.begin()
    x = s.tensor([1.0])
    nothing, gradient = s.call("gradients", x)
    assert nothing is None
    node = s.call("grad_fn", gradient)
    snippet = s.snippet([s.text("node_name", node)], {"r3"})
    assert f"_, {gradient.name} = " in snippet
    assert snippet.count("r3") == 2

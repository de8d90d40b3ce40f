"""Expressions to be drawn: the steps they go through, and that nothing else can be reached or asked for."""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import pytest
from gaugeblock.memory import get_allocator, get_poison
from gaugeblock_tools.problem import PictureProblem
from gaugeblock_tools.stride_diagrams import vocabulary
from gaugeblock_tools.stride_diagrams.expression import CHARACTERS, steps


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("arange(12).view(3,4).t()[::2]", ["arange(12)", ".view(3,4)", ".t()", "[::2]"]),
        ("torch.arange(4, dtype=torch.float32).T", ["torch.arange(4, dtype=torch.float32)", ".T"]),
        ("transpose(arange(6).view(2,3),0,1)", ["arange(6)", ".view(2,3)", "transpose(arange(6).view(2,3),0,1)"]),
        ("arange(6).split(2)[1]", ["arange(6)", ".split(2)[1]"]),
        ("(arange(3) + 1)[1:]", ["arange(3) + 1", "[1:]"]),
        ("  arange(5)[arange(5)  > 2] ", ["arange(5)", "[arange(5) > 2]"]),
        ("tensor([[1, -2], [3, 4]])[..., None]", ["tensor([[1, -2], [3, 4]])", "[..., None]"]),
        ("cat([zeros(2), ones(1)])", ["cat([zeros(2), ones(1)])"]),
        (
            "meshgrid(arange(3), arange(2), indexing='ij')[0]",
            ["arange(3)", "meshgrid(arange(3), arange(2), indexing='ij')[0]"],
        ),
    ],
)
def test_steps_of_an_expression(text: str, added: list[str]) -> None:
    assert [step.text for step in steps(text)] == added


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("__import__('os').system('true')", "function '__import__'"),
        ("().__class__.__bases__[0].__subclasses__()", "a tuple; only tensors have properties"),
        ("arange(3).__class__", "tensor property '__class__'"),
        ("arange(3).__reduce__()", "tensor method '__reduce__'"),
        ("arange(3).storage", "tensor property 'storage'"),
        ("arange(3).data_ptr()", "tensor method 'data_ptr'"),
        ("arange(3).register_hook(print)", "tensor method 'register_hook'"),
        ("gb.save(arange(3), 'x')", "function 'save'"),
        ("load('x')", "function 'load'"),
        ("torch.os.system('true')", "name 'os'"),
        ("from_blob(0, (3,))", "function 'from_blob'"),
        ("open('x', 'w')", "function 'open'"),
        ("eval('1')", "function 'eval'"),
        ("print(1)", "function 'print'"),
        ("exec", "name 'exec'"),
        ("(lambda: arange(3))()", "is called"),
        ("[arange(3) for x in (1,)]", "ListComp"),
        ("(x := arange(3))", "NamedExpr"),
        ("f'{arange(3)}'", "formatted text"),
        ("zeros(*[3, 4])", "an unpacking"),
        ("zeros(**{'size': 3})", "'**' in a call"),
        ("arange(3) if 1 else 2", "IfExp"),
        ("import os", "not an expression"),
        ("arange(3); arange(4)", "not an expression"),
        ("arange(", "not an expression"),
        ("\0", "not an expression"),
        ("", "not an expression"),
        ("(" * 400, "not an expression"),
        ("arange(3)" + "[0:]" * 300, f"allowed: {CHARACTERS:,}"),
        ("-" * 900 + "1", "nested"),
        ("zeros(50000, 50000)", "10,000,000,000 bytes are asked for"),
        ("zeros(10 ** 12)", "arithmetic of another kind"),
        ("zeros(60000 * 60000)", "3,600,000,000; allowed: integers"),
        ("zeros(1 << 40)", "arithmetic of another kind"),
        ("zeros(" + "9" * 900 + ")", "an integer of 2990 bits"),
        ("zeros(99999999999999999999)", "allowed: integers from -65,536 to 65,536"),
        ("tensor([0] * 50000)", "arithmetic with a list"),
        ("'a' * 50000", "is text"),
        ("zeros(1).expand(50000, 50000)", "2,500,000,000 elements; allowed: 65,536"),
        ("zeros(1).expand(50000, 50000).contiguous()", "elements; allowed"),
        ("zeros(1).repeat(50000, 50000)", "bytes are asked for"),
        ("zeros(65536).view(65536, 1) + zeros(65536)", "bytes are asked for"),
        ("zeros(65536).view(65536, 1) == zeros(65536)", "bytes are asked for"),
        ("zeros(65536)[zeros(65536, dtype=int64).expand(65536, 65536)]", "elements; allowed"),
        ("arange(0, 1, 1e-13)", "bytes are asked for"),
        ("eye(65536)", "bytes are asked for"),
        ("zeros(1).repeat_interleave(50000)", "tensor method 'repeat_interleave'"),
        ("arange(3, device='cuda')", "argument 'device'"),
        ("arange(3).to('cuda')", "is text"),
        ("arange(3, out=arange(3))", "argument 'out'"),
        ("arange(6).view(4)", "arange(6).view(4): RuntimeError"),
        ("arange(6).transpos(0, 1)", "did you mean transpose"),
        ("3", "comes to a number"),
        ("(arange(3), 1)", "comes to a tuple"),
        ("arange(3).split(1)", "comes to a tuple"),
        ("arange(3).equal(arange(3))", "'equal'"),
        ("x", "name 'x'"),
    ],
)
def test_everything_else_is_refused_in_one_line(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = time.perf_counter()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PictureProblem) as caught:
        steps(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value) and caught.value.exit_status == 2
    assert not list(tmp_path.iterdir())
    assert time.perf_counter() - before < 20


def test_vocabulary_reaches_no_private_names_files_or_addresses() -> None:
    words = vocabulary.functions() | vocabulary.methods() | set(vocabulary.values()) | vocabulary.PROPERTIES
    assert {"arange", "view", "as_strided", "t", "unfold", "float32"} <= words
    assert not {word for word in words if word.startswith("_")}
    forbidden = {"apply_", "backward", "data_ptr", "from_blob", "from_file", "from_numpy", "frombuffer", "grad", "load",
                 "map_", "numpy", "register_hook", "save", "set_", "storage", "tolist", "untyped_storage"}  # fmt: skip
    assert not words & forbidden


def test_every_function_that_is_named_exists() -> None:
    import gaugeblock

    assert [name for name in sorted(vocabulary.functions()) if not hasattr(gaugeblock, name)] == []
    tensor = gaugeblock.arange(3)
    assert [name for name in sorted(vocabulary.methods()) if not hasattr(tensor, name)] == []


def test_warnings_of_the_engine_are_not_shown() -> None:
    with warnings.catch_warnings(action="error"):
        assert len(steps("tensor([1 + 2j]).to(float32)")) == 2


def test_memory_is_given_back_to_the_engine() -> None:
    allocator, poison = get_allocator(), get_poison()
    steps("zeros(3)")
    with pytest.raises(PictureProblem):
        steps("zeros(50000, 50000)")
    assert (get_allocator(), get_poison()) == (allocator, poison)

"""Transforms that map over the wrong dims, cast what they should not, or show what they should remove."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..backend import DType
from ..backend_dispatch import Autocast, Mapping, Thread
from .mutant import Intercepted, rows
from .patches import accepts


def _levels(change: Callable[[Mapping], Mapping]) -> Callable[[Intercepted], Any]:
    """Other vmaps than the given ones."""

    def patch(c: Intercepted) -> Any:
        operator, levels, *args = c.args
        return c.instead(operator, tuple([change(level) for level in levels]), *args, **c.kwargs)

    return patch


def _mapped_too(level: Mapping) -> Mapping:
    return replace(level, in_dims=tuple([0 if dim is None else dim for dim in level.in_dims]))


def _inside_out(c: Intercepted) -> Any:
    operator, levels, *args = c.args
    return c.instead(operator, tuple(reversed(levels)), *args, **c.kwargs)


def _without_the_rest(c: Intercepted) -> Any:
    """Examples that fill no whole chunk are lost."""
    result = c.right()
    level = c.args[1][0]
    if level.chunk_size is None or not c.is_tensor(result):
        return result
    dim = level.out_dims
    count = c.backend.shape(result)[dim]
    return c.do("narrow", result, dim, 0, count // level.chunk_size * level.chunk_size)


def _no_composites(c: Intercepted) -> Any:
    return c.refuse(NotImplementedError, "no rule for it") if c.args[0].startswith("suite::") else c.right()


def _on_a_copy(c: Intercepted) -> Any:
    operator, levels, first, *args = c.args
    if not operator.partition(".")[0].endswith("_"):
        return c.right()
    return c.do("mapped", operator, levels, c.do("clone", first), *args, **c.kwargs)


def _all_examples(c: Intercepted) -> Any:
    return c.args[2]


def _told_nothing(level: Mapping) -> Mapping:
    return replace(level, randomness="different" if level.randomness == "error" else level.randomness)


def _once_for_all(level: Mapping) -> Mapping:
    return replace(level, randomness="same" if level.randomness == "different" else level.randomness)


def _contexts(change: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> Callable[[Intercepted], Any]:
    """Calls within other contexts than the given ones."""
    return lambda c: c.do("within", change(c.args[0]), *c.args[1:], **c.kwargs)


def _without_casting(contexts: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([one for one in contexts if not isinstance(one, Autocast)])


def _always_on(contexts: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([one for one in contexts if not (isinstance(one, Autocast) and not one.enabled)])


def _in_every_thread(contexts: tuple[Any, ...]) -> tuple[Any, ...]:
    threads = [one for one in contexts if isinstance(one, Thread)]
    return (*threads, *[one for one in contexts if not isinstance(one, Thread)])


def _cast_result(*operators: str) -> Callable[[Intercepted], Any]:
    """The results of these operators are cast to the dtype of the mode."""

    def patch(c: Intercepted) -> Any:
        result = c.right()
        modes = [one for one in c.args[0] if isinstance(one, Autocast) and one.enabled]
        if not modes or c.args[1] not in operators:
            return result
        return c.do("to.dtype", result, DType(modes[-1].dtype))

    return patch


def _not_recorded(c: Intercepted) -> Any:
    result = c.right()
    return c.do("requires_grad_", c.do("detach", result)) if any(isinstance(o, Autocast) for o in c.args[0]) else result


def _on_copies(c: Intercepted) -> Any:
    remove, steps, *args = c.args
    return c.do("functionalized", remove, steps, *[c.do("clone", one) if c.is_tensor(one) else one for one in args])


def _as_written(c: Intercepted) -> Any:
    """The program runs as it was written."""
    contexts, operator, *args = c.args
    return c.do("within", contexts, "run_program", *args[1:]) if operator == "functionalized" else c.right()


def _with_views(c: Intercepted) -> Any:
    contexts, operator, *args = c.args
    return c.do("within", contexts, operator, "mutations", *args[1:]) if operator == "functionalized" else c.right()


MUTANTS = (
    *rows(
        "dispatcher",
        ("vmap-stacks-along-the-first-dim", "dispatch/vmap-gives-what-a-loop-gives", ("mapped",),
         _levels(lambda level: replace(level, out_dims=0))),
        ("vmap-maps-the-first-dim", "dispatch/vmap-gives-what-a-loop-gives", ("mapped",),
         _levels(lambda level: replace(level, in_dims=tuple([dim and 0 for dim in level.in_dims])))),
        ("vmap-maps-what-is-shared", "dispatch/vmap-shares-what-is-not-mapped", ("mapped",), _levels(_mapped_too)),
        ("vmap-nests-inside-out", "dispatch/vmap-nests", ("mapped",), _inside_out),
        ("vmap-loses-the-last-chunk", "dispatch/vmap-in-chunks-gives-the-same", ("mapped",), _without_the_rest),
        ("vmap-maps-no-composites", "dispatch/vmap-maps-composites-by-their-parts", ("mapped",), _no_composites),
        ("vmap-writes-to-a-copy", "dispatch/vmap-writes-to-mapped-tensors-alone", ("mapped",), _on_a_copy),
        ("vmap-reads-all-values", "dispatch/vmap-refuses-what-depends-on-values", ("mapped",),
         accepts(RuntimeError, _all_examples)),
        ("vmap-checks-no-dims", "dispatch/vmap-checks-its-dims", ("mapped",), accepts(ValueError, _all_examples)),
        ("vmap-draws-without-being-told", "dispatch/vmap-draws-as-it-is-told", ("mapped",), _levels(_told_nothing)),
        ("vmap-draws-once-for-all", "dispatch/vmap-draws-as-it-is-told", ("mapped",), _levels(_once_for_all)),
        ("autocast-does-nothing", "dispatch/autocast-lowers-products", ("within",), _contexts(_without_casting)),
        ("autocast-narrows-losses", "dispatch/autocast-widens-what-is-listed", ("within",),
         _cast_result("prod", "mse_loss", "linalg_inv")),
        ("autocast-joins-in-the-narrow-dtype", "dispatch/autocast-widens-what-is-listed", ("within",),
         _cast_result("cat", "stack")),
        ("autocast-lowers-sums", "dispatch/autocast-leaves-the-rest", ("within",), _cast_result("add.Tensor")),
        ("autocast-stays-on", "dispatch/autocast-ends-with-its-block", ("within",), _contexts(_always_on)),
        ("autocast-reaches-other-threads", "dispatch/autocast-belongs-to-its-thread", ("within",),
         _contexts(_in_every_thread)),
        ("autocast-records-no-cast", "dispatch/autocast-casts-what-is-differentiated", ("within",), _not_recorded),
        ("functionalize-forgets-arguments", "dispatch/functionalize-gives-the-same", ("functionalized",), _on_copies),
        ("functionalize-does-nothing", "dispatch/functionalize-shows-no-write dispatch/functionalize-removes-views",
         ("within",), _as_written),
        ("functionalize-keeps-views", "dispatch/functionalize-removes-views", ("within",), _with_views),
    ),
)  # fmt: skip

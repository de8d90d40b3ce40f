"""Dispatchers that pick the wrong kernel, keep the wrong books, or let the wrong call through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backend_dispatch import Exclude, Include, Kernel, Mode, Thread
from .mutant import Intercepted, rows
from .patches import accepts, raises

_OWN = ("suite::",)


def _register(change: Callable[[str, Kernel], tuple[str, Kernel] | None]) -> Callable[[Intercepted], Any]:
    """Registrations with another key or kernel: (key, kernel) -> the same two; None leaves them out."""

    def patch(c: Intercepted) -> Any:
        operator, key, kernel = c.args
        wanted = change(key, kernel)
        return None if wanted is None else c.do("register_kernel", operator, *wanted)

    return patch


def _contexts(change: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> Callable[[Intercepted], Any]:
    """Calls within other contexts than the given ones."""
    return lambda c: c.do("within", change(c.args[0]), *c.args[1:], **c.kwargs)


def _without(kind: type) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    return lambda contexts: tuple(context for context in contexts if not isinstance(context, kind))


def _include_wins(contexts: tuple[Any, ...]) -> tuple[Any, ...]:
    included = {context.key for context in contexts if isinstance(context, Include)}
    return tuple(c for c in contexts if not (isinstance(c, Exclude) and c.key in included))


def _both_backends(c: Intercepted) -> Any:
    """A kernel for cpu serves meta tensors too."""
    result = c.right()
    operator, key, kernel = c.args
    if key == "CPU" and kernel.action != "skip":
        c.do("register_kernel", operator, "Meta", kernel)
    return result


def _leaked(c: Intercepted) -> Any:
    """After an exception the keys that it passed stay excluded."""
    if c.operator == "release_operators":
        c.memory.pop("leaked", None)
    if c.operator == "thread_keys":
        included, excluded = c.right()
        return included, tuple(sorted({*excluded, *c.memory.get("leaked", ())}))
    try:
        return c.right()
    except Exception:
        c.memory["leaked"] = ("AutogradCPU",)
        raise


def _here(c: Intercepted, value: Any) -> Any:
    """A cpu tensor of the sizes of a tensor on another device."""
    if isinstance(value, list | tuple):
        return [_here(c, v) for v in value]
    return c.tensor(np.zeros(tuple(c.backend.shape(value)), np.float32)) if c.is_tensor(value) else value


def _lists_ignored(c: Intercepted) -> Any:
    if not any(isinstance(a, list) for a in c.args):
        return c.right()
    return c.instead(*[_here(c, a) if isinstance(a, list) else a for a in c.args], **c.kwargs)


def _optionals_ignored(c: Intercepted) -> Any:
    if not any(c.is_tensor(a) for a in c.args[1:]):
        return c.right()
    return c.instead(*c.args[:1], *[_here(c, a) if c.is_tensor(a) else a for a in c.args[1:]], **c.kwargs)


def _keywords_ignored(c: Intercepted) -> Any:
    if not any(c.is_tensor(a) for a in c.kwargs.values()):
        return c.right()
    return c.instead(*c.args, **{name: _here(c, value) for name, value in c.kwargs.items()})


def _fallback_to_cpu(c: Intercepted) -> Any:
    try:
        return c.do(c.operator, *[_here(c, a) for a in c.args], **c.kwargs)
    except Exception:
        return c.refuse(NotImplementedError, "no kernel on the cpu either")


def _first_kernel_stays(c: Intercepted) -> Any:
    """A second kernel for an operator and key is dropped without a word."""
    if c.operator == "release_operators":
        c.memory.pop("kernels", None)
        return c.right()
    known = c.memory.setdefault("kernels", set())
    if c.args[:2] in known:
        return None
    known.add(c.args[:2])
    return c.right()


def _composite_first(c: Intercepted) -> Any:
    """A kernel for a device is not taken once there is a composite one."""
    if c.operator == "release_operators":
        c.memory.pop("composites", None)
        return c.right()
    operator, key, _ = c.args
    known = c.memory.setdefault("composites", set())
    if key.startswith("Composite"):
        known.add(operator)
    return None if key == "CPU" and operator in known else c.right()


def _tolerates(otherwise: Callable[[Intercepted], Any]) -> Callable[[Intercepted], Any]:
    """``otherwise`` (call) where the arguments do not fit the schema."""

    def patch(c: Intercepted) -> Any:
        try:
            return c.right()
        except (RuntimeError, TypeError) as error:
            if isinstance(error, NotImplementedError) or "of the suite" in str(error):
                raise
            return otherwise(c)

    return patch


def _swallows(c: Intercepted) -> Any:
    """The first argument, where a kernel raised."""
    try:
        return c.right()
    except Exception as error:
        if "of the suite" not in str(error):
            raise
        return _none_of_them(c)


def _extra_dropped(c: Intercepted) -> Any:
    for count in range(len(c.args) - 1, 0, -1):
        try:
            return c.do(c.operator, *c.args[:count], **c.kwargs)
        except Exception as error:
            c.memory["last"] = error
    return c.refuse(RuntimeError, "wrong arguments")


def _truncated(c: Intercepted) -> Any:
    """Floats for ints are cut, and text is read as a number."""
    changed = [int(float(a)) if isinstance(a, float | str) and _number(a) else a for a in c.args]
    try:
        return c.do(c.operator, *changed, **c.kwargs)
    except Exception:
        return c.refuse(RuntimeError, "wrong arguments")


def _number(text: Any) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _unknown_dropped(c: Intercepted) -> Any:
    known = {name: value for name, value in c.kwargs.items() if name != "nothing"}
    try:
        return c.do(c.operator, *c.args, **known)
    except Exception:
        return c.refuse(RuntimeError, "wrong arguments")


def _none_of_them(c: Intercepted) -> Any:
    """The first argument as the result."""
    return c.args[0] if c.args and c.is_tensor(c.args[0]) else c.refuse(RuntimeError, "wrong arguments")


def _keys_follow_gradients(c: Intercepted) -> Any:
    found = c.right()
    return found if c.do("requires_grad", c.args[0]) else tuple(k for k in found if not k.startswith("Autograd"))


def _keys_of_cpu(c: Intercepted) -> Any:
    return tuple(name.replace("Meta", "CPU") for name in c.right())


def _keys_see_the_size(c: Intercepted) -> Any:
    found = c.right()
    return found if c.backend.shape(c.args[0]) else tuple(k for k in found if k != "ADInplaceOrView")


def _lowest(c: Intercepted) -> Any:
    names = list(c.args)
    while len(names) > 1:
        names.remove(c.do("highest_key", *names))
    return names[0]


def _last_named(c: Intercepted) -> Any:
    """Of Negative and Conjugate the one that was named last."""
    found = c.right()
    pair = [name for name in c.args if name in ("Negative", "Conjugate")]
    return pair[-1] if found in pair else found


def _keys_of_dense(c: Intercepted) -> Any:
    return tuple("CPU" if key == "SparseCPU" else key for key in c.right())


def _both_keys(c: Intercepted) -> Any:
    found = c.right()
    return (*found, "CPU") if "SparseCPU" in found else found


def _fallback_first(c: Intercepted) -> Any:
    """Once a key has a fallback, kernels for it are dropped."""
    if c.operator == "release_operators":
        c.memory.pop("fallbacks", None)
        return c.right()
    if c.operator == "register_fallback":
        c.memory.setdefault("fallbacks", set()).add(c.args[0])
        return c.right()
    return None if c.args[1] in c.memory.get("fallbacks", ()) else c.right()


def _without_keywords(c: Intercepted) -> Any:
    """A kernel gets what was given by position; the rest has its default."""
    return c.instead(*c.args, **{name: v for name, v in c.kwargs.items() if name in ("device", "z", "n", "y")})


def _unconverted(c: Intercepted) -> Any:
    """Whole numbers stay whole numbers where the schema says float."""
    return tuple(entry.replace(".0", "") if entry.startswith("(") else entry for entry in c.right())


def _not_selected(c: Intercepted) -> Any:
    """A kernel for BackendSelect that chooses by the options is passed over: the default device serves."""
    return None if c.args[1] == "BackendSelect" and c.args[2].action == "select" else c.right()


def _bare_gradient(c: Intercepted) -> Any:
    gradient, _ = c.right()
    return gradient, "bare"


def _unscaled_gradient(c: Intercepted) -> Any:
    gradient, told = c.right()
    return c.do("ones_like", gradient), told


def _counting(c: Intercepted) -> Any:
    """Creating a view sums the elements of its base."""
    if c.has_data:
        c.do("sum", c.do("detach", c.args[0]))
    return c.right()


_DECLARED = ("gcd", "bitwise_and", "erf", "floor", "atan2", "lgamma")


_CROSSED = ("mm", "matmul", "bmm", "addmm", "mv", "dot", "index_select", "gather", "take")


def _keys_of_a_copy(c: Intercepted) -> Any:
    """A tensor made in inference mode has the keys that a copy of it has."""
    x = c.args[0]
    return c.do("dispatch_keys", c.do("clone", x)) if c.do("is_inference", x) else c.right()


def _autocast_on(c: Intercepted) -> Any:
    result = c.right()
    if c.operator == "within" and c.args[1] != "thread_keys":
        return result
    included, excluded = result
    return included, tuple(key for key in excluded if not key.startswith("Autocast"))


def _only_floats(c: Intercepted) -> Any:
    """Calls on other dtypes than float32 are refused before a kernel is entered."""
    if any(c.is_tensor(x) and c.backend.dtype(x) != "float32" for x in c.args):
        c.refuse(NotImplementedError, "no kernel for the dtype")
    return c.right()


def _never_autograd(c: Intercepted) -> Any:
    """A kernel for an Autograd key is never entered."""
    return None if c.args[1].startswith("Autograd") else c.right()


def _first(c: Intercepted) -> Any:
    return next(x for x in c.args if c.is_tensor(x))


def _unseen(c: Intercepted) -> Any:
    """Modes are off while a backward pass runs."""
    contexts, operator, *rest = c.args
    if operator != "backward":
        return c.right()
    return c.do("within", tuple(k for k in contexts if not isinstance(k, Mode)), operator, *rest, **c.kwargs)


MUTANTS = (
    *rows(
        "dispatcher",
        ("autograd-comes-after-the-views",
         "dispatch/layers-are-entered-from-the-top dispatch/implicit-composite-comes-before-autograd "
         "dispatch/inference-mode-enters-no-autograd-kernel",
         ("register_kernel",),
         _register(lambda key, kernel: ("BackendSelect" if key == "AutogradCPU" else key, kernel))),
        ("negative-and-conjugate-are-swapped",
         "dispatch/layers-are-entered-from-the-top dispatch/included-keys-count-for-every-call", ("register_kernel",),
         _register(lambda key, kernel: ({"Negative": "Conjugate", "Conjugate": "Negative"}.get(key, key), kernel))),
        ("lowest-key-decides", "dispatch/functionalities-have-a-fixed-order", ("highest_key",), _lowest),
        ("order-of-the-set-decides", "dispatch/functionalities-have-a-fixed-order", ("highest_key",), _last_named),
        ("excluded-keys-count", "dispatch/excluded-keys-count-for-none", ("within",), _contexts(_without(Exclude))),
        ("included-keys-do-not-count", "dispatch/included-keys-count-for-every-call", ("within",),
         _contexts(_without(Include))),
        ("including-beats-excluding", "dispatch/excluded-keys-count-for-none", ("within",), _contexts(_include_wins)),
        ("threads-share-their-keys", "dispatch/key-state-belongs-to-its-thread dispatch/mode-belongs-to-its-thread",
         ("within",), _contexts(_without(Thread))),
        ("cpu-kernel-serves-every-device", "dispatch/missing-kernel-raises", ("register_kernel",), _both_backends),
        ("fallthrough-is-entered", "dispatch/fallthrough-keys-are-skipped", ("register_kernel",),
         _register(lambda key, kernel: (key, Kernel(key, "below") if kernel.action == "skip" else kernel))),
        ("state-leaks-after-an-exception", "dispatch/exceptions-leave-the-dispatcher-as-it-was",
         ("within", "suite::", "thread_keys", "release_operators"), _leaked),
        ("lists-do-not-count", "dispatch/all-tensor-arguments-count", _OWN, _lists_ignored),
        ("only-the-first-tensor-counts", "dispatch/all-tensor-arguments-count", _OWN, _optionals_ignored),
        ("keywords-do-not-count", "dispatch/all-tensor-arguments-count", _OWN, _keywords_ignored),
        ("missing-kernel-falls-back-to-cpu", "dispatch/missing-kernel-raises", _OWN,
         accepts(NotImplementedError, _fallback_to_cpu)),
        ("missing-kernel-is-a-lookup-error", "dispatch/missing-kernel-raises", _OWN,
         raises(LookupError, NotImplementedError)),
        ("missing-kernel-gives-the-input", "dispatch/missing-kernel-raises", _OWN,
         accepts(NotImplementedError, _none_of_them)),
        ("double-definition-is-accepted", "dispatch/defining-an-operator-twice-raises", ("define_operator",),
         accepts(RuntimeError, lambda c: None)),
        ("first-kernel-stays", "dispatch/later-kernel-replaces-the-earlier", ("register_kernel", "release_operators"),
         _first_kernel_stays),
        ("removed-kernel-stays", "dispatch/kernels-are-found-at-run-time dispatch/later-kernel-replaces-the-earlier",
         ("remove_kernel",), lambda c: None),
        ("composite-comes-before-direct",
         "dispatch/direct-kernel-comes-first dispatch/order-of-registration-does-not-matter",
         ("register_kernel", "release_operators"), _composite_first),
        ("implicit-composite-is-explicit",
         "dispatch/explicit-composite-comes-before-implicit "
         "dispatch/composite-is-differentiated-through-its-parts dispatch/mode-sees-operators-from-outside",
         ("register_kernel",), _register(lambda key, kernel: (key.replace("Implicit", "Explicit"), kernel))),
        ("composite-serves-cpu-alone", "dispatch/composite-runs-on-every-backend", ("register_kernel",),
         _register(lambda key, kernel: ("CPU" if key.startswith("Composite") else key, kernel))),
        ("unknown-key-is-cpu", "dispatch/malformed-registrations-raise", ("register_kernel",),
         accepts(RuntimeError, lambda c: c.do("register_kernel", c.args[0], "CPU", c.args[2]))),
        ("superfluous-arguments-are-dropped",
         "dispatch/arguments-are-checked-before-kernels dispatch/overload-is-chosen-by-arguments", _OWN,
         _tolerates(_extra_dropped)),
        ("unknown-arguments-are-dropped", "dispatch/arguments-are-checked-before-kernels", _OWN,
         _tolerates(_unknown_dropped)),
        ("wrong-types-are-converted", "dispatch/arguments-are-checked-before-kernels", _OWN, _tolerates(_truncated)),
        ("exceptions-of-kernels-are-swallowed", "dispatch/kernel-exceptions-reach-the-caller", _OWN, _swallows),
        ("exceptions-of-kernels-change-class", "dispatch/kernel-exceptions-reach-the-caller", _OWN,
         raises(RuntimeError, ValueError)),
        ("keys-follow-requires-grad", "dispatch/requires-grad-changes-no-key", ("dispatch_keys",),
         _keys_follow_gradients),
        ("meta-tensors-have-cpu-keys", "dispatch/meta-tensors-have-keys-of-their-own", ("dispatch_keys",),
         _keys_of_cpu),
        ("keys-see-the-sizes", "dispatch/keys-say-where-and-how-data-is-kept", ("dispatch_keys",), _keys_see_the_size),
    ),
    *rows(
        "dispatcher",
        ("sparse-tensors-have-dense-keys", "dispatch/sparse-tensors-have-keys-of-their-own", ("dispatch_keys",),
         _keys_of_dense),
        ("sparse-tensors-keep-their-dense-key", "dispatch/sparse-tensors-have-keys-of-their-own", ("dispatch_keys",),
         _both_keys),
    ),
    *rows(
        "dispatcher",
        ("fallbacks-come-before-kernels", "dispatch/fallback-serves-operators-without-kernel",
         ("register_fallback", "register_kernel", "release_operators"), _fallback_first),
        ("fallbacks-are-never-entered", "dispatch/fallback-serves-operators-without-kernel", ("register_fallback",),
         lambda c: None),
        ("keywords-do-not-reach-kernels", "dispatch/kernels-get-all-arguments", ("suite::",), _without_keywords),
        ("kernels-get-unconverted-numbers", "dispatch/kernels-get-all-arguments", ("dispatch_log",), _unconverted),
        ("factories-of-others-are-not-selected", "dispatch/factory-options-pick-the-kernel", ("register_kernel",),
         _not_selected),
        ("gradients-of-wrappers-are-bare", "dispatch/wrapper-passes-through-backward", ("gradient_on_wrapper",),
         _bare_gradient),
        ("gradients-of-wrappers-are-ones", "dispatch/wrapper-passes-through-backward", ("gradient_on_wrapper",),
         _unscaled_gradient),
        ("views-count-elements", "dispatch/dispatch-cost-is-constant[]", ("select", "slice", "unsqueeze"), _counting),
    ),
    *rows(
        "dispatcher",
        ("inference-tensors-have-the-keys-of-copies", "dispatch/inference-tensors-have-no-autograd-key",
         ("dispatch_keys",), _keys_of_a_copy),
        ("threads-start-with-autocast", "dispatch/threads-start-without-autocast", ("thread_keys", "within"),
         _autocast_on),
        ("dtype-comes-before-the-device", "dispatch/device-comes-before-dtype", ("suite::",), _only_floats),
        ("autograd-kernels-are-passed-over", "dispatch/autograd-kernel-runs-before-the-backend-kernel",
         ("register_kernel",), _never_autograd),
        ("undeclared-dtypes-are-taken", "dispatch/kernels-declare-their-dtypes[]", _DECLARED,
         accepts(NotImplementedError, _first)),
        ("products-and-reads-join-devices", "dispatch/products-and-index-reads-check-devices[]", _CROSSED,
         accepts(RuntimeError, _first)),
        ("modes-are-off-in-backward", "dispatch/mode-sees-backward", ("within",), _unseen),
    ),
)

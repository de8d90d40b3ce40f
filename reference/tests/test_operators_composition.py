"""Kernels made of operators: their kept calls run the same parts again for the same numbers, recorded ones too."""

from __future__ import annotations

import gaugeblock as gb
import pytest
from gaugeblock.operators.composition import Part, Unrecorded, composite
from gaugeblock.operators.networks.losses import hinge_embedding_loss, kl_div
from gaugeblock.operators.plan import Planned

from .cached import CACHED

F = gb.nn.functional


@composite
def weighted(part: Part, self: gb.Tensor, other: gb.Tensor, factor: float) -> tuple[gb.Tensor, gb.Tensor]:
    product = part("mul.Tensor", self, other)
    return part("sum", part("mul.Scalar", product, factor)), product


def test_a_call_is_made_of_the_calls_of_its_parts() -> None:
    x, y = gb.tensor([1.0, 2.0]), gb.tensor([3.0, 5.0])
    planned = weighted.planned(x, y, 0.5)
    assert [one.tolist() for one in planned.result] == [6.5, [3.0, 10.0]]
    assert planned.call is not None and planned.operands == (x, y, 0.5)
    again = planned.call(y, y, 0.5)
    assert [one.tolist() for one in again] == [17.0, [9.0, 25.0]]


@pytest.mark.parametrize("number", [0.25, 1, -0.5, float("nan")])
def test_another_number_is_declined(number: float) -> None:
    x = gb.tensor([1.0, 2.0])
    planned = weighted.planned(x, x, 0.5)
    assert planned.call is not None and planned.call(x, x, number) is None


def test_zeros_of_either_sign_are_told_apart() -> None:
    x = gb.tensor([1.0, 2.0])
    planned = weighted.planned(x, x, 0.0)
    assert planned.call is not None
    assert planned.call(x, x, 0.0)[0].item() == 0.0 and planned.call(x, x, -0.0) is None


def test_a_tensor_from_elsewhere_leaves_nothing_to_keep() -> None:
    @composite
    def scaled(part: Part, self: gb.Tensor) -> gb.Tensor:
        return part("mul.Tensor", self, gb.tensor([2.0, 2.0]))

    planned = scaled.planned(gb.tensor([1.0, 2.0]))
    assert (planned.result.tolist(), planned.call) == ([2.0, 4.0], None)


def test_a_part_that_declines_declines_the_call() -> None:
    @composite
    def added(part: Part, self: gb.Tensor) -> gb.Tensor:
        return part("add.Tensor", part("neg", self), self)

    x = gb.tensor([1.0, 2.0])
    call = added.planned(x).call
    assert call is not None and call(x).tolist() == [0.0, 0.0]
    assert call(gb.tensor([1.0, 2.0]).numpy()) is None


def test_a_call_that_is_recorded_records_again() -> None:
    x, y = gb.tensor([1.0, 2.0], requires_grad=True), gb.tensor([3.0, 5.0])
    call = weighted.planned(x, y, 0.5).call
    assert call is not None
    for _ in range(2):
        x.grad = None
        total, product = call(x, y, 0.5)
        assert (total.item(), product.tolist()) == (6.5, [3.0, 10.0])
        total.backward()
        assert x.grad is not None and x.grad.tolist() == [1.5, 2.5]
    with gb.no_grad():
        assert call(x, y, 0.5) is None


def test_while_nothing_is_recorded_a_kernel_runs_on_plain_tensors() -> None:
    x, y = gb.tensor([1.0, 2.0], requires_grad=True), gb.tensor([3.0, 5.0])
    call = Unrecorded(weighted)
    for number, expected in ((0.5, 6.5), (0.5, 6.5), (2.0, 26.0)):
        with gb.no_grad():
            total, product = call(x, y, number)
        assert (total.item(), product.tolist(), total.requires_grad) == (expected, [3.0, 10.0], False)
    total, _ = call(x, y, 0.5)  # in a thread that records, while another one does not
    total.backward()
    assert x.grad is not None and x.grad.tolist() == [1.5, 2.5]


def test_what_a_kernel_was_given_comes_back_as_it_was_and_views_know_their_base() -> None:
    @composite
    def same(part: Part, self: gb.Tensor) -> tuple[gb.Tensor, gb.Tensor, gb.Tensor]:
        return self, part("unsqueeze", self, 0), part("neg", self)

    x = gb.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(3):
        with gb.no_grad():
            kept, view, fresh = Unrecorded(same)(x)
        assert kept is x and view._base is x and fresh.tolist() == [-1.0, -2.0] and not fresh.requires_grad


def test_views_of_parts_begin_where_the_tensor_does() -> None:
    flat = gb.arange(32.0)
    weight = gb.ones(1, 1, 2, dtype=gb.complex64)
    for start in (0, 2, 4):
        x = gb.view_as_complex(flat.reshape(16, 2))[start : start + 4].reshape(1, 1, 4)
        sums = [complex(4 * k + 2, 4 * k + 4) for k in range(start, start + 3)]
        assert F.conv1d(x, weight).tolist() == [[sums]]
        y = flat[start : start + 6].view(1, 6)
        assert gb.allclose(F.glu(y), y[:, :3] * gb.sigmoid(y[:, 3:]))


@pytest.mark.parametrize("recorded", [(True, True, False, False, True), (False, False, True, True, False)])
def test_statistics_are_updated_once_whether_gradients_are_recorded_or_not(recorded: tuple[bool, ...]) -> None:
    x, weight = gb.arange(16.0).reshape(4, 4), gb.ones(4, requires_grad=True)
    for mode in recorded:
        mean, variance = gb.zeros(4), gb.ones(4)
        with gb.set_grad_enabled(mode):
            found = F.batch_norm(x, mean, variance, weight, None, training=True, momentum=0.5)
        assert mean.tolist() == [3.0, 3.5, 4.0, 4.5] and found.requires_grad is mode


def test_kept_calls_that_are_recorded_take_other_tensors() -> None:
    for shift in (0.0, 1.0, 2.0):
        x, w = (gb.full((1, 1, 3, 3), 1.0 + shift, requires_grad=True) for _ in range(2))
        gb.nn.functional.conv2d(x, w, padding=1).sum().backward()
        assert x.grad is not None and x.grad[0, 0, 1].tolist() == [6 * (1 + shift), 9 * (1 + shift), 6 * (1 + shift)]
        assert gb.equal(x.grad, w.grad)
    x = gb.ones(1, 1, 2, 2, requires_grad=True)
    gb.nn.functional.conv2d(x, x).backward()
    assert x.grad is not None and x.grad.tolist() == [[[[2.0, 2.0], [2.0, 2.0]]]]


@CACHED
def test_losses_are_kept_with_their_numbers() -> None:
    x, y = gb.tensor([0.25, 0.5, 2.0]), gb.tensor([1.0, -1.0, 1.0])
    for _ in range(3):
        assert F.hinge_embedding_loss(x, y).item() == pytest.approx((0.25 + 0.5 + 2.0) / 3)
        assert F.hinge_embedding_loss(x, y, margin=0.25).item() == pytest.approx(2.25 / 3)
        assert F.mse_loss(x, y, reduction="none").tolist() == [0.5625, 2.25, 1.0]
        assert F.huber_loss(x, y, delta=1.0).item() == pytest.approx((0.28125 + 1.0 + 0.5) / 3)
    kept = {key[0]: bool(entry) for key, entry in x.meta.calls.items()}
    assert kept["hinge_embedding_loss"] and kept["mse_loss"] and kept["huber_loss"]


def test_plans_of_losses_take_their_operands_in_order() -> None:
    x, y = gb.tensor([-0.5, -1.0]), gb.tensor([0.5, 0.25])
    for planned in (hinge_embedding_loss.planned(x, y), kl_div.planned(x, y, 2)):
        assert isinstance(planned, Planned) and planned.call is not None and planned.operands is not None
        assert gb.equal(planned.call(*planned.operands), planned.result)


def test_values_are_looked_at_in_each_call() -> None:
    good, target = gb.tensor([0.25, 0.75]), gb.tensor([0.0, 1.0])
    for _ in range(3):
        assert F.binary_cross_entropy(good, target).item() == pytest.approx(0.2876821)
    with pytest.raises(RuntimeError, match="between 0 and 1"):
        F.binary_cross_entropy(gb.tensor([0.25, 1.5]), target)


def test_classes_that_are_ignored_or_not_there_are_seen_in_each_call() -> None:
    scores = gb.tensor([[-1.0, -2.0], [-3.0, -4.0]])
    for _ in range(3):
        assert F.nll_loss(scores, gb.tensor([0, 1])).item() == 2.5
        assert F.nll_loss(scores, gb.tensor([0, -100])).item() == 1.0
        assert F.cross_entropy(scores, gb.tensor([0, 1])).item() == pytest.approx(0.8132617)
        with pytest.raises(IndexError, match=r"Target 2 is out of bounds"):
            F.nll_loss(scores, gb.tensor([0, 2]))


def test_a_call_declines_what_another_default_dtype_makes_of_its_parts() -> None:
    @composite
    def halved(part: Part, self: gb.Tensor) -> gb.Tensor:
        return part("neg", part("div.Scalar", self, 2))

    x = gb.tensor([1, 4])
    call = halved.planned(x).call
    assert call is not None and call(x).dtype is gb.float32
    gb.set_default_dtype(gb.float64)
    try:
        assert call(x) is None and halved(x).dtype is gb.float64
    finally:
        gb.set_default_dtype(gb.float32)


def test_a_kernel_that_writes_in_place_runs_once_while_nothing_is_recorded() -> None:
    @composite
    def doubled_(part: Part, self: gb.Tensor) -> gb.Tensor:
        return part("mul_.Scalar", self, 2.0)

    x = gb.tensor([1.0, 2.0], requires_grad=True)
    call = Unrecorded(doubled_)
    with gb.no_grad():
        assert [call(x) is x for _ in range(3)] == [True] * 3
    assert x.tolist() == [8.0, 16.0] and x._version == 3


class Ran:
    """Notes the operators that ran, in order, while a kernel is planned."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.computed = list[tuple[int, ...]]()
        inner = Planned.compute

        def compute(planned: Planned[object], outs: list[gb.Tensor], values: object = None) -> None:
            self.computed.append(tuple(outs[0].shape))
            inner(planned, outs, values)  # type: ignore[arg-type]

        monkeypatch.setattr(Planned, "compute", compute)


@composite
def turned(part: Part, self: gb.Tensor) -> gb.Tensor:
    return part("permute", part("view", part("exp", part("neg", self)), (2, 1, 3)), (2, 1, 0))


def test_the_last_part_waits_for_the_result_and_views_of_it_do_not_end_that(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = Ran(monkeypatch)
    planned = turned.planned(gb.zeros(2, 3))
    assert ran.computed == [(2, 3)] and planned.metas[0].sizes == (3, 1, 2)  # neg, which exp reads
    assert planned.result.tolist() == [[[1.0, 1.0]]] * 3
    assert len(ran.computed) == 3  # the kernel, and its last part


def test_the_last_part_writes_through_its_views_into_a_given_tensor() -> None:
    x, out = gb.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]), gb.empty_strided((3, 1, 2), (1, 3, 3))
    wanted = turned(x)
    planned = turned.planned(x)
    assert planned.write([out]) and out.tolist() == wanted.tolist() and out._version == 1
    again = planned.writer()
    assert again is not None and again(out.zero_(), x) is out
    assert out.tolist() == wanted.tolist() and out._version == 3


def test_parts_that_make_several_results_write_all_of_them() -> None:
    @composite
    def both(part: Part, self: gb.Tensor) -> tuple[gb.Tensor, gb.Tensor]:
        return part("amin", self, (1,)), part("amax", self, (1,))

    x, low, high = gb.tensor([[1.0, 5.0], [7.0, 2.0]]), gb.empty(2), gb.empty(2)
    planned = both.planned(x)
    assert planned.write([low, high]) and (low.tolist(), high.tolist()) == ([1.0, 2.0], [5.0, 7.0])
    again = planned.writer()
    assert again is not None and again(low, high, x.neg()) is low
    assert (low.tolist(), high.tolist()) == ([-5.0, -7.0], [-1.0, -2.0])
    assert again(x[0], high, x) is None and x.tolist() == [[1.0, 5.0], [7.0, 2.0]]  # on the memory that is read


def test_a_loop_reads_what_one_before_it_wrote_into_a_given_tensor() -> None:
    x = gb.arange(12.0).reshape(2, 6)
    wanted = gb.native_group_norm(x, None, None, 2, 6, 1, 2, 1e-5)
    outs = tuple(gb.full_like(one, -1.0) for one in wanted)
    for given in (x, x + 1, x):
        made = gb.ops.aten.native_group_norm.out(
            given, None, None, 2, 6, 1, 2, 1e-5, out0=outs[0], out1=outs[1], out2=outs[2]
        )
        assert made[0] is outs[0]
        assert outs[0].tolist() == wanted[0].tolist() and outs[1].tolist() == gb.native_group_norm(
            given, None, None, 2, 6, 1, 2, 1e-5
        )[1].tolist()


def test_a_part_that_writes_comes_after_those_that_read_before() -> None:
    @composite
    def changed(part: Part, self: gb.Tensor) -> gb.Tensor:
        twice = part("mul.Scalar", self, 2)
        part("neg_", self)
        return twice

    x = gb.tensor([1.0, 2.0])
    assert changed.planned(x).result.tolist() == [2.0, 4.0] and x.tolist() == [-1.0, -2.0]


def test_a_list_of_tensors_is_written_into_a_given_tensor() -> None:
    x, out = gb.tensor([1.0, 2.0]), gb.empty(2, 2)
    for factor in (1.0, 2.0, 3.0):
        assert gb.column_stack([x * factor, x], out=out) is out
        assert out.tolist() == [[factor, 1.0], [2 * factor, 2.0]]


@composite
def _in_two_sizes(part: Part, self: gb.Tensor) -> gb.Tensor:
    sizes = [*self.shape]
    same = part("expand", self, sizes)
    sizes.insert(0, 3)
    return part("add.Tensor", same, part("expand", self, sizes))


@pytest.mark.parametrize("recorded", [False, True])
def test_a_kernel_may_change_a_list_after_a_part_took_it(recorded: bool) -> None:
    view = gb.tensor([1.0, 2.0, 3.0])[:2]
    x = view.clone().requires_grad_(recorded)
    planned = _in_two_sizes.planned(x)
    assert planned.call is not None
    for one in (planned.result, planned.call(x), planned.call(view.requires_grad_(recorded))):
        assert one.tolist() == [[2.0, 4.0]] * 3


@pytest.mark.parametrize("recorded", [False, True])
def test_take_along_dim_may_take_more_than_there_is(recorded: bool) -> None:
    whole, indices = gb.arange(12.0), gb.tensor([[0], [1], [2], [0], [-1]]).expand(2, 5, 1)
    for x in (whole[:6].clone(), whole[:6], whole[:6].clone()):
        taken = x.reshape((2, 3, 1)).requires_grad_(recorded).take_along_dim(indices, 1)
        assert taken.flatten(1).tolist() == [[0.0, 1.0, 2.0, 0.0, 2.0], [3.0, 4.0, 5.0, 3.0, 5.0]]


def test_einsum_of_no_tensors_is_refused() -> None:
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"einsum\(\): at least one operand must be provided"):
            gb.ops.aten.einsum("", [])


@pytest.mark.parametrize("lazy", [(True, True, True), (True, False, False), (False, True, False), (False, False, True)])
def test_linear_reads_lazily_conjugated_operands(lazy: tuple[bool, ...]) -> None:
    numbers = gb.tensor([[1 + 2j, 3 - 1j], [2 - 2j, 1j]])
    given = [one.conj() if late else one for one, late in zip((numbers, numbers + 1, numbers[0]), lazy, strict=True)]
    plain = [one.resolve_conj() for one in given]
    want = (plain[0] @ plain[1].t() + plain[2]).tolist()
    for _ in range(3):
        assert gb.nn.functional.linear(*given).tolist() == want


def test_a_view_of_parts_of_elements_serves_tensors_with_an_offset() -> None:
    x = gb.tensor([1j, 2 + 0j, 3 + 1j, 4 + 0j])
    for _ in range(3):
        assert gb.isreal(x).tolist() == [False, True, False, True]
        assert gb.isreal(x[1:]).tolist() == [True, False, True]
        assert gb.isreal(x.narrow(0, 1, 2)).tolist() == [True, False]
    assert gb.unbind_copy(gb.zeros(0, 2)) == ()

"""Special functions: values worked out with 30 digits, ends of the domains, and the rules of pointwise operators."""

from __future__ import annotations

import math

import gaugeblock as gb
import pytest

INF, NAN = math.inf, math.nan
VALUES = [
    ("i0", [0.0, 1.5, -7.5, 20.0], [1.0, 1.646723189772891, 268.16131151518937, 43558282.559553534]),
    ("special_i0e", [0.25, -9.0, 800.0], [0.7910171621397194, 0.134959524581723, 0.014106945005869185]),
    ("special_i1", [1e-09, -1.5, 8.5], [5e-10, -0.9816664285779075, 641.6199025400667]),
    ("special_i1e", [0.25, -9.0, 800.0], [0.09811262869736824, -0.1272249839358912, 0.014098125406526997]),
    ("special_modified_bessel_k0", [0.01, 1.75, 2.5], [4.721244730161095, 0.1553798123866036, 0.06234755320036619]),
    ("special_modified_bessel_k1", [0.01, 50.0], [99.97389411829624, 3.4441022267175555e-23]),
    ("special_scaled_modified_bessel_k0", [0.5, 900.0], [1.5241093857739094, 0.04177133915254879]),
    ("special_scaled_modified_bessel_k1", [0.5, 900.0], [2.731009708211786, 0.041794539013033705]),
    ("special_bessel_j0", [2.404825557695773, 6.0], [-6.10876525973673e-17, 0.15064525725099692]),
    ("special_bessel_j1", [1e-08, -4.5, 100.0], [5e-09, 0.23106043192337064, -0.07714535201411216]),
    ("special_bessel_y0", [0.1, 4.0, 7.0], [-1.5342386513503667, -0.016940739325064992, -0.025949743967209265]),
    ("special_bessel_y1", [0.1, 4.0, 100.0], [-6.4589510947020266, 0.3979257105571, -0.020372312002759792]),
    ("special_spherical_bessel_j0", [0.1, -5.0, 0.0], [0.9983341664682815, -0.1917848549326277, 1.0]),
    ("special_airy_ai", [-10.0, -3.0, 0.0], [0.04024123848644319, -0.37881429367765806, 0.3550280538878172]),
    ("special_airy_ai", [-2.338107410459767, 6.0], [2.743319340666283e-17, 9.947694360252889e-06]),
    ("special_ndtr", [-30.0, -2.0, 3.0], [4.906713927148187e-198, 0.02275013194817921, 0.9986501019683699]),
    ("special_log_ndtr", [-30.0, 0.5, 9.0], [-454.3212439563432, -0.3689464152886564, -1.1285884059538407e-19]),
    ("special_ndtri", [1e-200, 0.3, 0.5000001], [-30.20559417957964, -0.5244005127080408, 2.506628273311648e-07]),
    ("special_erfcx", [-3.0, 0.0, 1.0, 30.0], [16205.988853999586, 1.0, 0.427583576155807, 0.01879588886141675]),
    ("special_entr", [0.25, 3.0, 0.0, -1.0], [0.34657359027997264, -3.295836866004329, 0.0, -INF]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "expected"), VALUES)
def test_values(name: str, given: list[float], expected: list[float]) -> None:
    function = getattr(gb, name)
    found = function(gb.tensor(given, dtype=gb.float64))
    assert found.tolist() == pytest.approx(expected, rel=2e-14, abs=0)
    strided = gb.tensor(given * 4, dtype=gb.float64).view(4, -1).t()[:, ::2]
    assert function(strided)[:, 1].tolist() == found.tolist()
    single = gb.tensor(expected, dtype=gb.float32)
    rounded = function(gb.tensor(given, dtype=gb.float64).float())
    wide = function(gb.tensor(given, dtype=gb.float64).float().double())
    assert rounded.tolist() == wide.float().tolist() or rounded.tolist() == pytest.approx(single.tolist(), rel=1e-6)


@pytest.mark.parametrize("name", sorted({name for name, _, _ in VALUES}))
def test_nan_stays(name: str) -> None:
    for dtype in (gb.float32, gb.float64):
        assert getattr(gb, name)(gb.tensor([NAN], dtype=dtype)).isnan().item()


def test_ends_of_the_domains() -> None:
    ends = gb.tensor([0.0, -1.0, INF], dtype=gb.float64)
    assert gb.special.modified_bessel_k0(ends).tolist()[::2] == [INF, 0]
    assert gb.special.modified_bessel_k0(ends).isnan().tolist() == [False, True, False]
    assert gb.special.bessel_y1(ends).tolist()[::2] == [-INF, 0]
    assert gb.special.ndtri(gb.tensor([0.0, 1.0, 0.5])).tolist() == [-INF, INF, 0]
    assert gb.special.log_ndtr(gb.tensor([-INF, INF])).tolist() == [-INF, 0]
    assert gb.special.xlog1py(gb.tensor([0.0, 0.0, 2.0]), gb.tensor([NAN, -2.0, 0.5])).isnan().tolist() == [
        True,
        False,
        False,
    ]
    assert gb.special.xlog1py(2, gb.tensor([0.5])).item() == pytest.approx(2 * math.log1p(0.5))


def test_zeta_and_polygamma() -> None:
    zeta = gb.special.zeta(gb.tensor([2.0, 3.0, 1.0, 0.5, 2.0, 3.0]), gb.tensor([1.0, 2.0, 1.0, 1.0, -1.0, -1.5]))
    assert zeta.tolist()[:3] == pytest.approx([math.pi**2 / 6, 0.2020569031595943, INF])
    assert math.isnan(zeta[3].item()) and zeta[4].item() == INF
    assert zeta[5].item() == pytest.approx(0.118102029)
    x = gb.tensor([1.0, 0.5, -1.5], dtype=gb.float64)
    assert gb.polygamma(1, x).tolist() == pytest.approx([math.pi**2 / 6, math.pi**2 / 2, 9.37924664498912], rel=1e-14)
    assert x.polygamma(2).tolist()[:2] == pytest.approx([-2.404113806319188, -16.82879664423432], rel=1e-14)
    assert x.polygamma_(0) is x and x[0].item() == pytest.approx(-0.5772156649015329)
    with pytest.raises(RuntimeError, match="negative n"):
        gb.polygamma(-1, x)


@pytest.mark.parametrize(
    ("a", "x", "share"),
    [
        (0.5, 0.5, 0.6826894921370859),
        (2.0, 3.0, 0.8008517265285442),
        (1000.0, 990.0, 0.3795213785379640),
        (1e6, 1.001e6, 0.8413447863683402),
        (3.0, 0.0, 0.0),
        (0.0, 1.0, 1.0),
        (INF, 1.0, 0.0),
        (1.0, INF, 1.0),
    ],
)
def test_incomplete_gamma(a: float, x: float, share: float) -> None:
    operands = gb.tensor(a, dtype=gb.float64), gb.tensor(x, dtype=gb.float64)
    assert gb.igamma(*operands).item() == pytest.approx(share, rel=1e-9)
    assert gb.igammac(*operands).item() == pytest.approx(1 - share, rel=1e-9, abs=1e-15)
    assert gb.igamma(-gb.ones(1), gb.ones(1)).isnan().item()
    assert gb.special.gammainc(*operands).item() == gb.igamma(*operands).item()


def test_orthogonal_polynomials() -> None:
    x, n = gb.tensor([0.3, 2.0], dtype=gb.float64), gb.tensor([[3], [9], [-1]])
    special = gb.special
    assert special.chebyshev_polynomial_t(x, n)[0].tolist() == pytest.approx([-0.792, 26])
    assert special.chebyshev_polynomial_t(x, n)[1].tolist() == pytest.approx([math.cos(9 * math.acos(0.3)), 70226])
    assert special.chebyshev_polynomial_u(x, 3).tolist() == pytest.approx([-0.984, 56])
    assert special.chebyshev_polynomial_v(x, 2).tolist() == pytest.approx([-1.24, 11])
    assert special.chebyshev_polynomial_w(x, 2).tolist() == pytest.approx([-0.04, 19])
    assert special.shifted_chebyshev_polynomial_t(x, 2).tolist() == pytest.approx([-0.68, 17])
    assert special.hermite_polynomial_h(x, 3).tolist() == pytest.approx([-3.384, 40])
    assert special.hermite_polynomial_he(x, 3).tolist() == pytest.approx([-0.873, 2])
    assert special.laguerre_polynomial_l(x, 2).tolist() == pytest.approx([0.445, -1])
    assert special.legendre_polynomial_p(x, 3).tolist() == pytest.approx([-0.3825, 17])
    assert special.legendre_polynomial_p(2, n[:1, 0]).dtype is gb.float32
    assert special.hermite_polynomial_h(x, n)[2].tolist() == [0, 0]


def test_numbers_taken_apart_and_put_together() -> None:
    mantissa, exponent = gb.frexp(gb.tensor([8.0, -0.3, 0.0, INF]))
    assert mantissa.tolist() == pytest.approx([0.5, -0.6, 0, INF]) and exponent.tolist()[:3] == [4, -1, 0]
    z = gb.complex(gb.tensor([1.0, 2.0]), gb.tensor(3.0))
    assert z.tolist() == [1 + 3j, 2 + 3j] and gb.isreal(z - 3j).tolist() == [True, True]
    assert gb.polar(gb.tensor([2.0]), gb.tensor([math.pi / 2])).tolist()[0] == pytest.approx(2j, abs=1e-6)
    power = gb.float_power(gb.tensor([2, 3]), -1)
    assert power.dtype is gb.float64 and power.tolist() == pytest.approx([0.5, 1 / 3])
    with pytest.raises(RuntimeError, match="requires dtype Double"):
        gb.ones(1).float_power_(2)
    assert gb.mvlgamma(gb.tensor([2.0]), 2).item() == pytest.approx(0.4515827)


def test_forms_and_dtypes() -> None:
    x = gb.tensor([1, 2])
    assert gb.special.i0e(x).dtype is gb.float32
    out = gb.empty(0, dtype=gb.float64)
    assert gb.special.i0e(x, out=out) is out and out.shape == (2,)
    y = gb.tensor([1.0, 2.0])
    assert y.i0_() is y and y[0].item() == pytest.approx(1.2660659)
    assert gb.igamma(y, y[:1]).shape == (2,)
    assert gb.special.zeta(gb.empty(3, device="meta"), 2).shape == (3,)
    for name in ("expit", "psi", "gammaln", "softmax", "logsumexp", "multigammaln"):
        assert callable(getattr(gb.special, name))


def test_constants() -> None:
    assert (gb.pi, gb.e, gb.inf, gb.newaxis) == (math.pi, math.e, INF, None) and math.isnan(gb.nan)


def test_degrees_beyond_counting_end() -> None:
    n = gb.tensor([3.4e38, 1e18, 700.0, NAN, INF], dtype=gb.float64)
    special = gb.special
    assert special.chebyshev_polynomial_t(-1.0, n).tolist() == [0, 1, 1, 0, 0]
    assert special.chebyshev_polynomial_u(1.0, n).tolist()[:3] == [0, 1e18, 701]
    assert special.chebyshev_polynomial_t(1.0001, n)[2].item() == pytest.approx(9959.33, rel=1e-5)
    assert special.chebyshev_polynomial_v(-3.0, n).tolist()[1] == INF
    assert special.laguerre_polynomial_l(0.5, n).isnan().tolist() == [False, True, False, False, False]
    assert special.legendre_polynomial_p(-1.0, n).tolist()[1:3] == [1, 1]


def test_polygamma_of_orders_whose_factorial_is_no_float() -> None:
    x = gb.tensor([0.5, 2.0, 3.0], dtype=gb.float64)
    found = gb.special.polygamma(200, x).tolist()
    assert found[:2] == [-math.inf, -math.inf] and found[2] == pytest.approx(-9.89729332031205e278, rel=1e-11)
    assert gb.special.polygamma(2**50, gb.tensor(1.0, dtype=gb.float64)).item() == -math.inf


@pytest.mark.parametrize(
    ("name", "x", "value"),
    [
        ("i0", math.inf, math.inf),
        ("i0", -math.inf, math.inf),
        ("i0", 710.0, 3.345334558619655e306),
        ("i1", math.inf, math.inf),
        ("i1", -math.inf, -math.inf),
        ("i0e", math.inf, 0.0),
        ("modified_bessel_i1", -math.inf, -math.inf),
        ("bessel_j0", math.inf, 0.0),
        ("bessel_y1", 0.0, -math.inf),
        ("airy_ai", math.inf, 0.0),
        ("modified_bessel_k0", 5e-324, 744.5560034370396),
        ("modified_bessel_k1", 5e-324, math.inf),
        ("scaled_modified_bessel_k0", 5e-324, 744.5560034370396),
        ("scaled_modified_bessel_k1", 5e-324, math.inf),
        ("modified_bessel_k0", 1.0, 0.42102443824070834),
        ("ndtr", -10.0, 7.619853024160526e-24),
    ],
)
def test_limits_and_extremes(name: str, x: float, value: float) -> None:
    assert getattr(gb.special, name)(gb.tensor(x, dtype=gb.float64)).item() == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("a", "x", "value"),
    [
        (1e-310, 0.5, 5.5977359477617e-311),
        (1e-100, 1e-310, 7.132241631632527e-98),
        (1e-100, 0.001, 6.331539364136149e-100),
        (1e-20, 1e-100, 2.2968129363450303e-18),
    ],
)
def test_upper_incomplete_gamma_of_small_orders(a: float, x: float, value: float) -> None:
    given = gb.tensor(a, dtype=gb.float64), gb.tensor(x, dtype=gb.float64)
    assert gb.special.gammaincc(*given).item() == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("x", "value"),
    [
        (1e-300, -37.0471),
        (1e-20, -9.262340089798409),
        (1e-15, -7.941345326170998),
        (0.001, -3.0902323061678136),
        (0.25, -0.6744897501960817),
        (0.75, 0.6744897501960817),
        (0.9999999, 5.199337582290661),
    ],
)
def test_quantiles_of_the_normal_distribution(x: float, value: float) -> None:
    found = gb.special.ndtri(gb.tensor(x, dtype=gb.float64)).item()
    assert found == pytest.approx(value, rel=1e-5 if x == 1e-300 else 1e-12)
    assert gb.special.ndtr(gb.tensor(found, dtype=gb.float64)).item() == pytest.approx(x, rel=1e-11)


def test_branches_of_bessel_functions_meet_within_a_vector() -> None:
    x = gb.linspace(4.0, 9.0, 37, dtype=gb.float64)
    for name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "i0e", "i1e"):
        function = getattr(gb.special, name)
        alone = [function(x[k : k + 1]).item() for k in range(37)]
        assert function(x).tolist() == alone
        assert function(x.float()).tolist() == pytest.approx(alone, rel=1e-4, abs=1e-5)


def test_trigamma_on_both_sides_of_zero() -> None:
    x = gb.tensor([1.0, 0.5, 10.0, -0.5, 20.0], dtype=gb.float64)
    wanted = [1.6449340668482264, 4.934802200544679, 0.10516633568168575, 8.934802200544679, 0.05127082293520285]
    assert gb.polygamma(1, x).tolist() == pytest.approx(wanted, rel=1e-13)
    assert gb.polygamma(1, gb.tensor([0.0, -2.0, math.inf])).tolist() == [math.inf, math.inf, 0.0]

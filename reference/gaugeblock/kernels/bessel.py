"""The Bessel functions of order 0 and 1 and the Airy function Ai in float64: series near 0, waves or decay far out.

Near 0 the zeros of J0 and J1 are taken out as factors, each in two parts, so that the value is exact beside them. The
coefficients of Chebyshev series are computed at the nodes of degree 63 with 50 digits. HEAD tables are in x**2 up to
the first cut; TAIL tables in a falling power of x, with the leading behaviour taken out.
"""

from __future__ import annotations

import functools
import math

from .expression import F64, Expr, constant, select, when
from .functions import copysign, fabs, polynomial, sqrt
from .special import Library

I0_TAIL = (
    0.4022452055070544, 0.0033691164782556943, 6.889758346916825e-05, 2.8913705208347567e-06, 2.0489185894690638e-07,
    2.266668990498178e-08, 3.3962320257083865e-09, 4.94060238822497e-10, 1.1889147107846439e-11,
    -3.1499165279632416e-11, -1.3215811840447713e-11, -1.7941785315068062e-12, 7.180124451383666e-13,
    3.8527783827421426e-13, 1.54008621752141e-14, -4.150569347287222e-14, -9.554846698828307e-15,
    3.8116806693526224e-15, 1.7725601330565263e-15, -3.425485619677219e-16, -2.8276239805165836e-16,
    3.461222867697461e-17, 4.46562142029676e-17, -4.830504485944182e-18, -7.233180487874754e-18,
    9.921475412173699e-19, 1.193650890845982e-18,
)
I1_TAIL = (
    0.38928811750914005, -0.009761097491361469, -0.00011058893876262371, -3.882564808877691e-06,
    -2.512236237870209e-07, -2.6314688468895196e-08, -3.835380385964237e-09, -5.589743462196584e-10,
    -1.8974958123505413e-11, 3.2526035830154884e-11, 1.4125807436613782e-11, 2.0356285441470896e-12,
    -7.198551776245908e-13, -4.0835511110921974e-13, -2.1015418427726643e-14, 4.272440016711951e-14,
    1.0420276984128802e-14, -3.8144030724370075e-15, -1.8803547755107825e-15, 3.3082023109209285e-16,
    2.96262899764595e-16, -3.209525921993424e-17, -4.6503053684893586e-17, 4.414348323071708e-18,
    7.517296310842105e-18, -9.314178867326884e-19, -1.242193275194891e-18,
)
K0_HEAD = (
    -0.2676636966169514, 0.3442898999246285, 0.0359799365153615, 0.001264615411446926, 2.286212103119452e-05,
    2.5347910790261494e-07, 1.904516377220209e-09, 1.0349695257633625e-11, 4.2598161427910826e-14,
    1.3744654358807508e-16,
)
K1_HEAD = (
    0.7626501136694739, -0.3531559607765449, -0.12261118082265715, -0.006975723859639864, -0.0001730288957513052,
    -2.4334061415659684e-06, -2.213387630734726e-08, -1.4114883926335278e-10, -6.666901694199329e-13,
    -2.427449850519366e-15, -7.023863479386288e-18,
)
K0_TAIL = (
    1.2201515410329777, -0.0314481013119645, 0.0015698838857300533, -0.00012849549581627802, 1.39498137188765e-05,
    -1.8317555227191195e-06, 2.766813639445015e-07, -4.660489897687948e-08, 8.574034017414225e-09,
    -1.6975345093890614e-09, 3.5773972814003283e-10, -7.957489244477396e-11, 1.8559491149549264e-11,
    -4.514597883374519e-12, 1.1403405882073441e-12, -2.9800969231481784e-13, 8.032890775068375e-14,
    -2.2275133267462965e-14, 6.340076476276646e-15, -1.848593377920907e-15, 5.5120559994043335e-16,
    -1.6782311257549006e-16, 5.2103917776435543e-17, -1.6475805939842632e-17, 5.3004337711773354e-18,
    -1.7331712005821001e-18,
)
K1_TAIL = (
    1.3603130952422213, 0.10392373657681724, -0.002857816859622779, 0.00019521551847135162, -1.936197974166083e-05,
    2.406484947837217e-06, -3.5019606030878126e-07, 5.7410841254500495e-08, -1.0345762465678097e-08,
    2.0150497551970347e-09, -4.1903547593419254e-10, 9.218315187605315e-11, -2.129967838427791e-11,
    5.139639673482343e-12, -1.2891739609498229e-12, 3.348419666052243e-13, -8.976705182010146e-14,
    2.4771544242195988e-14, -7.0198370892147685e-15, 2.038703166239861e-15, -6.057047270643018e-16,
    1.8380935752430455e-16, -5.689462849193648e-17, 1.7940510478863572e-17, -5.7567444820733025e-18,
    1.8778651901623268e-18,
)
J0_HEAD = (
    0.003433775195443006, -0.001974794511586004, 0.0002472802343211527, -1.7951655945298798e-05,
    8.614299472476033e-07, -2.9521425632684864e-08, 7.609233569353203e-10, -1.531306324653633e-11,
    2.475309497955091e-13, -3.2866707304697332e-15, 3.6501313955036886e-17, -3.4418858692258494e-19,
)
J1_HEAD = (
    0.0004546530983912736, -0.00021348093861811067, 2.2341253121436404e-05, -1.38767402387634e-06,
    5.806885161405081e-08, -1.7621593742140618e-09, 4.072176387317086e-11, -7.422794511260187e-13,
    1.096138032866157e-14, -1.3392526677386197e-16, 1.3771260961669168e-18, -1.208775673915002e-20,
)
Y0_HEAD = (
    0.20605257634092228, -0.13017522381095709, -0.291894720865317, 0.10268287966073635, -0.014279159901781987,
    0.0011164629864165486, -5.677525113380376e-05, 2.0406703657627165e-06, -5.476431029755533e-08,
    1.141220652090372e-09, -1.9021689490013906e-11, 2.5954970583106197e-13, -2.9540707750193604e-15,
    2.848154182311252e-17,
)
Y1_HEAD = (
    0.0531074450560213, 0.14189450894667655, -0.08834328868289824, 0.017111109934210778, -0.0017057852565133666,
    0.000105257530278434, -4.44507526565354e-06, 1.3699277670028168e-07, -3.222883768023259e-09,
    5.984534092223177e-11, -9.000965667133812e-13, 1.1194186560306676e-14, -1.1707921590181557e-16,
    1.0444110354608508e-18,
)
P0_TAIL = (
    0.9986523398776954, -0.00132937162125028, 1.761305551290559e-05, -6.319367118733069e-07, 3.948825587093808e-08,
    -3.5409678948019087e-09, 4.103246366872386e-10, -5.765747662655223e-11, 9.423105578391987e-12,
    -1.7401405706283885e-12, 3.5557750052411783e-13, -7.914641501338115e-14, 1.8959456362961828e-14,
    -4.841483019175697e-15, 1.3078555195901338e-15, -3.714050821413154e-16, 1.103023177871277e-16,
    -3.410936210498114e-17, 1.0942187869810236e-17, -3.629905673795297e-18, 1.2418028891673288e-18,
)
Q0_TAIL = (
    -0.024729405164334986, 0.00026380388099845215, -6.43759824253235e-06, 3.247418641128558e-07,
    -2.548657948406561e-08, 2.7026065526268818e-09, -3.5701518102394104e-10, 5.5817142695807205e-11,
    -9.977816055305666e-12, 1.990142733561329e-12, -4.3502412086017667e-13, 1.0280254324855211e-13,
    -2.5986485312118355e-14, 6.967527155377957e-15, -1.9680115145087463e-15, 5.8230549837184e-16,
    -1.7964302342606689e-16, 5.755537813115849e-17, -1.9085810023462685e-17, 6.5316323887296735e-18,
    -2.301036357065232e-18, 8.32640853075718e-19, -3.0887382878007324e-19, 1.1725918471038356e-19,
    -4.548728447650107e-20,
)
P1_TAIL = (
    1.00226762068534, 0.0022437352958079985, -2.3071018862548286e-05, 7.639181732533905e-07, -4.589685232343401e-08,
    4.020515478419001e-09, -4.586773977170972e-10, 6.373158962859246e-11, -1.0327344567640412e-11,
    1.8943274995111034e-12, -3.849703387824105e-13, 8.529914525779044e-14, -2.03544697865723e-14,
    5.180421738900549e-15, -1.3953502148258493e-15, 3.9523601713314257e-16, -1.171117080126803e-16,
    3.614078564738109e-17, -1.1572356053251518e-17, 3.832473906744907e-18, -1.3090769675043101e-18,
)
Q1_TAIL = (
    0.07461746924293727, -0.00037410379362102955, 8.01139890409206e-06, -3.828805678171264e-07, 2.917633021484398e-08,
    -3.036679728934633e-09, 3.9598445211790335e-10, -6.131962898875392e-11, 1.0880467184119506e-11,
    -2.1573304385076937e-12, 4.692705663517787e-13, -1.1044093713083652e-13, 2.781945696278766e-14,
    -7.436303350432923e-15, 2.0948126235658333e-15, -6.183568405835825e-16, 1.9036103662163e-16,
    -6.087290133410104e-17, 2.0150975159994986e-17, -6.885261323962649e-18, 2.4221007940443373e-18,
    -8.752777804856654e-19, 3.2428888011494625e-19, -1.2296988297217244e-19,
)

NEAR, FAR = 8.0, 5.0
"""Where I0 and I1, and where J and Y, change from the series to the asymptotic form."""
_I0 = tuple(1.0 / math.factorial(k) ** 2 for k in range(30, -1, -1))
_I1 = tuple(0.5 / (math.factorial(k) * math.factorial(k + 1)) for k in range(30, -1, -1))
J0_ZEROS = ((2.404825557695773, -1.176691651530894e-16), (5.520078110286311, 8.088597146146722e-17))
J1_ZEROS = ((3.8317059702075125, -1.5269184090088067e-16), (7.015586669815619, -9.414165653410389e-17))


def _head(library: Library, x: Expr, coefficients: tuple[float, ...]) -> Expr:
    """Return a series in (x / 2)**2 for x < NEAR: the terms left out for float32 are below 2**-44 of the sum."""
    return polynomial(x * x * 0.25, coefficients[-19 if library.single else 0 :])


def _growing(library: Library, x: Expr, head: Expr, tail: tuple[float, ...], *, scaled: bool) -> Expr:
    """I of 0 <= x from its head below NEAR, times exp(-x) if `scaled`."""

    def far() -> Expr:
        value = library.series(16.0 / x - 1.0, tail) / sqrt(x)
        if scaled:
            return value
        half = library("exp", x * 0.5)
        return select(x == float("inf"), x, value * half * half)

    near = head * library("exp", -x) if scaled else head
    return when(x >= NEAR, far, near)


def _square(x: Expr, limit: float) -> Expr:
    """x * x, kept within the square of `limit`."""
    inside = select(x < limit, x, limit)
    return inside * inside


def modified_i0(library: Library, x: Expr, *, scaled: bool = False) -> Expr:
    """I0(x), or I0(x) exp(-|x|)."""
    size = fabs(x)
    head = _head(library, size, _I0)
    return select(x != x, x, _growing(library, size, head, I0_TAIL, scaled=scaled))


def modified_i1(library: Library, x: Expr, *, scaled: bool = False) -> Expr:
    """I1(x), or I1(x) exp(-|x|)."""
    size = fabs(x)
    head = size * _head(library, size, _I1)
    value = _growing(library, size, head, I1_TAIL, scaled=scaled)
    return select(x != x, x, copysign(value, x))


def _decaying(library: Library, x: Expr, near: Expr, tail: tuple[float, ...], *, scaled: bool) -> Expr:
    """K of x from its value up to 2, times exp(x) if `scaled`; inf at 0, NaN below."""
    beyond = select(x > 2.0, x, 2.0)
    far = library.whole_series(4.0 / beyond - 1.0, tail) / sqrt(beyond)
    if scaled:
        near = near * library("exp", select(x > 2.0, 2.0, x))
    else:
        half = library("exp", beyond * -0.5)
        far = far * half * half
    value = select(x > 2.0, far, near)
    return select(x > 0.0, value, select(x == 0.0, constant(float("inf"), F64), float("nan")))


def _logarithm(library: Library, x: Expr) -> Expr:
    """Return log(x / 2) for x <= 2; x is scaled up first where x / 2 may underflow to 0."""
    inside = select(x > 0.0, select(x > 2.0, 2.0, x), 1.0)
    tiny = inside < 2.0**-1000
    scaled = select(tiny, inside * 2.0**100, inside)
    return library("log", scaled * 0.5) - select(tiny, constant(100 * math.log(2.0), F64), 0.0)


def modified_k0(library: Library, x: Expr, *, scaled: bool = False) -> Expr:
    """K0(x), or K0(x) exp(x)."""
    square = _square(x, 2.0)
    growing = polynomial(square * 0.25, _I0[-14:])
    near = library.whole_series(square * 0.5 - 1.0, K0_HEAD) - _logarithm(library, x) * growing
    return _decaying(library, x, near, K0_TAIL, scaled=scaled)


def modified_k1(library: Library, x: Expr, *, scaled: bool = False) -> Expr:
    """K1(x), or K1(x) exp(x)."""
    square = _square(x, 2.0)
    growing = x * polynomial(square * 0.25, _I1[-14:])
    near = library.whole_series(square * 0.5 - 1.0, K1_HEAD) / x + _logarithm(library, x) * growing
    return _decaying(library, x, near, K1_TAIL, scaled=scaled)


i0e, i1e, scaled_k0, scaled_k1 = (
    functools.partial(function, scaled=True) for function in (modified_i0, modified_i1, modified_k0, modified_k1)
)


def _waves(library: Library, x: Expr, even: tuple[float, ...], odd: tuple[float, ...]) -> tuple[Expr, Expr]:
    """J0 and Y0 for x >= FAR, or -Y1 and J1: by the amplitudes P and Q of cosine and sine of the phase."""
    ratio = FAR / x
    t = ratio * ratio * 2.0 - 1.0
    scale = sqrt(x) * math.sqrt(math.pi)
    p, q = library.series(t, even) / scale, ratio * library.series(t, odd) / scale
    cosine, sine = library("cos", x), library("sin", x)
    return p * (cosine + sine) - q * (sine - cosine), p * (sine - cosine) + q * (cosine + sine)


def _beside(x: Expr, zeros: tuple[tuple[float, float], ...]) -> Expr:
    """The product of ``x**2 - zero**2``."""
    result = constant(1.0, F64)
    for high, low in zeros:
        result = result * ((x - high) - low) * (x + high)
    return result


def _small(x: Expr) -> Expr:
    """``x**2`` as the argument of a series on [0, FAR]."""
    return x * x * (2.0 / FAR**2) - 1.0


def _head_j0(library: Library, x: Expr, small: Expr) -> Expr:
    return library.whole_series(small, J0_HEAD) * _beside(x, J0_ZEROS)


def _head_j1(library: Library, x: Expr, small: Expr) -> Expr:
    return x * library.whole_series(small, J1_HEAD) * _beside(x, J1_ZEROS)


def bessel_j0(library: Library, x: Expr) -> Expr:
    """J0(x); 0 at infinity."""
    size = fabs(x)

    def far() -> Expr:
        value, _ = _waves(library, size, P0_TAIL, Q0_TAIL)
        return select(size == float("inf"), 0.0, value)

    return when(~(size < FAR), far, _head_j0(library, size, _small(size)))


def bessel_j1(library: Library, x: Expr) -> Expr:
    """J1(x); 0 at infinity."""
    size = fabs(x)

    def far() -> Expr:
        _, value = _waves(library, size, P1_TAIL, Q1_TAIL)
        return select(size == float("inf"), 0.0, value)

    value = when(~(size < FAR), far, _head_j1(library, size, _small(size)))
    return select(x < 0.0, -value, value)


def _ends(x: Expr, value: Expr) -> Expr:
    inside = select(x == float("inf"), 0.0, value)
    return select(x > 0.0, inside, select(x == 0.0, constant(-float("inf"), F64), float("nan")))


def bessel_y0(library: Library, x: Expr) -> Expr:
    """Y0(x); -inf at 0, NaN below."""
    inside = select((x > 0.0) & (x < FAR), x, 1.0)
    small = _small(inside)
    falling = library("log", inside) * _head_j0(library, inside, small) * (2.0 / math.pi)
    near = library.whole_series(small, Y0_HEAD) + falling
    return _ends(x, when(x >= FAR, lambda: _waves(library, x, P0_TAIL, Q0_TAIL)[1], near))


def bessel_y1(library: Library, x: Expr) -> Expr:
    """Y1(x); -inf at 0, NaN below."""
    inside = select((x > 0.0) & (x < FAR), x, 1.0)
    small = _small(inside)
    near = inside * library.whole_series(small, Y1_HEAD)
    near = near + (library("log", inside) * _head_j1(library, inside, small) - 1.0 / inside) * (2.0 / math.pi)
    return _ends(x, when(x >= FAR, lambda: -_waves(library, x, P1_TAIL, Q1_TAIL)[0], near))


def spherical_j0(library: Library, x: Expr) -> Expr:
    """sin(x) / x; 1 at 0, 0 at infinity."""
    value = library("sin", x) / x
    return select(x == 0.0, 1.0, select(fabs(x) == float("inf"), 0.0, value))


AI_TAIL = (
    0.9844053049171552, -0.014792784850104199, 0.0007327177465426715, -6.12595423417825e-05, 6.83476697557269e-06,
    -9.237229735403982e-07, 1.436225340438052e-07, -2.489319422322096e-08, 4.709793440054328e-09,
    -9.583863708112733e-10, 2.0745855483677591e-10, -4.737267332192277e-11, 1.1336099808224236e-11,
    -2.827706782319351e-12, 7.320712095125598e-13, -1.9599793911089723e-13, 5.4101162570683925e-14,
    -1.5356466802223836e-14, 4.472340393300025e-15, -1.3338094674756683e-15, 4.066582046456231e-16,
    -1.265583225645289e-16, 4.015126334015871e-17, -1.2969972135960937e-17, 4.2613499074124e-18,
    -1.422676842293507e-18,
)
AI_EVEN = (
    0.9995536016592858, -0.00044255600249022215, 3.7464948785574585e-06, -9.147926787106577e-08,
    4.0685023228430725e-09, -2.6897245359447526e-10, 2.363449618675092e-11, -2.576195886826486e-12,
    3.3274850157582603e-13, -4.9322091688066274e-14, 8.196203733152184e-15, -1.5003542015688562e-15,
    2.9845588289887906e-16, -6.382686146177526e-17, 1.4547981358580236e-17, -3.509120995979975e-18,
)
AI_ODD = (
    0.010842096776210319, -6.88995660006409e-05, 1.1044242873169551e-06, -3.854686625550563e-08, 2.17975495920445e-09,
    -1.7202253219056978e-10, 1.7358442023339635e-11, -2.117506027699623e-12, 3.005587474851528e-13,
    -4.8303839737929896e-14, 8.614255026469893e-15, -1.6786422639937838e-15, 3.531717537555179e-16,
    -7.945871958625486e-17, 1.8969226761723876e-17, -4.774516589915694e-18, 1.2602583295074153e-18,
    -3.4728001698116483e-19, 9.952164544778477e-20, -2.95619351526546e-20,
)
AI_MIDDLE = (
    0.1661487551134717, -0.160200643749162, 0.02985086265042287, -3.592821006346677e-05, -0.0010148771856557245,
    0.00018650430146538642, -9.023207531845663e-06, -1.8719071101908585e-06, 3.7633084265224525e-07,
    -2.2543102304853237e-08, -1.521783492607275e-09, 3.7631432654361224e-10, -2.4444948546165672e-11,
    -5.979424144805241e-13, 2.2466976613000314e-13, -1.5345032770179278e-14, -7.025980667351147e-17,
    8.902219306136638e-17, -6.348506763486825e-18,
)
AI_WAVES = (
    0.29115347583017265, -0.2231783877402643, -0.10195897922136249, 0.08606653091201279, -0.009459600456921069,
    -0.00835551571349612, 0.00303865678522103, 1.663871298565365e-05, -0.0002239360452496399, 4.4005986164527056e-05,
    3.963904562004755e-06, -2.8720482473662642e-06, 3.225997648038609e-07, 6.054976880927169e-08,
    -2.1294947684925892e-08, 1.2598837076816179e-09, 4.628890906911356e-10, -1.0179501201753257e-10,
    1.974815546767693e-12, 2.2245553011961937e-12, -3.360007094784132e-13, -5.101823685289643e-15,
    7.434521180014493e-15, -8.003625959158887e-16, -4.012179831785584e-17, 1.8347358142203762e-17,
    -1.4115018898714093e-18,
)


LEFT, RIGHT = -4.5, 2.0
"""The interval in which Ai is a series in x; its two zeros there are taken out as factors."""
ZEROS = ((-2.338107410459767, -3.912260409818305e-17), (-4.08794944413097, -3.387261694242901e-16))


def _phase(x: Expr) -> Expr:
    """2/3 x**1.5 of x >= 0."""
    return x * sqrt(x) * (2.0 / 3.0)


def airy(library: Library, x: Expr) -> Expr:
    """Ai(x): oscillating with falling amplitude to the left, decaying to the right."""
    right = select(x > RIGHT, x, RIGHT)
    decay = _phase(right)
    first = 2.0 / 3.0 * RIGHT**1.5
    far = library.whole_series((2.0 * first) / decay - 1.0, AI_TAIL) * library("exp", -decay)
    far = far / (sqrt(sqrt(right)) * (2.0 * math.sqrt(math.pi)))
    middle = library.whole_series(select(x > 0.0, select(x < RIGHT, x, RIGHT), 0.0) - 1.0, AI_MIDDLE)
    inner = select(x < 0.0, select(x > LEFT, x, LEFT), 0.0)
    waves = library.whole_series(inner * (-2.0 / LEFT) + 1.0, AI_WAVES)
    for high, low in ZEROS:
        waves = waves * ((inner - high) - low)
    left = -select(x < LEFT, x, LEFT)
    phase = _phase(left)
    ratio = (2.0 / 3.0 * (-LEFT) ** 1.5) / phase
    t = ratio * ratio * 2.0 - 1.0
    cosine, sine = library("cos", phase), library("sin", phase)
    even, odd = library.whole_series(t, AI_EVEN), ratio * library.whole_series(t, AI_ODD)
    swing = even * (sine + cosine) - odd * (cosine - sine)
    swing = swing / (sqrt(sqrt(left)) * math.sqrt(2.0 * math.pi))
    value = select(x > RIGHT, far, select(x >= 0.0, middle, select(x > LEFT, waves, swing)))
    value = select(x == float("inf"), 0.0, select(x == -float("inf"), 0.0, value))
    return select(x != x, x, value)

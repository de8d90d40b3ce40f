"""A small suite over made-up requirements, for tests of the runner."""

from __future__ import annotations

from collections.abc import Callable

from gaugeblock_conformance.forall import forall
from gaugeblock_conformance.requirement import TestCase
from gaugeblock_conformance.runner.suite import Suite
from gaugeblock_conformance.session import Session
from gaugeblock_spec.requirements import Requirement
from hypothesis import strategies as st

OPERATORS = ("neg", "bitwise_not", "logical_not", "clone", "maximum")
VALUES = [-1, 2, -3]


def make_requirement(identifier: str, level: str = "MUST", capabilities: tuple[str, ...] = ("core",)) -> Requirement:
    area, slug = identifier.split("/")
    return Requirement(
        id=identifier,
        area=area,
        slug=slug,
        level=level,
        capabilities=capabilities,
        origin=("FAKE-001",),
        source="made up",
        sentence=f"A backend keeps {identifier} <whole> & sound.",
        examples=(),
        section="Made up",
        line=1,
    )


def call_once(operator: str) -> Callable[[Session], None]:
    def test(s: Session) -> None:
        x = s.tensor(VALUES, "int32", name="x")
        s.call(operator, x, x) if operator == "maximum" else s.call(operator, x)

    test.__name__ = f"test_{operator}"
    return test


def test_negation_is_right(s: Session) -> None:
    x = s.tensor(VALUES, "int32", name="x")
    s.expect_values(s.call("neg", x), [1, -2, 3], dtype="int32")


@forall(k=st.integers(0, 100))
def test_drawn_negation(s: Session, k: int) -> None:
    x = s.tensor([k], "int32", name="x")
    s.expect_values(s.call("neg", x), [-k], dtype="int32")


def unsupported(s: Session) -> None:
    s.call("no_such_operator", s.tensor(VALUES, "int32"))


def fake() -> Suite:
    """One requirement per operator in two areas, and the special cases."""
    table: list[tuple[Requirement, Callable[[Session], None] | None]] = [
        (make_requirement(f"views/{name.replace('_', '-')}"), call_once(name)) for name in OPERATORS
    ]
    table += [
        (make_requirement("dtypes/negation"), test_negation_is_right),
        (make_requirement("dtypes/drawn-negation", "SHOULD"), test_drawn_negation),
        (make_requirement("dtypes/needs-sort", capabilities=("core", "sort")), test_negation_is_right),
        (make_requirement("dtypes/unsupported"), unsupported),
        (make_requirement("dtypes/untested", "MAY"), None),
    ]
    requirements = {requirement.id: requirement for requirement, _ in table}

    def tests() -> dict[str, list[TestCase]]:
        return {
            requirement.id: [
                TestCase(
                    name=function.__name__,
                    function=function,
                    module=__name__,
                    line=1,
                    ids=(requirement.id,),
                    needs=requirement.capabilities,
                )
            ]
            for requirement, function in table
            if function is not None
        }

    return Suite(requirements, tests)


def many() -> Suite:
    """Sixty requirements that take a moment each."""
    import time

    def slow(s: Session) -> None:
        time.sleep(0.05)
        s.call("neg", s.tensor(VALUES, "int32"))

    requirements = {f"views/slow-{n}": make_requirement(f"views/slow-{n}") for n in range(60)}

    def tests() -> dict[str, list[TestCase]]:
        return {i: [TestCase("slow", slow, __name__, 1, (i,), ("core",))] for i in requirements}

    return Suite(requirements, tests)


def by_operator() -> Suite:
    """Requirements that are judged operator by operator, by a sweep and by a table, and one that is not."""

    def sweep(s: Session) -> None:
        def judge(name: str) -> None:
            x = s.tensor(VALUES, "int32", name="x")
            expected = {"neg": [1, -2, 3], "bitwise_not": [0, -3, 2], "clone": VALUES}[name]
            s.run_example(lambda s, name: s.expect_values(s.call(name, x), expected, dtype="int32"), {"name": name})

        s.each(["neg", "bitwise_not", "clone"], judge)

    def table(s: Session) -> None:
        s.table([("clone", 1), ("neg", 1), ("neg", 2)], lambda s, name, n: s.call(name, s.tensor([n] * n, "int32")))

    def absent(s: Session) -> None:
        s.table([("clone", 1), ("cosh", 1)], lambda s, name, n: s.call(name, s.tensor([n], "int32")))

    functions = {"views/sweep": sweep, "views/table": table, "views/absent": absent, "views/other": call_once("neg")}

    def tests() -> dict[str, list[TestCase]]:
        return {i: [TestCase(f.__name__, f, __name__, 1, (i,), ("core",))] for i, f in functions.items()}

    return Suite({i: make_requirement(i) for i in functions}, tests)


def reading() -> Suite:
    """Results read, operands of several operators, and two calls that have nothing to do with one another."""

    def read(s: Session) -> None:
        s.expect_values(s.call("bitwise_not", s.tensor([1, 2], "int32", name="x")), [-2, -3], dtype="int32")

    def sweep(s: Session) -> None:
        def judge(name: str) -> None:
            data = [1] if name == "neg" else VALUES
            s.run_example(lambda s, data: s.call(name, s.tensor(data, "int32")), {"data": data})

        s.each(["neg", "bitwise_not", "clone"], judge)

    def apart(s: Session) -> None:
        s.call("logical_not", s.tensor([1, 2], "int32"))
        s.call("clone", s.tensor([4, 5], "int32"))

    functions = {"views/read": read, "views/sweep": sweep, "views/apart": apart}

    def tests() -> dict[str, list[TestCase]]:
        return {i: [TestCase(f.__name__, f, __name__, 1, (i,), ("core",))] for i, f in functions.items()}

    return Suite({i: make_requirement(i) for i in functions}, tests)

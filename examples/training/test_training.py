"""The trainings of this folder: losses fall, both nets learn, the page shows the curves."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def training() -> Any:
    spec = importlib.util.spec_from_file_location("training_example", Path(__file__).parent / "training.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def courses(training: Any) -> Any:
    return training.courses(steps=150)


def test_losses_fall(courses: Any) -> None:
    for course in courses:
        assert sum(course.losses[-10:]) < 0.5 * sum(course.losses[:10])


def test_nets_learn(courses: Any) -> None:
    assert [course.accuracy > 0.85 for course in courses] == [True, True]


def test_page(training: Any, tmp_path: Path) -> None:
    training.main(["--steps", "12", "--out", str(tmp_path)])
    page = (tmp_path / "training.html").read_text()
    assert page.count("<polyline") == 2
    assert "perceptron" in page and "convolutional net" in page

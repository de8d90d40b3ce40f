"""Everything a developer or a CI runs: ``nox -l`` lists it. Arguments after ``--`` go to the command of the session."""

from __future__ import annotations

import os
import re

import nox

nox.options.default_venv_backend = "venv"
nox.options.sessions = ["tests", "lint", "typing"]
nox.options.error_on_external_run = True

TORCH = "torch==2.13.0"
PARALLEL = ["-n", "auto", "--dist", "worksteal"]  # every core; ``-- -n 0`` is one process
SOURCES = ["spec", "reference", "conformance", "benchmarks", "reports", "examples", "attacks", "noxfile.py"]


@nox.session
def tests(session: nox.Session) -> None:
    """Unit tests of packages and examples, and a quick validation of the reference; needs neither torch nor a GPU."""
    session.install(".[dev]")
    session.run("pytest", *PARALLEL, *session.posargs)


@nox.session
def peer(session: nox.Session) -> None:
    """Agreement with real PyTorch: the peer tests, then a validation of torch on the CPU."""
    session.install(".[dev]", TORCH)
    session.run("pytest", *PARALLEL, "-k", "peer", *session.posargs)
    session.run("gaugeblock", "validate", "torch:cpu", "--budget", "quick", "--total", "none")
    session.install("./examples/torch_privateuseone", TORCH)
    areas = ["--area", "storage", "views", "dispatch", "--total", "60"]
    success = [0, 5]  # 5: nothing broke in the minute
    session.run("gaugeblock", "validate", "torch:ndarray", "--budget", "quick", *areas, success_codes=success)


@nox.session
def opencl(session: nox.Session) -> None:
    """torch-opencl, a device that others wrote, on an OpenCL of the system (Debian: pocl-opencl-icd); not in the CI."""
    session.install(".", "torch==2.12.0", "torch-opencl==0.1.0.dev23")
    arguments = session.posargs or ["--budget", "quick", "--total", "none"]
    session.run("gaugeblock", "validate", "torch:opencl", *arguments, success_codes=[0, 1])


PEERS = ["numpy", "jax", "tinygrad", "array-api-strict", "dask"]
MORE_PEERS = ["mlx", "paddle", "ndonnx", "sparse", "autograd"]


@nox.session
def peers(session: nox.Session) -> None:
    """``nox -s peers -- [NAME ...]``: validate array libraries from PyPI (tinygrad's CPU needs clang), by default those
    of PEERS; those of MORE_PEERS are installed if one of them is named."""
    names = session.posargs or PEERS
    unknown = [name for name in names if name not in (*PEERS, *MORE_PEERS)]
    if unknown:
        session.error(f"unknown peers: {', '.join(unknown)}; known: {', '.join((*PEERS, *MORE_PEERS))}")
    session.install(".[peers,more-peers]" if any(name in MORE_PEERS for name in names) else ".[peers]")
    session.run("pytest", "conformance/tests/test_array_api.py", "conformance/tests/test_more_peers.py", "-q")
    session.run("pytest", "reference/tests/test_peer_array_api.py", "-q")
    for name in names:
        arguments = ["--budget", "quick", "--timeout", "300", "--total", "none"]
        session.run("gaugeblock", "validate", name, *arguments, success_codes=[0, 1])


@nox.session(name="array-api")
def array_api(session: nox.Session) -> None:
    """``nox -s array-api -- CHECKOUT [NAMESPACE] [options]``: data-apis' array-api-tests, from a checkout with its
    submodule, over gaugeblock.array_api, or over another namespace such as array_api_compat.torch, to compare with."""
    if not session.posargs or not os.path.isdir(os.path.join(session.posargs[0], "array_api_tests")):
        session.error("name a checkout of array-api-tests: nox -s array-api -- CHECKOUT")
    checkout, *options = session.posargs
    checkout = os.path.abspath(checkout)
    namespace = options.pop(0) if options and options[0][0] != "-" else "gaugeblock.array_api"
    session.install(".", "-r", os.path.join(checkout, "requirements.txt"))
    if namespace.startswith("array_api_compat"):
        session.install("array-api-compat", *([TORCH] if namespace.endswith("torch") else []))
    session.env["ARRAY_API_TESTS_MODULE"] = namespace
    if namespace == "gaugeblock.array_api":
        options = ["--xfails-file", os.path.abspath("reference/tests/data/array_api_xfails.txt"), *options]
    session.chdir(checkout)
    session.run("pytest", "array_api_tests", "-q", *options)


@nox.session
def lint(session: nox.Session) -> None:
    """ruff over all sources."""
    session.install("ruff")
    session.run("ruff", "check", *SOURCES)


@nox.session
def typing(session: nox.Session) -> None:
    """mypy --strict over all packages."""
    session.install("-e", ".[dev]")
    session.run("mypy")


@nox.session
def validate(session: nox.Session) -> None:
    """``nox -s validate -- BACKEND [options]``: check a backend and print its report (default: reference)."""
    arguments = session.posargs or ["reference"]
    session.install(".", *([TORCH] if arguments[0].startswith("torch") else []))
    session.run("gaugeblock", "validate", *arguments)


@nox.session
def levels(session: nox.Session) -> None:
    """``nox -s levels -- [options]``: the reference at every level of this processor, the lower ones quickly."""
    session.install(".")
    question = "from gaugeblock.kernels import isa; print(*(level.name for level in isa.supported_levels()))"
    levels = str(session.run("python", "-c", question, silent=True)).split()
    for level in levels:
        budget = "standard" if level == levels[-1] else "quick"
        arguments = ["--budget", budget, "--total", "none", "--out", f"runs/reference-{level}", *session.posargs]
        session.run("gaugeblock", "validate", "reference", *arguments, env={"GAUGEBLOCK_CPU_CAPABILITY": level})


@nox.session
def gradcheck(session: nox.Session) -> None:
    """``nox -s gradcheck -- BACKEND [options]``: derivatives against finite differences (default: reference)."""
    arguments = session.posargs or ["reference", "--second-order", "--forward"]
    extra = {**dict.fromkeys(PEERS, ".[peers]"), **dict.fromkeys(MORE_PEERS, ".[more-peers]")}
    wanted = TORCH if arguments[0].startswith("torch") else extra.get(arguments[0], ".")
    session.install(".", wanted)
    session.run("gaugeblock", "gradcheck", *arguments)


@nox.session
def report(session: nox.Session) -> None:
    """``nox -s report -- runs/reference/record.json [--format markdown]``: print a run again, or in another format."""
    session.install(".")
    session.run("gaugeblock", "report", *session.posargs)


@nox.session
def site(session: nox.Session) -> None:
    """``nox -s site -- [--out DIR]``: the spec, the scoreboard, deviations and benchmarks as pages (site/)."""
    session.install(".")
    session.run("gaugeblock", "site", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """``nox -s bench -- BACKEND [BACKEND ...] [options]``: backends timed side by side (default: three, quickly)."""
    arguments = session.posargs or ["reference", "torch:cpu", "numpy", "--budget", "quick"]
    session.install(".", *([TORCH] if any(word.startswith("torch") for word in arguments) else []))
    session.run("gaugeblock", "bench", *arguments)


@nox.session
def goals(session: nox.Session) -> None:
    """``nox -s goals -- [torch] [--parts ...]``: the speed that the project asks of its engine, as ratios to a peer."""
    arguments = session.posargs or ["torch"]
    session.install(".[dev]", *([TORCH] if "torch" in arguments else []))
    session.run("python", "-m", "gaugeblock_benchmarks", *arguments)


@nox.session(name="drop-in")
def drop_in(session: nox.Session) -> None:
    """``nox -s drop-in -- FILE ...``: run scripts and test files written for torch on gaugeblock, without a change."""
    if not session.posargs:
        session.error("name the files to run: nox -s drop-in -- FILE ...")
    session.install(".[dev]")
    for name in session.posargs:
        is_test = re.fullmatch(r"test_.*\.py|.*_test\.py", os.path.basename(name)) is not None
        session.run("python", "-m", "gaugeblock.as_torch", *(["-m", "pytest", "--noconftest"] if is_test else []), name)


@nox.session
def attacks(session: nox.Session) -> None:
    """Random calls, hostile backends, kills, corrupt files, thread mixes: hours; GAUGEBLOCK_ATTACKS=0.02 takes less."""
    session.install(".[dev]")
    session.run("pytest", "attacks", *session.posargs)


@nox.session
def mutants(session: nox.Session) -> None:
    """Deliberately broken backends: every one must be caught by a verdict on a requirement. ``--resume`` goes on."""
    session.install(".[dev]")
    session.run("python", "-m", "gaugeblock_conformance.mutants", *session.posargs)


@nox.session
def soak(session: nox.Session) -> None:
    """The reference and NumPy under 50 seeds, or other right backends: none may be accused. ``--resume`` goes on."""
    session.install(".", *([TORCH] if "torch" in session.posargs else []))
    session.run("python", "-m", "gaugeblock_conformance.soak", *session.posargs)


@nox.session
def accuracy(session: nox.Session) -> None:
    """Errors of the unary float32 functions over all bit patterns: hours; goes on where it was stopped."""
    session.install(".", "scipy", TORCH)
    arguments = session.posargs or ["--backends", "reference,torch:cpu", "--out", "reference/accuracy.md"]
    session.run("python", "-m", "gaugeblock_benchmarks.accuracy", *arguments)


@nox.session
def ptx(session: nox.Session) -> None:
    """PTX of every pointwise operator for all its dtypes, assembled by ptxas and tried on a simulated grid: minutes."""
    session.install(".[dev]", "nvidia-cuda-nvcc-cu12")
    session.run("pytest", "reference/tests", "-k", "test_ptx", *session.posargs, env={"GAUGEBLOCK_PTX": "all"})


@nox.session
def gpu(session: nox.Session) -> None:
    """On a machine with a GPU: its tests, then quick validations of the reference's device and of CuPy."""
    session.install(".[dev,cuda13]")
    session.run("pytest", "reference/tests", "-k", "real_gpu", *PARALLEL, *session.posargs)
    for backend in ("reference:cuda", "cupy"):
        session.run("gaugeblock", "validate", backend, "--budget", "quick", "--total", "none", success_codes=[0, 1])


@nox.session
def cupy(session: nox.Session) -> None:
    """The driver and the adapter over CuPy itself, where its names, signatures and errors are seen; needs no GPU."""
    session.install(".[dev]", "array-api-compat", session.posargs[0] if session.posargs else "cupy-cuda12x>=13")
    session.run("pytest", "reference/tests/test_cuda_cupy_driver.py", "reference/tests/test_cuda_driver_protocol.py")
    session.run("pytest", "conformance/tests/test_cupy_backend.py")

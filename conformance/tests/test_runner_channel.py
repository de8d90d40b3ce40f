"""Messages of a worker are received intact or rejected as garbled; its processes end with it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from gaugeblock_conformance.problem import cut, visible
from gaugeblock_conformance.runner import supervised
from gaugeblock_conformance.runner.channel import LONGEST, MAGIC, Garbled, Receiver, Sender
from gaugeblock_conformance.runner.checking import Malformed, check_ready, check_row
from gaugeblock_conformance.runner.rows import CODE, ITEMS, TEXT, new_failure, new_row, trimmed
from gaugeblock_conformance.runner.supervised import Supervised, death, output_file

KEY = b"k" * 32


def sent(*messages: dict[str, Any], key: bytes = KEY) -> bytes:
    reader, writer = os.pipe()
    sender = Sender(writer, key)
    for message in messages:
        sender.send(message)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        return stream.read()


def test_messages_arrive_in_parts_and_in_order() -> None:
    data = sent({"test": "a"}, {"row": {"x": "ü" * 500}})
    receiver = Receiver(KEY)
    found = [message for k in range(len(data)) for message in receiver.feed(data[k : k + 1])]
    assert found == [{"test": "a"}, {"row": {"x": "ü" * 500}}]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b'{"row": {}}\n', "wrote to a descriptor"),
        (b"g", ""),
        (b"gbx", "wrote to a descriptor"),
        (MAGIC + (LONGEST + 1).to_bytes(4, "big") + bytes(16), "wrote to a descriptor"),
        (MAGIC + (2).to_bytes(4, "big") + bytes(16) + b"{}", "in the suite's name"),
        (sent({"problem": "all"}, key=b"l" * 32), "in the suite's name"),
        (sent({"test": "a"}), "in the suite's name"),
    ],
)
def test_anything_but_the_next_message_is_garbled(data: bytes, text: str) -> None:
    receiver = Receiver(KEY)
    first = sent({"test": "a"})
    if not text:
        assert receiver.feed(first + data) == [{"test": "a"}]
        return
    with pytest.raises(Garbled, match=text) as caught:
        receiver.feed(first + data)
    assert caught.value.before == [{"test": "a"}]


def good_row(fakes: Path) -> dict[str, Any]:
    from fake_suite import make_requirement

    return dict(new_row(make_requirement("views/one")), examples=1)


FAILURE = dict(new_failure("failed", "no"))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"id": "views/two"}, "id is 'views/two', which is not one of the requirements"),
        ({"id": 3}, "id is 3"),
        ({"level": "MAY"}, "level is 'MAY'; the spec says 'MUST'"),
        ({"sentence": "Anything goes."}, "sentence is 'Anything goes.'"),
        ({"status": "perfect"}, "'status' is 'perfect'; allowed: passed, partial, failed"),
        ({"status": "xpassed"}, "'status' is 'xpassed'"),
        ({"status": "failed"}, "status 'failed' with no failure"),
        ({"failure": FAILURE}, "status 'passed' with a failure of verdict 'failed'"),
        ({"status": "crashed", "failure": FAILURE}, "status 'crashed' with a failure of verdict 'failed'"),
        ({"further_failures": [FAILURE]}, "with further failures"),
        ({"status": "failed", "failure": {"message": "no"}}, "null or a failure with all its fields"),
        ({"status": "skipped"}, "'skipped' without a reason"),
        ({"examples": 0}, "'passed' without an example"),
        ({"examples": -1}, "'examples' is -1; allowed: a non-negative integer"),
        ({"examples": True}, "'examples' is True"),
        ({"seconds": float("nan")}, "'seconds' is nan; allowed: a non-negative number of seconds"),
        ({"reason": "x" * (TEXT + 300)}, "'reason' is 'xxx"),
        ({"figures": {"a": "b"}}, "an object of numbers"),
        ({"unsupported": ["a"]}, "an object of strings"),
        ({"mood": "fine"}, "unknown field 'mood'"),
    ],
)
def test_rows_are_checked(fakes: Path, change: dict[str, Any], text: str) -> None:
    from fake_suite import make_requirement

    known = {"views/one": make_requirement("views/one")}
    assert check_row(good_row(fakes), known)["id"] == "views/one"
    with pytest.raises(Malformed) as caught:
        check_row(good_row(fakes) | change, known)
    assert text in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_row_without_a_field_or_no_row_at_all(fakes: Path) -> None:
    row = good_row(fakes)
    del row["calls"]
    from fake_suite import make_requirement

    with pytest.raises(Malformed, match="field 'calls' is missing"):
        check_row(row, {"views/one": make_requirement("views/one")})
    with pytest.raises(Malformed, match="a row must be an object, not None"):
        check_row(None, {})
    with pytest.raises(Malformed, match="field 'name' is missing"):
        check_ready({})
    with pytest.raises(Malformed, match="ready must be an object"):
        check_ready([])


def test_texts_are_cut_with_a_mark(fakes: Path) -> None:
    row = good_row(fakes)
    long = "m" * (TEXT + 1234)
    row["failure"] = dict(new_failure("failed", long, got=long, example={"x": long}, snippet="s" * (CODE + 1)))
    row["unsupported"] = {f"o{n}": "no" for n in range(ITEMS + 5)}
    kept = trimmed(row)  # type: ignore[arg-type]
    assert kept["failure"] is not None
    assert kept["failure"]["message"] == "m" * TEXT + "… (1,234 more characters)"
    assert kept["failure"]["got"] == kept["failure"]["example"]["x"] == kept["failure"]["message"]
    assert kept["failure"]["snippet"] is not None
    assert kept["failure"]["snippet"].startswith("# no stand-alone reproducer: its 1,048,577 characters are more than")
    assert len(kept["unsupported"]) == ITEMS
    assert trimmed(good_row(fakes)) == good_row(fakes)  # type: ignore[arg-type]


def test_lines_for_a_terminal() -> None:
    assert visible("a\n\tb  c", 10) == "a b c"
    assert visible("\x1b[2J\u202eno", 40) == r"\x1b[2J\u202eno"
    assert visible("x" * 50, 10) == "x" * 10 + "…"
    assert visible(" " * 10**6 + "x", 10) == "…"
    assert cut("abc", 3) == "abc"


def started(code: str, script: str | None = None) -> Supervised:
    command = [sys.executable, "-S", *(["-c", code] if script is None else ["snippet.py"])]
    return Supervised(command, output_file(), script=script)


@pytest.mark.parametrize(
    ("code", "status", "words"),
    [
        ("pass", 0, "exit status 0"),
        ("import os; os._exit(7)", 7, "exit status 7"),
        ("import os; os.kill(os.getpid(), 9)", -9, "signal SIGKILL"),
    ],
)
def test_how_a_command_ends(code: str, status: int, words: str) -> None:
    process = started(code)
    assert process.wait(20)
    process.end()
    assert process.returncode() == status
    assert death(status) == words
    assert not process.abandoned


def test_the_folder_of_a_script_is_removed_with_it() -> None:
    errors = output_file()
    text = "import os, sys\nprint(os.getcwd(), os.listdir(), sys.stdin.read() == '')\n"
    process = Supervised([sys.executable, "-S", "snippet.py"], errors, script=text)
    assert process.wait(20)
    process.end()
    folder, rest = supervised.tail(errors).decode().split(" ", 1)
    assert rest == "['snippet.py'] True\n"
    assert Path(folder).name.startswith("gaugeblock-snippet-")
    assert not Path(folder).exists()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_killed_parent_leaves_no_process_and_no_folder(tmp_path: Path) -> None:
    code = (
        "import sys, time\n"
        "from gaugeblock_conformance.runner.supervised import Supervised, output_file\n"
        "text = 'import os, sys, time; open(sys.argv[1], \"w\").write(f\"{os.getpid()} {os.getcwd()}\")'\n"
        "text += chr(10) + 'time.sleep(600)'\n"
        "Supervised([sys.executable, '-S', 'snippet.py', sys.argv[1]], output_file(), script=text)\n"
        "time.sleep(600)\n"
    )
    report = tmp_path / "report"
    parent = subprocess.Popen([sys.executable, "-c", code, str(report)])
    end = time.monotonic() + 30
    while not report.exists() or " " not in report.read_text():
        assert time.monotonic() < end
        time.sleep(0.01)
    parent.kill()
    parent.wait()
    pid, folder = report.read_text().split(" ")
    while Path(f"/proc/{pid}").exists() or Path(folder).exists():
        assert time.monotonic() < end, "a process or the folder outlived the parent"
        time.sleep(0.01)


def test_endless_output_is_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervised, "LONGEST", 1000)
    errors = output_file()
    process = Supervised([sys.executable, "-S", "-c", "print('x' * 5000)"], errors)
    assert process.wait(20)
    process.shorten_output()
    process.end()
    assert os.fstat(errors.fileno()).st_size == 0

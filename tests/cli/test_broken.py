"""A file of rules that cannot be read is news wherever a person looks, for as long as it is so."""

from __future__ import annotations

from tests.cli.program import Program
from tests.cli.seeded import ASK, asked, created, opened, write_run

BROKEN = '[policy]\nnever_auto = ["Bash(rm *)"]\nauto_alow = []\n'
WHOLE = BROKEN.replace("auto_alow", "auto_allow")
REASON = "unknown key 'auto_alow' in [policy]; did you mean auto_allow?"


def test_a_broken_file_is_critical_and_goes_when_it_loads(devplane: Program) -> None:
    file = devplane.project / "devplane.toml"
    file.write_text(BROKEN)
    (item,) = devplane("inbox", "--json").objects
    assert {key: item[key] for key in ("kind", "level", "file", "line", "reason", "answerable")} == {
        "kind": "config_broken",
        "level": "critical",
        "file": str(file),
        "line": 3,
        "reason": REASON,
        "answerable": False,
    }
    assert devplane.ok("inbox").splitlines() == [
        f"!! {file} is not in force [config_broken]",
        f"     ~/project/devplane.toml:3: {REASON}",
        "     until it is corrected, every call there that no rule denies is asked about",
        f"     devplane check {file}",
    ]
    file.write_text(WHOLE)
    assert devplane.ok("inbox") == "nothing waits for you\n"


def test_what_is_broken_comes_before_what_waits(devplane: Program) -> None:
    shop = devplane.project.parent / "shop"
    shop.mkdir()
    (shop / "devplane.toml").write_text(BROKEN)
    write_run(devplane.home, *opened(asked("make")), first=created(project=str(shop)))
    kinds = [(each["kind"], each["level"], each["ask"]) for each in devplane("inbox", "--json").objects]
    assert kinds == [("config_broken", "critical", None), ("permission", "normal", ASK)]
    assert "~/shop/devplane.toml:3 is not in force" in devplane("ls").err
    assert devplane("ls", "--json").objects[0]["id"]


def test_a_folder_in_which_nothing_runs_is_nobodys_business(devplane: Program) -> None:
    elsewhere = devplane.project.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "devplane.toml").write_text(BROKEN)
    assert devplane.ok("inbox") == "nothing waits for you\n"


def test_the_file_of_the_machine_is_looked_at_from_everywhere(devplane: Program) -> None:
    devplane.home.mkdir(mode=0o700)
    file = devplane.home / "policy.toml"
    file.write_text('[policy]\nnever_auto = ["Bash(rm"]\n')
    (item,) = devplane("inbox", "--json").objects
    assert (item["file"], item["line"], item["reason"]) == (
        str(file),
        2,
        "Bash(rm: its bracket is not closed",
    )
    assert "every call in every project" in item["holds"]


def test_a_file_that_cannot_be_read_at_all_is_broken_too(devplane: Program) -> None:
    (devplane.project / "devplane.toml").mkdir()
    (devplane.project / ".git").mkdir()
    for name in ("objects", "refs"):
        (devplane.project / ".git" / name).mkdir()
    (devplane.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (item,) = devplane("inbox", "--json").objects
    assert (item["line"], item["reason"]) == (None, "cannot be read: not an ordinary file")
    assert devplane("check").status == 1


def test_doctor_reports_it(devplane: Program) -> None:
    (devplane.project / "devplane.toml").write_text(BROKEN)
    done = devplane("doctor")
    assert done.status == 1
    assert f"! ~/project/devplane.toml:3 is not in force: {REASON}" in done.out


def test_g49_a_broken_file_moves_no_cursor(devplane: Program) -> None:
    (devplane.project / "devplane.toml").write_text('"\\u001b[2J" = 1\n')
    for words in (("inbox",), ("check",), ("doctor",), ("explain", "ls")):
        done = devplane(*words)
        assert "\x1b" not in done.out + done.err, words
        assert "[2J" in done.out, words

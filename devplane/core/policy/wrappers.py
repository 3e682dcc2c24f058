"""Programs that run another program: which of their words is the command inside.

A wrapper's own flags are known one by one. One that is not known could take the next word
with it or not, so nobody can say where the command begins, and the line hides what it runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Cover = Literal["inside", "both", "outside"]


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How a program takes the command that it runs."""

    flags: str = ""
    """Single letters that take no value."""
    valued: str = ""
    """Single letters that take one."""
    long: frozenset[str] = frozenset()
    """Long flags without a value; a ``+`` at the end says that one follows."""
    operands: int = 0
    """Operands before the command."""
    assigns: bool = False
    """Whether ``NAME=value`` may stand before the command."""
    code: str = ""
    """Letter or long flag whose value is a command line."""
    cover: Cover = "inside"
    """What an allow rule must cover: the command inside alone; wrapper and command both; or the whole
    as it stands, for those that people write as one (``npx tsc``)."""
    words: tuple[str, ...] = ()
    """Subcommand that makes it a wrapper: ``uv run``; others are plain commands."""


def _w(flags: str = "", valued: str = "", long: str = "", **more: Any) -> Wrapper:
    return Wrapper(flags, valued, frozenset(long.split()), **more)


_RUNNER: dict[str, Any] = {"cover": "outside"}
_ROOT: dict[str, Any] = {"cover": "both"}

# fmt: off
WRAPPERS: dict[str, Wrapper] = {
    # Change how a command runs, not what it does.
    "time": _w("pvaq", "fo", "portability verbose append quiet format+ output+", assigns=True),
    "nohup": _w(),
    "nice": _w("0123456789", "n", "adjustment+"),
    "ionice": _w("t", "cn", "ignore class+ classdata+"),
    "timeout": _w("vfp", "ks", "foreground preserve-status verbose kill-after+ signal+", operands=1),
    "stdbuf": _w("", "ioe", "input+ output+ error+"),
    "setsid": _w("cfw", "", "ctty fork wait"),
    "command": _w("p"),
    "builtin": _w(),
    "exec": _w("cl", "a"),
    "noglob": _w(), "nocorrect": _w(), "coproc": _w(assigns=True), "chronic": _w("ve"), "unbuffer": _w("p"),
    "then": _w(), "do": _w(), "else": _w(), "!": _w(),
    "chrt": _w("abdfioRmpv", "TPD", "batch deadline fifo idle other rr reset-on-fork", operands=1),
    "taskset": _w("ac", "", "all-tasks cpu-list", operands=1),
    "caffeinate": _w("dimsu", "tw"),
    "arch": _w("", "e"),
    "busybox": _w(), "toybox": _w(),
    "fakeroot": _w("", "lsib", "lib+ faked+"),
    "faketime": _w("mf", "", operands=1),
    "torsocks": _w("iq"), "torify": _w(), "proxychains": _w("q", "f"), "proxychains4": _w("q", "f"),
    "rlwrap": _w("acnrRvmoi", "AbCDefgHlOpPqsStz"),
    "strace": _w("cCdfFhiknqrtTvVwxyzZ", "abeEoOpPsSuUX"),
    "ltrace": _w("bcCfhiLrStTV", "aAeFlnopsuwxX"),
    "valgrind": _w("", ""),
    "xvfb-run": _w("al", "efnps", "auto-servernum auto-display+ server-num+ server-args+ error-file+"),
    "dbus-run-session": _w(), "linux32": _w(), "linux64": _w(),
    "prlimit": _w("", "", "cpu+ nofile+ nproc+ as+ core+ rss+ stack+"),
    "ld.so": _w(), "ts": _w("irsm"),
    "repeat": _w(operands=1),
    # Give it other rights, another environment, or input that nobody sees: the wrapper counts as well.
    "sudo": _w("AbBEHKknNPS", "CDghpRrTtUu",
               "askpass background bell preserve-env set-home non-interactive stdin user+ group+ host+"
               " prompt+ chdir+ chroot+ command-timeout+ close-from+ role+ type+ other-user+",
               assigns=True, **_ROOT),
    "doas": _w("Ln", "aCu", **_ROOT),
    "pkexec": _w("", "", "user+ disable-internal-agent keep-cwd", **_ROOT),
    "runuser": _w("fmp", "ugGw", "user+ group+ supp-group+", code="c", **_ROOT),
    "su": _w("flmpP", "gGsw", "login group+ shell+", code="c", **_ROOT),
    "env": _w("i0v", "uC", "ignore-environment null debug unset+ chdir+ block-signal ignore-signal"
              " default-signal", assigns=True, code="S"),
    "flock": _w("exsnuoF", "wE", "exclusive shared nonblock unlock close no-fork timeout+ wait+"
                " conflict-exit-code+", operands=1, code="c"),
    "xargs": _w("0rtpxo", "InPLsdaE", "null no-run-if-empty verbose interactive exit open-tty max-args+"
                " max-procs+ max-lines+ max-chars+ delimiter+ arg-file+ replace", **_ROOT),
    "watch": _w("bcdegptwxr", "nq", "beep color differences errexit chgexit no-title exec interval+"
                " equexit+"),
    "systemd-run": _w("qrtPdGS", "pEuHMC", "user scope quiet wait pty pipe collect no-block shell same-dir"
                      " unit+ property+ setenv+ uid+ gid+ slice+ description+ working-directory+", **_ROOT),
    "firejail": _w("", "", "quiet noprofile", **_ROOT),
    "unshare": _w("mupniUCTfrc", "SGRw", "mount uts ipc net pid user cgroup fork map-root-user"
                  " map-current-user mount-proc kill-child keep-caps", **_ROOT),
    "nsenter": _w("mupniUCTaFe", "tSGrw", "target+ all", **_ROOT),
    "chroot": _w("", "", "userspec+ groups+ skip-chdir", operands=1, **_ROOT),
    "sshpass": _w("eV", "pfdP", **_ROOT),
    "script": _w("aefqV", "OIBTmot", "append flush quiet return", operands=1, code="c", **_ROOT),
    "entr": _w("acdnprsxz", "", **_ROOT),
    # What people write as one: `npx tsc` is a command of its own.
    "npx": _w("yqs", "pw", "yes no no-install quiet prefer-offline offline package+ workspace+ workspaces",
              code="c", **_RUNNER),
    "bunx": _w("y", "p", "bun package+ verbose silent", **_RUNNER),
    "pnpx": _w("s", "", "silent package+", code="c", **_RUNNER),
    "uvx": _w("qvn", "pcw", "from+ with+ python+ with-requirements+ isolated offline quiet", **_RUNNER),
    "pipx": _w("qv", "", "spec+ python+ no-cache", words=("run",), **_RUNNER),
    "uv": _w("qvn", "p", "with+ python+ extra+ group+ package+ directory+ project+ env-file+ all-extras"
             " frozen locked no-sync no-dev isolated offline active dev", words=("run",), **_RUNNER),
    "poetry": _w("qvn", "", "quiet no-interaction", words=("run",), **_RUNNER),
    "pipenv": _w("q", "", words=("run",), **_RUNNER),
    "pdm": _w("v", "p", words=("run",), **_RUNNER),
    "hatch": _w("v", "e", words=("run",), **_RUNNER),
    "rye": _w("", "", words=("run",), **_RUNNER),
    "bundle": _w("", "", words=("exec",), **_RUNNER),
    "rbenv": _w("", "", words=("exec",), **_RUNNER),
    "pyenv": _w("", "", words=("exec",), **_RUNNER),
    "mise": _w("", "", words=("exec",), **_RUNNER),
    "direnv": _w("", "", words=("exec",), operands=1, **_RUNNER),
    "conda": _w("v", "np", "name+ prefix+ no-capture-output live-stream", words=("run",), **_RUNNER),
    "dotenv": _w("", "e", **_RUNNER), "cross-env": _w("", "", assigns=True, **_RUNNER),
    "xcrun": _w("vn", "", "sdk+ toolchain+", **_RUNNER),
    "pnpm": _w("rs", "CF", "silent recursive filter+ dir+", words=("exec", "dlx"), code="c", **_RUNNER),
    "npm": _w("s", "w", "silent yes workspace+ workspaces if-present package+", words=("exec", "x"), code="c",
              **_RUNNER),
    "yarn": _w("s", "", "silent cwd+", words=("exec", "dlx"), **_RUNNER),
    "bun": _w("", "", words=("x",), **_RUNNER),
}
WRAPPERS["gtimeout"] = WRAPPERS["timeout"]
WRAPPERS["gnice"] = WRAPPERS["nice"]
WRAPPERS["genv"] = WRAPPERS["env"]
WRAPPERS["gxargs"] = WRAPPERS["xargs"]
WRAPPERS["gstdbuf"] = WRAPPERS["stdbuf"]
# fmt: on

"""Runs everything that must hold, part by part, and closes with how many tests passed.

test.py [part ...]: all parts by default. A red part makes the whole red; the others still run.
"""

import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / "build" / "reports"
JOBS = os.environ.get("JOBS") or str(len(os.sched_getaffinity(0)))
QUIET = re.compile(r"\s*(Start +\d+:|\d+/\d+ Test +#\d+: .* Passed |Test project )")


@dataclass
class Outcome:
    """What one part found. A part that could not run at all counts as one failure."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __str__(self) -> str:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"

    def add(self, other: "Outcome") -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped


def run(*command: str) -> bool:
    """Runs a command, showing its output without the lines on tests that passed."""
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if not QUIET.match(line):
                print(line, end="", flush=True)
    return process.returncode == 0


def one(ok: bool) -> Outcome:
    return Outcome(passed=1) if ok else Outcome(failed=1)


def count(report: Path, ok: bool) -> Outcome:
    """Reads a JUnit report. A run that failed without a failed test counts as one failure."""
    outcome = Outcome()
    if report.exists():
        for suite in ElementTree.parse(report).getroot().iter("testsuite"):
            number = {key: int(value) for key, value in suite.items() if value.isdigit()}
            failed = number.get("failures", 0) + number.get("errors", 0)
            skipped = number.get("skipped", 0) + number.get("disabled", 0)
            outcome.add(Outcome(number["tests"] - failed - skipped, failed, skipped))
    if not ok and not outcome.failed:
        outcome.failed = 1
    return outcome


def fixed_addresses() -> list[str]:
    """The sanitizers of GCC 12 and Clang 14 cannot live with more than 28 random address bits."""
    try:
        bits = int(Path("/proc/sys/vm/mmap_rnd_bits").read_text())
    except (OSError, ValueError):
        bits = 0
    return ["setarch", "-R"] if bits > 28 else []


def ctest(preset: str) -> Outcome:
    if not run("scripts/build", preset):
        return Outcome(failed=1)
    report = REPORTS / f"{preset}.xml"
    report.unlink(missing_ok=True)
    wrapper = [] if preset == "release" else fixed_addresses()
    command = ["ctest", "--test-dir", f"build/{preset}", "--output-on-failure", "--no-tests=error"]
    ok = run(*wrapper, *command, "--parallel", JOBS, "--output-junit", str(report))
    return count(report, ok)


def python() -> Outcome:
    if not run("scripts/build", "release"):
        return Outcome(failed=1)
    report = REPORTS / "python.xml"
    report.unlink(missing_ok=True)
    ok = run(sys.executable, "-m", "pytest", "-q", f"--junitxml={report}")
    return count(report, ok)


def lint() -> Outcome:
    return one(run("scripts/build", "release") and run("scripts/lint"))


# In the order in which they run. `python` installs the wheel that `wheel` made.
PARTS: dict[str, tuple[str, Callable[[], Outcome]]] = {
    "release": ("C++ tests, examples, find_package", lambda: ctest("release")),
    "wheel": ("the wheel builds", lambda: one(run("scripts/wheel"))),
    "python": ("Python tests, the pages' examples", python),
    "lint": ("clang-format, ruff, mypy", lint),
    "asan": ("C++ tests and fuzz corpora under ASan and UBSan", lambda: ctest("asan")),
    "tsan": ("core, engine and data under TSan", lambda: ctest("tsan")),
    "clang": ("the library compiles with Clang", lambda: one(run("scripts/build", "clang"))),
}
BUILT_ASIDE = ("asan", "tsan", "clang")  # while the Python tests run


def build_aside(presets: list[str]) -> subprocess.Popen[bytes] | None:
    """Builds on what the tests leave of the CPUs. Each part still builds, and tells what failed."""
    if not presets:
        return None
    with (REPORTS / "aside.log").open("wb") as log:
        command = ["chrt", "--idle", "0", "scripts/build", *presets]
        return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        print(f"no such part: {', '.join(unknown)}; there are: {', '.join(PARTS)}")
        return 2
    REPORTS.mkdir(parents=True, exist_ok=True)
    total = Outcome()
    lines = []
    left = names or list(PARTS)
    aside = None
    while left:
        name, *left = left
        title, part = PARTS[name]
        print(f"\n== {name}: {title}", flush=True)
        start = time.monotonic()
        if name == "python":  # it leaves half of two CPUs idle
            aside = build_aside([one for one in left if one in BUILT_ASIDE])
        elif aside and name in BUILT_ASIDE:
            aside.wait()
        outcome = part()
        total.add(outcome)
        mark = "FAILED" if outcome.failed else "ok"
        seconds = time.monotonic() - start
        lines.append(f"{name:8} {mark:6} {seconds:5.0f} s  {outcome}  ({title})")
    print("\n" + "\n".join(lines))
    print(total)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

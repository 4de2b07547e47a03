"""The command line that all benchmarks have."""

import argparse
from collections.abc import Collection


def options(
    about: str | None, cases: Collection[str], rounds: int = 5, quick: str = "", only: bool = False
) -> argparse.Namespace:
    """What was asked for: `cases` (all of them if none was named), `rounds`, `install_peers`.

    `quick` says what a quick run leaves out, where there is one; `only`: contenders can be chosen.
    """
    known = ", ".join(cases)
    parser = argparse.ArgumentParser(description=(about or "").splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="case", help=f"of: {known}")
    parser.add_argument("--rounds", type=int, help=f"how often each contender runs ({rounds})")
    parser.add_argument("--install-peers", action="store_true")
    if quick:
        parser.add_argument("--quick", action="store_true", help=f"{quick}, three rounds")
    if only:
        words = "a contender; may be repeated"
        parser.add_argument("--only", action="append", default=[], help=words)
    chosen = parser.parse_args()
    unknown = set(chosen.cases) - set(cases)
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}; there are {known}")
    chosen.cases = chosen.cases or list(cases)
    chosen.rounds = chosen.rounds or (3 if quick and chosen.quick else rounds)
    return chosen

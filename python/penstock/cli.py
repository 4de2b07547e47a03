"""The command ``penstock``. A subcommand is one function that adds its parser and its action."""

import argparse
from collections.abc import Sequence
from typing import Any

import penstock


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    >>> main(["version"])  # doctest: +SKIP
    penstock 0.1.0
    0
    """
    parser = argparse.ArgumentParser(
        prog="penstock", description="A data-loading engine for model training."
    )
    commands = parser.add_subparsers(metavar="command", required=True)
    for add in (_add_version, _add_demo):
        add(commands)
    options = parser.parse_args(arguments)
    code: int = options.action(options)
    return code


def _add_version(commands: Any) -> None:
    def action(_: argparse.Namespace) -> int:
        print(f"penstock {penstock.__version__}")
        return 0

    commands.add_parser("version", help="print the version").set_defaults(action=action)


def _add_demo(commands: Any) -> None:
    def action(_: argparse.Namespace) -> int:
        from penstock import demo  # its imports are only paid for by who runs it

        return demo.main()

    commands.add_parser("demo", help="show what it does, on this machine").set_defaults(
        action=action
    )

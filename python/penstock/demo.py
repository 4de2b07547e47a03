"""``penstock demo``: shows what this build can do, on this machine."""

import os
import platform

from rich.console import Console

import penstock
from penstock import _core


def main() -> int:
    """Run the demo and return its exit code."""
    console = Console(highlight=False)
    build = _core.build_info()
    console.print(f"[bold]Penstock {penstock.__version__}[/bold]")
    console.print(f"  built with  {build['compiler']}")
    console.print(f"  runs on     Python {platform.python_version()}, {os.cpu_count()} CPUs")
    console.print("The native module is loaded. The engine has no Python face yet.")
    return 0

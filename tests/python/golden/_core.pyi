"""The native part of Penstock."""



def version() -> str:
    """The version of Penstock."""

def build_info() -> dict[str, str | bool]:
    """How this module was built: compiler, assertions."""

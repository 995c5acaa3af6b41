"""The first thing that runs beside a Connect server: says which packages are missing there, or starts Headgate.

It stands in the archive by itself, since importing Headgate needs them all.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

NEEDED = (
    "pyspark",
    "py4j",
    "pyarrow",
    "numpy",
    "pandas",
    "pyroaring",
    "msgspec",
    "starlette",
    "uvicorn",
    "httptools",
    "typer",
    "rich",
)


def main() -> None:
    """Check, and start."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        sys.exit(
            f"the Python of the Connect server lacks {', '.join(missing)}, which Headgate needs; install them there: "
            f"{sys.executable} -m pip install {' '.join(missing)}"
        )
    from headgate.beside.answering import main as answer

    answer()


if __name__ == "__main__":
    main()

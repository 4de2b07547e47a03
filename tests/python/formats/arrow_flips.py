"""Reads a file of tables again and again, with a flipped bit each time: python arrow_flips.py FILE
STEP. A process of its own, since crashes are what it looks for; the last line says where."""

import sys
from pathlib import Path

import numpy as np
import penstock as ps

NORMAL = (ValueError, OSError, NotImplementedError, MemoryError, KeyError)


def read(path: Path, **options: object) -> None:
    try:
        ds = ps.open(path, **options)
        for i in range(min(len(ds), 12)):
            for value in ds[i].values():
                np.array(value) if isinstance(value, np.ndarray | memoryview) else repr(value)
    except NORMAL:
        pass


def main(path: Path, step: int) -> None:
    sound = path.read_bytes()
    for at in range(3, len(sound), step):
        damaged = bytearray(sound)
        damaged[at] ^= 0x40
        path.write_bytes(damaged)
        print(at, flush=True)
        read(path)
        read(path, fields=["i"], filter=[("text", ">", "b")])
        read(path, fields=["text"], nulls={"text": ""})


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))

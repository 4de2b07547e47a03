"""Files that the tests of `convert` begin with."""

import tarfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def table(path: Path, /, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def write_tar(path: Path, samples: list[dict[str, bytes]]) -> Path:
    with tarfile.open(path, "w") as tar:
        for i, sample in enumerate(samples):
            for field, data in sample.items():
                member = tarfile.TarInfo(f"{i:04}.{field}")
                member.size = len(data)
                tar.addfile(member, BytesIO(data))
    return path

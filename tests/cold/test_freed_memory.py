"""Memory that a step freed serves the next one; counted in pages that the system had to map, in other processes."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

_COUNT = """
import resource, torch
from cold.compute import keep_freed_memory
assert keep_freed_memory()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(50):
    torch.ones(4, 1024, 1024)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
_PAGES = 50 * 16 * 2**20 // 4096  # of fifty tensors of 16 MiB


def pages(**chosen: str) -> int:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")} | chosen
    done = subprocess.run(
        [sys.executable, "-c", _COUNT], capture_output=True, text=True, check=True, timeout=300, env=environment
    )
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_freed_memory_is_used_again():
    assert pages() < _PAGES / 10


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_what_users_have_set_stays():
    assert pages(MALLOC_MMAP_THRESHOLD_="131072", MALLOC_TRIM_THRESHOLD_="131072") > _PAGES / 2

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""accrue as one header: writes what <accrue/accrue.hpp> includes of accrue, each once, in the order of inclusion.

Include guards stay, so that a program may include both forms; includes of Kokkos and of the standard library stay where
they are. Usage: amalgamate.py OUT
"""
import re
import sys
from pathlib import Path

INCLUDE = Path(__file__).resolve().parent.parent / "include"
OWN = re.compile(r"^ *# *include *<(accrue/[^>]+)> *(//.*)?$")


def closure(header, seen):
    """Lines of a header, with what it includes of accrue in place of these includes."""
    if header in seen:
        return []
    seen.add(header)
    lines = [f"// ---- {header}"]
    for line in (INCLUDE / header).read_text().splitlines():
        found = OWN.match(line)
        lines += closure(found[1], seen) if found else [line]
    return lines


def main(out):
    seen = set()
    lines = closure("accrue/version.hpp", seen) + closure("accrue/accrue.hpp", seen)
    version = ".".join(re.findall(r"#define ACCRUE_VERSION_\w+ (\d+)", "\n".join(lines)))
    head = [
        "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception",
        f"// accrue {version} in one header, made by tools/amalgamate.py of {len(seen)}. Needs Kokkos and C++20.",
        "#pragma once",
    ]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("\n".join(head + lines) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: amalgamate.py OUT")
    main(Path(sys.argv[1]))

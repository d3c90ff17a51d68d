# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A Spack recipe for accrue. Untested: see docs/packages.md. With this folder's parent in a Spack repository, and from a
# clone of accrue: spack dev-build accrue@0.1.0
from spack.package import *


class Accrue(CMakePackage):
    """Gradient accumulation for C++ on Kokkos: many small backward passes, one update that equals that of the large batch."""

    license("Apache-2.0 WITH LLVM-exception")

    version("0.1.0")

    variant("mpi", default=False, description="MPI for accrue::mpi")

    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("kokkos@4.6:")
    depends_on("mpi", when="+mpi")

    def cmake_args(self):
        off = ("ACCRUE_BUILD_TESTS", "ACCRUE_BUILD_BENCHMARKS", "ACCRUE_BUILD_EXAMPLES")
        return [self.define(option, False) for option in off] + [self.define_from_variant("ACCRUE_MPI", "mpi")]

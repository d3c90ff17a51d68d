# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A Conan 2 recipe for accrue, from the clone that it lies in. Untested: see docs/packages.md.
#   conan create packaging/conan
import os

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy

ROOT = os.path.join("..", "..")


class AccrueConan(ConanFile):
    name = "accrue"
    version = "0.1.0"
    license = "Apache-2.0 WITH LLVM-exception"
    description = "Gradient accumulation for C++ on Kokkos"
    topics = ("kokkos", "gradient accumulation", "header-only")
    package_type = "header-library"
    settings = "os", "compiler", "build_type", "arch"
    no_copy_source = True

    def export_sources(self):
        root = os.path.join(self.recipe_folder, ROOT)
        for pattern in ("CMakeLists.txt", "LICENSE", "include/*"):
            copy(self, pattern, root, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires("kokkos/[>=4.6]", transitive_headers=True, transitive_libs=True)

    def validate(self):
        check_min_cppstd(self, 20)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for option in ("ACCRUE_BUILD_TESTS", "ACCRUE_BUILD_BENCHMARKS", "ACCRUE_BUILD_EXAMPLES", "ACCRUE_MPI"):
            toolchain.cache_variables[option] = False
        toolchain.generate()

    def build(self):
        CMake(self).configure()

    def package(self):
        CMake(self).install()

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.bindirs = self.cpp_info.libdirs = []
        self.cpp_info.set_property("cmake_target_name", "accrue::accrue")
        self.cpp_info.requires = ["kokkos::kokkos"]

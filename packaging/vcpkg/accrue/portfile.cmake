# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# An overlay port, of the clone that it lies in. Untested: see docs/packages.md.
#   vcpkg install accrue --overlay-ports=packaging/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

set(VCPKG_BUILD_TYPE release)  # headers only
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
                      OPTIONS -DACCRUE_BUILD_TESTS=OFF -DACCRUE_BUILD_BENCHMARKS=OFF -DACCRUE_BUILD_EXAMPLES=OFF
                              -DACCRUE_MPI=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/accrue)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/lib" "${CURRENT_PACKAGES_DIR}/debug")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")

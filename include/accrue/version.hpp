// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_VERSION_HPP
#define ACCRUE_VERSION_HPP

// CMakeLists.txt reads the version of the project from these three lines.
#define ACCRUE_VERSION_MAJOR 0
#define ACCRUE_VERSION_MINOR 1
#define ACCRUE_VERSION_PATCH 0

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_EXAMPLES_SUPPORT_DRAWING_HPP
#define ACCRUE_EXAMPLES_SUPPORT_DRAWING_HPP

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

#ifndef ACCRUE_EXAMPLES
#define ACCRUE_EXAMPLES "examples"  // the build says where this folder is
#endif

namespace examples {

/// A new file for numbers that are to be drawn; makes the folder as well.
inline std::ofstream open_numbers(std::filesystem::path const& folder, std::string const& name) {
  auto const file = folder / name;
  std::filesystem::create_directories(folder);
  std::ofstream out(file);
  if (!out) throw std::runtime_error(file.string() + ": cannot be written");
  return out;
}

/// Runs a gnuplot script of the examples in the folder where its numbers are; says what to do where there is no
/// gnuplot.
inline void draw(std::string const& script, std::filesystem::path const& folder) {
  auto const file = std::filesystem::absolute(std::filesystem::path(ACCRUE_EXAMPLES) / script);
  auto const here = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  std::string const command = "gnuplot '" + file.string() + "'";
  int const status = std::system(command.c_str());
  std::filesystem::current_path(here);
  if (status != 0)
    std::cerr << "Not drawn: is gnuplot there? (Debian: gnuplot-nox) In " << folder << " it takes: " << command << '\n';
}

}  // namespace examples
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How long a compiler takes for Kokkos, for accrue's header beside it, and for one accumulator: the commands of this
// build's compile_commands.json, run once more without a cache.
#include "../goals/process.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <limits>
#include <stdexcept>
#include <string>

namespace {

/// The command that compiles a file of units/.
std::string command_for(nlohmann::json const& commands, std::string const& unit) {
  for (auto const& one : commands)
    if (one.at("file").get<std::string>().ends_with("compile_time/units/" + unit))
      return "cd '" + one.at("directory").get<std::string>() + "' && " + one.at("command").get<std::string>();
  throw std::runtime_error("no command for " + unit);
}

/// The best of three: what disturbs can only add.
double seconds(std::string const& command) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    auto const begin = std::chrono::steady_clock::now();
    bench::ended const done = bench::run({"sh", "-c", command}, bench::writes::to_us);
    if (!done.well) throw std::runtime_error(command + "\n" + done.output);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

}  // namespace

int main() try {
  setenv("CCACHE_DISABLE", "1", 1);
  auto const commands = nlohmann::json::parse(std::ifstream(ACCRUE_COMPILE_COMMANDS));
  bool met = true;
  std::printf("%-8s %12s %16s %18s   seconds, best of 3\n", "", "Kokkos", "+ accrue.hpp", "+ one accumulator");
  for (std::string const level : {"-O0", "-O2"}) {
    auto const timed = [&](std::string const& unit) {
      return seconds(command_for(commands, unit) + " " + level + " -o /dev/null");
    };
    double const kokkos = timed("kokkos.cpp"), header = timed("header.cpp"), group = timed("accumulator.cpp");
    std::printf("%-8s %12.2f %7.2f (+%5.2f) %9.2f (+%5.2f)\n", level.c_str(), kokkos, header, header - kokkos, group,
                group - header);
    met = met && header - kokkos <= 0.6 && group - header <= 3.0;
  }
  std::printf("required: accrue.hpp adds at most 0.6, an accumulator 3 more: %s\n", met ? "met" : "missed");
  return met ? 0 : 1;
} catch (std::exception const& error) {
  std::cerr << "compile_time: " << error.what() << '\n';
  return 2;
}

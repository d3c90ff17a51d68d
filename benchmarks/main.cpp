// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "goals.hpp"

#include <benchmark/benchmark.h>
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <string_view>

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard kokkos(argc, argv);
  auto const end = std::remove_if(argv + 1, argv + argc, [](char* arg) { return std::string_view(arg) == "--goals"; });
  bool const with_goals = end != argv + argc;
  argc = static_cast<int>(end - argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  if (!with_goals) {
    benchmark::RunSpecifiedBenchmarks();
    return 0;
  }
  bench::remembering reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  return bench::check_goals(reporter) == 0 ? 0 : 1;
}

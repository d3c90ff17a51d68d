// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A tool that Kokkos has loaded hears every event before, during and after a watch of memory, and the watch counts.
#include <accrue/doctor/memory_watch.hpp>

#include <dlfcn.h>

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <iostream>
#include <string>

namespace {

void allocate(std::string const& label, std::size_t words) {
  Kokkos::View<double*, Kokkos::HostSpace> const view(label, words);
}

bool is_so(bool holds, char const* claim) {
  if (!holds) std::cerr << "does not hold: " << claim << '\n';
  return holds;
}

}  // namespace

int main(int argc, char* argv[]) {
  std::string const library = argc > 1 ? argv[1] : "";
  Kokkos::ScopeGuard const kokkos(argc, argv);
  void* const tool = dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (tool == nullptr) {
    std::cerr << "Kokkos has not loaded the tool: it was built without libdl\n";
    return 77;
  }
  auto const heard = reinterpret_cast<char const* (*)()>(dlsym(tool, "heard_by_tool"));

  std::string const until_then = heard();
  allocate("before", 1);
  bool all = true;
  {
    accrue::memory_watch const watch;
    allocate("during", 2);
    all = is_so(watch.peaks().size() == 1 && watch.peaks()[0].peak == 16, "the watch counts what it has heard") && all;
  }
  allocate("after", 3);
  std::string const expected = "+before 8\n-before 8\n+during 16\n-during 16\n+after 24\n-after 24\n";
  all = is_so(heard() == until_then + expected, "the tool has heard all events in their order") && all;
  return all ? 0 : 1;
}

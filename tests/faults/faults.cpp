// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// faults CAMPAIGN COUNT SEED: kills a training, corrupts its saved states, poisons its gradients. 0 if all was well.
#include "faults/training.hpp"

#include <Kokkos_Core.hpp>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

// The campaign that starts processes comes before Kokkos.
int main(int argc, char* argv[]) {
  std::string const campaign = argc > 1 ? argv[1] : "";
  try {
    if (argc < 4) throw std::runtime_error("faults kills|corruption|poison COUNT SEED");
    if (campaign == "kills")
      return faults::kills(argv[0], std::stoi(argv[2]), static_cast<unsigned>(std::stoul(argv[3]))) ? 0 : 1;
    Kokkos::ScopeGuard kokkos(argc, argv);
    if (campaign == "run") {
      faults::run_to_the_end(argv[2], std::stoll(argv[3]), std::stoi(argv[4]) != 0);
      return 0;
    }
    int const count = std::stoi(argv[2]);
    auto const seed = static_cast<unsigned>(std::stoul(argv[3]));
    if (campaign == "corruption") return faults::corruption(count, seed) ? 0 : 1;
    if (campaign == "poison") return faults::poison(count, seed) ? 0 : 1;
  } catch (std::exception const& failed) {
    std::cerr << campaign << ": " << failed.what() << '\n';
    return 1;
  }
  return 1;
}

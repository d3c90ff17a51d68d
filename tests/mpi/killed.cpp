// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A run that saves its state after every group: killed.cmake runs it through, has a process of it killed inside a
// group, and lets it go on. Usage: tests_mpi_killed FOLDER RESULT [GROUP], where a process is killed in that group.
#include <accrue/accrue.hpp>
#include <accrue/reduce/mpi_replicas.hpp>
#include <accrue/replicas.hpp>
#include <accrue/restart.hpp>

#include <mpi.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

namespace {

using vector = Kokkos::View<float*, Kokkos::HostSpace>;
constexpr std::int64_t groups = 24;

/// The state of this process after so many groups.
std::string state_file(std::string const& folder, int member, std::int64_t group) {
  return folder + "/state." + std::to_string(member) + "." + std::to_string(group);
}

/// The last group after which every process has a state; -1 if there is none.
std::int64_t last_common_group(std::string const& folder, int member) {
  std::int64_t own = -1, common = -1;
  for (std::int64_t g = 0; g <= groups; ++g)
    if (std::filesystem::exists(state_file(folder, member, g))) own = g;
  MPI_Allreduce(&own, &common, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
  return common;
}

void train(std::string const& folder, std::string const& result, std::int64_t killed_in) {
  accrue::mpi_replicas<> const replicas;
  int const member = replicas.member();
  vector const theta("theta", 101), gradient("gradient", 101);
  Kokkos::deep_copy(theta, 1.0f);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{},
                            accrue::clip_by_global_norm{.max_norm = 1.0}, accrue::dynamic_scale{.initial = 64.0f},
                            replicas, accrue::adamw{.learning_rate = 0.01});
  if (std::int64_t const last = last_common_group(folder, member); last >= 0)
    accrue::load_file(group, state_file(folder, member, last));

  for (std::int64_t g = group.ledger().groups(); g < groups; ++g) {
    float const scale = group.loss_scale().value();
    for (int m = 0; m < 1 + (member + static_cast<int>(g)) % 3; ++m) {
      for (std::size_t i = 0; i < 101; ++i)
        gradient(i) = scale * std::sin(theta(i) * static_cast<float>(1 + member + m) +
                                       static_cast<float>(i + 7 * static_cast<std::size_t>(g)));
      group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{1 + m});
      if (g == killed_in && member == 1) std::raise(SIGKILL);
    }
    group.update();
    accrue::save_file(group, state_file(folder, member, g + 1));
    std::filesystem::remove(state_file(folder, member, g - 1));  // the one before last is enough
  }
  if (member != 0) return;
  std::ofstream out(result, std::ios::binary);
  out.write(reinterpret_cast<char const*>(theta.data()), 101 * sizeof(float));
  out << group.ledger() << group.loss_scale().value() << '\n';
}

}  // namespace

int main(int argc, char* argv[]) {
  MPI_Init(&argc, &argv);
  {
    Kokkos::ScopeGuard kokkos(argc, argv);
    train(argv[1], argv[2], argc > 3 ? std::atoll(argv[3]) : -1);
  }
  MPI_Finalize();
}

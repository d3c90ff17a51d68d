// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One group over MPI processes: the sum at the end, overlapped with the last microbatch, and sharded, side by side in
// one run, beside MPI_Allreduce of as many bytes.
#include <accrue/accrue.hpp>
#include <accrue/reduce/mpi_replicas.hpp>
#include <accrue/reduce/overlapped.hpp>
#include <accrue/reduce/sharded.hpp>
#include <accrue/replicas.hpp>

#include <mpi.h>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using vector = Kokkos::View<float*>;
constexpr std::int64_t views = 12;
constexpr std::int64_t elements = std::int64_t{1} << 20;  ///< of each view
constexpr int microbatches = 4;
constexpr int rounds = 21;

/// Seconds until the slowest process has done it.
template <class Call>
double seconds_of(Call const& call) {
  Kokkos::fence();
  MPI_Barrier(MPI_COMM_WORLD);
  auto const begin = std::chrono::steady_clock::now();
  call();
  Kokkos::fence();
  double mine = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  double slowest = 0.0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

struct candidate {
  std::string name;
  std::vector<double> seconds;
  /// The third fastest and the median; where processes wait for each other and for a core, the latter moves a lot.
  [[nodiscard]] double fast() {
    std::sort(seconds.begin(), seconds.end());
    return seconds[2];
  }
  [[nodiscard]] double median() {
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
  }
};

std::vector<vector> make_views(std::string const& label) {
  std::vector<vector> all;
  for (std::int64_t v = 0; v < views; ++v) all.emplace_back(label, elements);
  return all;
}

template <class Replicas>
auto make_group(std::vector<vector> const& theta, Replicas const& replicas) {
  return accrue::accumulator(accrue::parameters(theta), accrue::per_token{},
                             accrue::clip_by_global_norm{.max_norm = 1.0}, replicas,
                             accrue::sgd{.learning_rate = 0.001});
}

void run() {
  accrue::mpi_replicas<> const transport;
  auto const gradient = make_views("gradient");
  for (auto const& each : gradient) Kokkos::deep_copy(each, 0.5f);
  auto const of_plain = make_views("plain"), of_overlapped = make_views("overlapped"),
             of_threaded = make_views("threaded"), of_sharded = make_views("sharded");
  auto plain = make_group(of_plain, transport);
  auto overlapped = make_group(of_overlapped, accrue::overlapped{transport});
  auto threaded = make_group(of_threaded, accrue::overlapped{transport, accrue::sender::on_a_thread});
  auto sharded = make_group(of_sharded, accrue::sharded{transport});
  std::vector<float> bare(static_cast<std::size_t>(views * elements), 0.5f);

  auto const one_group = [&gradient](auto& group) {
    for (int m = 0; m < microbatches; ++m) group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{100});
    group.update();
  };
  std::vector<candidate> all{{"MPI_Allreduce alone", {}},
                             {"at the end", {}},
                             {"overlapped", {}},
                             {"overlapped, on a thread", {}},
                             {"sharded", {}}};
  for (int r = -2; r < rounds; ++r) {  // two to warm up
    double const seconds[] = {seconds_of([&] {
                                MPI_Allreduce(MPI_IN_PLACE, bare.data(), static_cast<int>(bare.size()), MPI_FLOAT,
                                              MPI_SUM, MPI_COMM_WORLD);
                              }),
                              seconds_of([&] { one_group(plain); }), seconds_of([&] { one_group(overlapped); }),
                              seconds_of([&] { one_group(threaded); }), seconds_of([&] { one_group(sharded); })};
    std::fill(bare.begin(), bare.end(), 0.5f);
    for (std::size_t c = 0; r >= 0 && c < all.size(); ++c) all[c].seconds.push_back(seconds[c]);
  }
  int member = 0, members = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &member);
  MPI_Comm_size(MPI_COMM_WORLD, &members);
  if (member != 0) return;
  double const end = all[1].fast();
  std::printf("%d processes of %d threads, %lld x %lld floats, %d microbatches a group, %d rounds\n\n", members,
              Kokkos::DefaultExecutionSpace().concurrency(), static_cast<long long>(views),
              static_cast<long long>(elements), microbatches, rounds);
  std::printf("| a group | ms, third fastest | to the sum at the end | ms, median |\n|---|---|---|---|\n");
  for (candidate& each : all)
    std::printf("| %s | %.1f | %.2f | %.1f |\n", each.name.c_str(), 1e3 * each.fast(), each.fast() / end,
                1e3 * each.median());
}

}  // namespace

int main(int argc, char* argv[]) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  {
    Kokkos::ScopeGuard kokkos(argc, argv);
    run();
  }
  MPI_Finalize();
}

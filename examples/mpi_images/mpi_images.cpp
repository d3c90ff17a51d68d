// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The images example on several processes: the same effective batch, however many share it.
#include <accrue/accrue.hpp>
#include <accrue/doctor/memory_watch.hpp>
#include <accrue/reduce/mpi_replicas.hpp>
#include <accrue/replicas.hpp>

#include <mpi.h>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <iostream>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "../images/image_set.hpp"
#include "../images/network.hpp"
#include "../images/training.hpp"
#include "../support/arguments.hpp"
#include "../support/format.hpp"
#include "../support/run_sheet.hpp"

namespace {

constexpr char const* usage = R"(usage: mpirun -n 1, 2 or 4 mpi_images [--data FOLDER]

  --data FOLDER   as for the example images; without it, with synthetic images
)";

using namespace examples;

constexpr int microbatches_per_update = 4;  // over all replicas: A * D

/// One pass over the first images, each microbatch on the replica whose turn it is; returns the parameters. `said` is
/// called with the run sheet at the end.
template <class Replicas, class Summation, class Said>
std::vector<float> train(image_set const& images, int count, int microbatch_size, Replicas const& replicas, int member,
                         int members, Summation const& summation, accrue::memory_watch& memory, Said const& said) {
  execution const exec;
  network_shape const shape{images.pixels_each(), 64, images.classes};
  network const parameters(shape), gradient(shape);
  network_workspace const work(shape, microbatch_size);
  generator random(0);  // the same on every process, so that all begin with equal parameters
  initialize(parameters, random);
  auto const order = on_device(shuffled_order(images.size(), random));

  accrue::accumulator group(exec,
                            accrue::parameters(parameters.hidden.weight, parameters.hidden.bias,
                                               parameters.output.weight, parameters.output.bias),
                            accrue::per_sample{}, accrue::every{microbatches_per_update / members}, accrue::keep_last{},
                            accrue::clip_by_global_norm{.max_norm = 1.0}, summation, replicas,
                            accrue::momentum{.learning_rate = 0.05});
  accrue::run_history history;
  group.observe(std::ref(history));
  memory.groups_of(group);
  for (int first = member * microbatch_size; first < count; first += members * microbatch_size) {
    int const last = std::min(first + microbatch_size, count);
    auto const batch = Kokkos::subview(order, Kokkos::pair<int, int>(first, last));
    double const loss = mean_gradient(exec, parameters, images, batch, work, gradient);
    group.accumulate(accrue::mean_gradient{gradient.hidden.weight, gradient.hidden.bias, gradient.output.weight,
                                           gradient.output.bias},
                     accrue::samples{last - first}, accrue::mean_loss{loss});
    if (group.full()) group.update();
  }
  group.end_of_data();  // replicas without data take part until all are done
  said(run_sheet_of(group, history,
                    {.microbatch = accrue::samples{microbatch_size},
                     .group = accrue::microbatches{microbatches_per_update / members},
                     .replicas = members,
                     .samples = accrue::samples{count}},
                    &memory));

  std::vector<float> all;
  std::apply(
      [&](auto const&... views) {
        auto const add = [&](auto const& view) {
          auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, view);
          all.insert(all.end(), host.data(), host.data() + host.size());
        };
        (add(views), ...);
      },
      parameters.views());
  return all;
}

double largest_difference(std::vector<float> const& a, std::vector<float> const& b) {
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(double(a[i]) - double(b[i])));
  return largest;
}

/// Returns whether everything that is claimed holds.
bool run(image_set const& images, std::string const& description, accrue::memory_watch& memory) {
  accrue::mpi_replicas<> const replicas;
  int const d = replicas.members(), member = replicas.member();
  if (microbatches_per_update % d != 0) throw std::invalid_argument("the number of processes is 1, 2 or 4");
  bool const tells = member == 0;
  auto const silent = [](auto const&) {};
  if (tells) std::cout << description << ", " << images.size() << " for training, D = " << d << "\n\n";

  auto const shared =
      train(images, images.size(), 64, replicas, member, d, accrue::widened<>{}, memory, [&](auto const& sheet) {
        if (tells) write_markdown(std::cout, sheet);
      });
  auto const alone = train(images, images.size(), 64, accrue::one_replica{}, 0, 1, accrue::widened<>{}, memory, silent);
  double const difference = largest_difference(shared, alone);
  if (tells)
    std::cout << "\nAfter one pass parameters differ from those of one process by at most " << scientific(difference, 1)
              << '\n';

  // Microbatches of one image and sums that do not depend on the order: not a bit differs.
  int const few = std::min(512, images.size());
  auto const exactly = train(images, few, 1, replicas, member, d, accrue::order_independent{}, memory, silent);
  auto const exactly_alone =
      train(images, few, 1, accrue::one_replica{}, 0, 1, accrue::order_independent{}, memory, silent);
  bool const same_bits = exactly == exactly_alone;
  if (tells)
    std::cout << "With order_independent " << (same_bits ? "they are equal, bit for bit" : "they DIFFER") << '\n';
  return difference < 1e-6 && same_bits;
}

}  // namespace

int main(int argc, char* argv[]) {
  MPI_Init(&argc, &argv);
  int status = 2;
  try {
    arguments const given(argc, argv, {"--help"}, {"--data"});
    if (given.has("--help")) {
      std::cout << usage;
      status = 0;
    } else {
      Kokkos::ScopeGuard const kokkos(argc, argv);
      accrue::memory_watch memory;
      auto const folder = given.value("--data");
      image_data const data =
          folder ? read_image_folder(*folder, std::numeric_limits<int>::max()) : synthetic_image_data();
      status = run(data.training, data.description, memory) ? 0 : 1;
    }
  } catch (std::exception const& problem) {
    std::cerr << "mpi_images: " << problem.what() << "\n\n" << usage;
  }
  if (status != 0) MPI_Abort(MPI_COMM_WORLD, status);  // an error on one process ends all of them
  MPI_Finalize();
}

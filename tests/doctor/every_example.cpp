// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The doctor finds nothing wrong with the backward passes of the examples, which are those of the programs themselves.
// Elsewhere: images and verses are in example_models.cpp, eigen_regression in eigen_example.cpp, mpi_images trains what
// images does, examples/doctor examines itself.
// Nothing to look at: hello, two_replicas, last_group_five_ways, own_policy, clipping_placements, weighted_tokens,
// guide, snippets, and accelerate, deepspeed and optax of coming_from hand over numbers that no examples are behind,
// and batch_plan has no gradient.
#include <accrue/accrue.hpp>
#include <accrue/doctor/examine_loop.hpp>
#include <accrue/doctor/memory_watch.hpp>
#include <accrue/fitting_microbatches.hpp>
#include <accrue/make_run_sheet.hpp>
#include <accrue/restart.hpp>

#include "support/host.hpp"

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <limits>
#include <new>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "../../examples/inversion/bounded_adam.hpp"
#include "../../examples/inversion/ground.hpp"
#include "../../examples/inversion/survey.hpp"
#include "../../examples/support/arguments.hpp"
#include "../../examples/support/drawing.hpp"
#include "../../examples/support/format.hpp"
#include "../../examples/support/gradient_check.hpp"
#include "../../examples/support/memory_use.hpp"
#include "../../examples/support/progress.hpp"
#include "../../examples/support/random.hpp"

// Each program in a namespace of its own: what it includes stands above.
namespace of_by_hand {
#include "../../examples/coming_from/by_hand.cpp"
}
namespace of_inversion {
#include "../../examples/inversion/inversion.cpp"
}
namespace of_loop {
#include "../../examples/loop/loop.cpp"
}
namespace of_megatron {
#include "../../examples/coming_from/megatron.cpp"
}
namespace of_mixed_precision {
#include "../../examples/mixed_precision/mixed_precision.cpp"
}
namespace of_mpi_start {
#include "../../examples/mpi_start/backward.hpp"
}
namespace of_out_of_memory {
#include "../../examples/out_of_memory/out_of_memory.cpp"
}
namespace of_pytorch {
#include "../../examples/coming_from/pytorch.cpp"
}
namespace of_restart {
#include "../../examples/restart/restart.cpp"
}
namespace of_run_sheet {
#include "../../examples/run_sheet/run_sheet.cpp"
}
namespace of_write_through {
#include "../../examples/write_through/write_through.cpp"
}

namespace {

namespace doctor = accrue::doctor;
using accrue::doctor::diagnosis;
using accrue::doctor::mean_over;
using chosen = accrue::doctor::examples;
using support::values;

/// The sum of the gradients of some examples, and of their losses.
struct summed {
  std::vector<double> gradient;
  double loss = 0;
  std::int64_t samples = 0, tokens = 0;

  template <class View>
  void add(double times, View const& more) {
    auto const numbers = values(more);
    if (gradient.empty()) gradient.resize(numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) gradient[i] += times * static_cast<double>(numbers[i]);
  }
  /// As the means that a microbatch hands over.
  [[nodiscard]] Kokkos::View<double*> mean(std::int64_t count) const {
    std::vector<double> numbers = gradient;
    for (double& each : numbers) each /= static_cast<double>(count);
    return support::make_view<double>(numbers);
  }
};

/// Calls `run(first, last)` for the runs of neighbours among some examples, as a program would read them.
template <class Run>
void for_each_run(chosen const& list, Run const& run) {
  for (std::size_t first = 0; first < list.size();) {
    std::size_t last = first + 1;
    while (last < list.size() && list[last] == list[last - 1] + 1) ++last;
    run(static_cast<int>(list[first]), static_cast<int>(list[last - 1]) + 1);
    first = last;
  }
}

/// A backward pass over some examples.
using pass = std::function<summed(chosen const&)>;

/// What the doctor says of it, and of an accumulator that adds up its gradients under a normalization.
template <class Parameters, class Normalization>
doctor::report examined(Parameters const& parameters, std::size_t size, std::int64_t count, mean_over unit,
                        Normalization normalization, pass const& backward) {
  auto const tokens = unit == mean_over::tokens;
  doctor::gradient received;
  Kokkos::View<double*> const sums("sums", size);
  accrue::accumulator group(accrue::parameters(sums), normalization, accrue::with_gradient([&](auto const& g) {
                              received = doctor::gradient(g.template get<0>());
                            }));
  auto const microbatch = [&](chosen const& list) {
    summed const found = backward(list);
    std::int64_t const all = tokens ? found.tokens : found.samples;
    return doctor::microbatch(accrue::mean_gradient{found.mean(all)}, accrue::samples{found.samples},
                              accrue::tokens{found.tokens}, accrue::mean_loss{found.loss / static_cast<double>(all)});
  };
  auto const loop = [&](doctor::group const& asked) {
    for (chosen const& list : asked.microbatches) {
      summed const found = backward(list);
      group.accumulate(accrue::mean_gradient{found.mean(tokens ? found.tokens : found.samples)},
                       accrue::samples{found.samples}, accrue::tokens{found.tokens});
    }
    group.update();
    return received;
  };
  return doctor::examine_loop(accrue::parameters(parameters), microbatch, loop, accrue::samples{count},
                              {.mean = unit, .microbatches = 4});
}

/// What the doctor says of a backward pass alone, `run(first, last, gradient)`, which says nothing of its loss.
template <class T, class Run>
doctor::report examined_alone(Kokkos::View<T*> const& theta, int count, Run const& run) {
  Kokkos::View<T*> const gradient("gradient", theta.size());
  auto const microbatch = [&](chosen const& list) {
    summed all;
    for_each_run(list, [&](int first, int last) {
      run(first, last, gradient);
      all.add(last - first, gradient);
    });
    support::value_list<Kokkos::View<T*>> mean;
    for (double const each : all.gradient)
      mean.push_back(static_cast<typename decltype(mean)::value_type>(each / static_cast<double>(list.size())));
    return doctor::microbatch(accrue::mean_gradient{support::make_view<T>(mean)}, accrue::samples{list.size()});
  };
  return doctor::examine(accrue::parameters(theta), microbatch, accrue::samples{count});
}

double number_in(Kokkos::View<double> const& one) { return values(one)[0]; }

/// The backward pass of examples/loop, of points along a line.
pass line_of_loop(of_loop::vector const& line) {
  return [line, gradient = of_loop::vector("gradient", 2), loss = of_loop::scalar("loss")](chosen const& list) {
    summed all;
    for_each_run(list, [&](int first, int last) {
      of_loop::backward(line, first, last, gradient, loss);
      all.add(last - first, gradient);
      all.loss += (last - first) * number_in(loss);
    });
    all.samples = all.tokens = std::ssize(list);
    return all;
  };
}

}  // namespace

TEST_CASE("the example loop is healthy, and as a mean of means it is not") {
  of_loop::vector const line = support::make_view<double>({0.5, 0.25});
  doctor::report const found = examined(line, 2, 30, mean_over::samples, accrue::per_sample{}, line_of_loop(line));
  CAPTURE(found);
  CHECK(found.healthy());
  CHECK(examined(line, 2, 30, mean_over::samples, accrue::per_microbatch{}, line_of_loop(line)).diagnoses() ==
        std::vector{diagnosis::mean_of_means});
}

TEST_CASE("the example run_sheet is healthy, but for the point that it has lost") {
  of_run_sheet::vector const line = support::make_view<double>({0.5, 0.25}), gradient("gradient", 2);
  of_run_sheet::scalar const loss("loss");
  auto const from = [&](int begin) {
    return [=](chosen const& list) {
      summed all;
      for_each_run(list, [&](int first, int last) {
        of_run_sheet::backward(line, begin + first, begin + last, 1.0f, gradient, loss);
        all.add(last - first, gradient);
        all.loss += (last - first) * number_in(loss);
      });
      all.samples = all.tokens = std::ssize(list);
      return all;
    };
  };
  doctor::report const found = examined(line, 2, 20, mean_over::samples, accrue::per_sample{}, from(0));
  CAPTURE(found);
  CHECK(found.healthy());
  CHECK(examined(line, 2, 20, mean_over::samples, accrue::per_sample{}, from(40)).diagnoses() ==
        std::vector{diagnosis::not_finite});
}

TEST_CASE("the example restart is healthy, with microbatches of 20 to 32 samples as what is to be split") {
  using namespace of_restart;
  array const theta("theta", width), gradient("gradient", width);
  Kokkos::View<double> const loss("loss");
  auto const run = [&](chosen const& list) {
    summed all;
    for (std::int64_t const m : list) {
      int const samples = 20 + static_cast<int>(m % 13);
      backward(theta, m, samples, gradient, loss);
      all.add(samples, gradient);
      all.loss += samples * number_in(loss);
      all.tokens += samples;
    }
    all.samples = std::ssize(list);
    return all;
  };
  doctor::report const found = examined(theta, width, 16, mean_over::tokens, accrue::per_token{}, run);
  CAPTURE(found);
  CHECK(found.healthy());
  doctor::report const by_samples = examined(theta, width, 16, mean_over::tokens, accrue::per_sample{}, run);
  CAPTURE(by_samples);
  CHECK(by_samples.diagnoses() == std::vector{diagnosis::other_unit});
}

TEST_CASE("the example out_of_memory is healthy") {
  using namespace of_out_of_memory;
  small_device const device(std::numeric_limits<std::int64_t>::max());
  model const of;
  doctor::report const found =
      examined(of.theta, width, 100, mean_over::tokens, accrue::per_token{}, [&](chosen const& list) {
        summed all;
        for_each_run(list, [&](int first, int last) {
          all.tokens += backward(of, device, first, last);
          all.add(1.0, of.gradient);
        });
        all.samples = std::ssize(list);
        return all;
      });
  CAPTURE(found);
  CHECK(found.healthy());
}

TEST_CASE("the example mixed_precision is healthy under a scale at which nothing overflows, and not above") {
  using namespace of_mixed_precision;
  halves const weights("weights", features), gradient("gradient", features);
  vector const begin = support::make_view<float>({0.25f, 0.5f, -0.25f, 1.0f});
  for (std::size_t k = 0; k < features; ++k) weights(k) = accrue::float16(begin(k));
  scalar const loss("loss");
  Kokkos::View<float> const scale("scale");
  auto const run = [&](chosen const& list) {
    summed all;
    for (std::int64_t const m : list) {
      backward(weights, static_cast<int>(m) * microbatch_size, scale, gradient, loss);
      auto const numbers = values(gradient);
      std::vector<double> unscaled;
      for (auto const each : numbers) unscaled.push_back(static_cast<double>(float(each)) / double(values(scale)[0]));
      all.add(microbatch_size, support::make_view<double>(unscaled));
      all.loss += microbatch_size * static_cast<double>(values(loss)[0]);
    }
    all.samples = all.tokens = microbatch_size * std::ssize(list);
    return all;
  };
  Kokkos::deep_copy(scale, 1024.0f);
  doctor::report const found = examined(weights, features, 12, mean_over::samples, accrue::per_sample{}, run);
  CAPTURE(found);
  CHECK(found.healthy());
  Kokkos::deep_copy(scale, 0x1p20f);
  CHECK(examined(weights, features, 12, mean_over::samples, accrue::per_sample{}, run).diagnoses() ==
        std::vector{diagnosis::not_finite});
}

TEST_CASE("the example write_through is healthy") {
  using namespace of_write_through;
  exec const instance;
  layer const model(instance);
  matrix const dW("dW", outputs, width);
  doctor::report const found =
      examined(model.W, outputs * width, 12, mean_over::samples, accrue::per_sample{}, [&](chosen const& list) {
        summed all;
        for (std::int64_t const m : list) {
          model.run(instance, static_cast<int>(m));
          transposed_product(instance, 1.0, model.dy, model.x, 0.0, dW);
          all.add(1.0, dW);
          for (float const each : values(model.dy)) all.loss += 0.5 * each * each;
        }
        all.samples = all.tokens = batch * std::ssize(list);
        return all;
      });
  CAPTURE(found);
  CHECK(found.healthy());
}

TEST_CASE("the example inversion is healthy: its adjoint, shot by shot") {
  using namespace of_inversion;
  examples::execution const exec;
  examples::grid const g{.depth = 6, .width = 12, .sponge = 4, .times = 48, .spacing = 0.04f, .interval = 0.0056f};
  examples::wave_workspace const work(g);
  examples::survey const made(exec, work, examples::layered_ground(g), 8, 8.0);
  examples::field const velocity = examples::even_ground(g), gradient("gradient", g.rows(), g.columns());
  examples::scalar const loss("loss");
  doctor::report const found = examined(velocity, static_cast<std::size_t>(g.rows() * g.columns()), 8,
                                        mean_over::samples, accrue::per_sample{}, [&](chosen const& list) {
                                          summed all;
                                          for (std::int64_t const shot : list) {
                                            shoot(exec, work, velocity, made, static_cast<int>(shot), gradient, loss);
                                            all.add(1.0, gradient);
                                            all.loss += number_in(loss);
                                          }
                                          all.samples = all.tokens = std::ssize(list);
                                          return all;
                                        });
  CAPTURE(found);
  CHECK(found.healthy());
}

TEST_CASE_TEMPLATE("the example mpi_start is healthy, in either precision", T, float, accrue::float16) {
  using namespace of_mpi_start::examples;
  Kokkos::View<T*> const weights = support::make_view<T>({0.5f, -1.0f, 0.25f});
  scalar const scale("scale"), loss("loss");
  Kokkos::deep_copy(scale, 1.0f);
  doctor::report const found = examined_alone(weights, 30, [&](int first, int last, auto const& gradient) {
    backward(weights, first, last, scale, gradient, loss);
  });
  CAPTURE(found);
  CHECK(found.healthy());
}

TEST_CASE("the loops that come from PyTorch and from hand are healthy, and with a gap at the end of the data not") {
  auto const of_hand = [](int gap) {
    using namespace of_by_hand;
    vector const theta = support::make_view<double>({0.5, -1.0, 0.25});
    return examined_alone(theta, samples, [&](int first, int last, vector const& gradient) {
      backward(theta, first, last == samples ? last - gap : last, gradient);
    });
  };
  CAPTURE(of_hand(0));
  CHECK(of_hand(0).healthy());
  CHECK_FALSE(of_hand(1).healthy());

  namespace torch = of_pytorch;
  torch::vector const theta = support::make_view<double>({0.5});
  doctor::report const found = examined_alone(theta, 10, [&](int first, int last, torch::vector const& gradient) {
    torch::backward(theta, first, last, gradient);
  });
  CAPTURE(found);
  CHECK(found.healthy());
}

TEST_CASE("the loop that comes from Megatron is healthy, and with its sums called means it is not") {
  using namespace of_megatron;
  vector const theta = support::make_view<float>({0.5f}), gradient("gradient", 1);
  auto const found = [&](bool calls_it_mean) {
    return doctor::examine(accrue::parameters(theta),
                           [&](chosen const& list) {
                             summed all;
                             for (std::int64_t const m : list) {
                               auto const& each = data[m % 4];
                               backward(theta, each, gradient);
                               all.add(1.0, gradient);
                               all.tokens += each.tokens;
                             }
                             auto const sum = support::make_view<float>({static_cast<float>(all.gradient[0])});
                             return calls_it_mean
                                        ? doctor::microbatch(accrue::mean_gradient{sum}, accrue::tokens{all.tokens})
                                        : doctor::microbatch(accrue::sum_gradient{sum}, accrue::tokens{all.tokens});
                           },
                           accrue::samples{12}, {.mean = mean_over::tokens});
  };
  CAPTURE(found(false));
  CHECK(found(false).healthy());
  CHECK(found(true).diagnoses() == std::vector{diagnosis::sum_called_mean});
}

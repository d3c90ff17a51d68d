// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The networks of the examples, under examination: of images and of verses, with made-up data.
#include <accrue/accumulator.hpp>
#include <accrue/doctor/examine_loop.hpp>
#include <accrue/update/with_gradient.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <vector>

#include "../../examples/images/network.hpp"
#include "../../examples/verses/corpus.hpp"
#include "../../examples/verses/padded_batch.hpp"
#include "../../examples/verses/word_model.hpp"

using accrue::doctor::diagnosis;
using accrue::doctor::mean_over;
using chosen = accrue::doctor::examples;
namespace doctor = accrue::doctor;

TEST_CASE("the example images is healthy: its backward pass, and an accumulator per sample over it") {
  examples::execution const exec;
  examples::generator random(5);
  examples::image_set const images = examples::synthetic_images(16, 3, 20, random);
  examples::network_shape const shape{20, 6, 3};
  examples::network const parameters(shape), gradient(shape);
  examples::initialize(parameters, random);
  examples::network_workspace const work(shape, 16);
  Kokkos::View<int*> const numbers("numbers", 16);
  auto const backward = [&](chosen const& list) {
    auto const part = Kokkos::subview(numbers, Kokkos::pair<std::size_t, std::size_t>(0, list.size()));
    auto const host = Kokkos::create_mirror_view(part);
    for (std::size_t i = 0; i < list.size(); ++i) host(i) = static_cast<int>(list[i]);
    Kokkos::deep_copy(part, host);
    return examples::mean_gradient(exec, parameters, images, part, work, gradient);
  };
  auto const set = accrue::parameters(parameters.hidden.weight, parameters.hidden.bias, parameters.output.weight,
                                      parameters.output.bias);
  auto const microbatch = [&](chosen const& list) {
    double const loss = backward(list);
    return doctor::microbatch(accrue::mean_gradient{gradient.hidden.weight, gradient.hidden.bias,
                                                    gradient.output.weight, gradient.output.bias},
                              accrue::samples{list.size()}, accrue::mean_loss{loss});
  };
  doctor::gradient received;
  accrue::accumulator group(exec, set, accrue::per_sample{}, accrue::with_gradient([&](auto const& g) {
                              received = doctor::gradient(g.template get<0>(), g.template get<1>(), g.template get<2>(),
                                                          g.template get<3>());
                            }));
  auto const loop = [&](doctor::group const& asked) {
    for (chosen const& list : asked.microbatches) {
      backward(list);
      group.accumulate(accrue::mean_gradient{gradient.hidden.weight, gradient.hidden.bias, gradient.output.weight,
                                             gradient.output.bias},
                       accrue::samples{list.size()});
    }
    group.update();
    return received;
  };
  doctor::report const found = doctor::examine_loop(set, microbatch, loop, accrue::samples{16}, {.microbatches = 4});
  CAPTURE(found);
  CHECK(found.healthy());
}

TEST_CASE("the example verses is healthy, and with its padding counted it is not") {
  examples::execution const exec;
  examples::corpus words = examples::number_words(examples::synthetic_text(), 40, "made-up words");
  words.lines.resize(12);
  for (auto& line : words.lines) line.resize(std::min<std::size_t>(line.size(), 12));
  examples::word_model const parameters(words.vocabulary, 3), gradient(words.vocabulary, 3);
  examples::generator random(4);
  examples::initialize(parameters, random);
  int const capacity = 12 * examples::longest_line(words);
  examples::word_workspace const work(parameters, capacity);
  examples::padded_batch batch(capacity);
  auto const examined = [&](bool count_padding) {
    return doctor::examine(
        accrue::parameters(parameters.embedding, parameters.output.weight, parameters.output.bias),
        [&](chosen const& list) {
          batch.fill(exec, words, examples::line_numbers(list.begin(), list.end()));
          double const loss = examples::mean_gradient(exec, parameters, batch, work, gradient);
          return doctor::microbatch(
              accrue::mean_gradient{gradient.embedding, gradient.output.weight, gradient.output.bias},
              accrue::tokens{count_padding ? batch.positions() : batch.supervised()},
              accrue::ignored_tokens{count_padding ? 0 : batch.ignored_ones()}, accrue::mean_loss{loss});
        },
        accrue::samples{12}, {.mean = mean_over::tokens});
  };
  doctor::report const found = examined(false);
  CAPTURE(found);
  CHECK(found.healthy());
  CHECK(examined(true).diagnoses() == std::vector{diagnosis::count_depends_on_split});
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/reference_file.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <vector>

namespace {

using reference::json;
using reference::tensors;

json const& file() {
  static json const whole = reference::read_beside(__FILE__, "pytorch-2.14.1.json");
  return whole;
}

template <class First, class Second, class Third>
void set(tensors const& values, First const& first, Second const& second, Third const& third) {
  reference::fill(first, values.at(0));
  reference::fill(second, values.at(1));
  reference::fill(third, values.at(2));
}

/// Keeps what an update was handed.
struct keep {
  tensors* held;
  template <class Gradient>
  void operator()(Gradient const& gradient) const {
    *held = {reference::contents(gradient.template get<0>()), reference::contents(gradient.template get<1>()),
             reference::contents(gradient.template get<2>())};
  }
};

}  // namespace

TEST_CASE("norms and clipped gradients are those of PyTorch 2.14.1") {
  Kokkos::View<double*> const vector("vector", 3), vector_gradient("vector_gradient", 3);
  Kokkos::View<double**, Kokkos::LayoutLeft> const matrix("matrix", 2, 4);
  Kokkos::View<double**, Kokkos::LayoutRight> const matrix_gradient("matrix_gradient", 2, 4);
  Kokkos::View<double> const scalar("scalar"), scalar_gradient("scalar_gradient");

  int clipped = 0;
  for (json const& each : file().at("clip")) {
    double const order = reference::number(each.at("norm_type"));
    double const max_norm = each.at("max_norm");
    INFO("norm of order " << order << ", bound " << max_norm);
    tensors found;
    accrue::accumulator group(
        accrue::parameters(vector, matrix, scalar), accrue::per_microbatch{},
        accrue::clip_by_global_norm{.max_norm = max_norm, .order = order, .epsilon = each.at("epsilon")},
        accrue::with_gradient(keep{&found}));
    set(each.at("gradients").get<tensors>(), vector_gradient, matrix_gradient, scalar_gradient);
    group.accumulate(accrue::mean_gradient{vector_gradient, matrix_gradient, scalar_gradient});
    REQUIRE(group.update() == accrue::outcome::applied);

    double const norm = each.at("norm");
    accrue::record const record = group.ledger().records().back();
    CHECK(std::fabs(record.norm - norm) <= reference::tolerance * norm);
    auto const expected = each.at("clipped").get<tensors>();
    REQUIRE(found.size() == expected.size());
    for (std::size_t t = 0; t < expected.size(); ++t)
      CHECK(reference::distance(found[t], expected[t]) <= reference::tolerance);
    clipped += record.clip_factor < 1.0 ? 1 : 0;
  }
  CHECK(clipped == 4);  // of 8: each norm once with a bound that it exceeds
}

TEST_CASE("microbatches of unequal token counts give the full batch of PyTorch 2.14.1, not the mean of means") {
  json const& model = file().at("token_model");
  auto const shapes = model.at("shapes").get<std::vector<std::vector<std::size_t>>>();
  std::size_t const words = shapes.at(0).at(0), width = shapes.at(0).at(1);
  Kokkos::View<double**> const embedding("embedding", words, width), embedding_gradient("g", words, width);
  Kokkos::View<double**> const weights("weights", words, width), weights_gradient("g", words, width);
  Kokkos::View<double*> const bias("bias", words), bias_gradient("g", words);

  tensors found;
  accrue::accumulator group(accrue::parameters(embedding, weights, bias), accrue::per_token{},
                            accrue::with_gradient(keep{&found}));
  for (json const& each : model.at("microbatches")) {
    set(each.at("sum_gradients").get<tensors>(), embedding_gradient, weights_gradient, bias_gradient);
    group.accumulate(accrue::sum_gradient{embedding_gradient, weights_gradient, bias_gradient},
                     accrue::tokens{each.at("supervised_tokens").get<int>()},
                     accrue::samples{each.at("samples").get<int>()},
                     accrue::sum_loss{each.at("loss_sum").get<double>()});
  }
  REQUIRE(group.update() == accrue::outcome::applied);

  accrue::record const record = group.ledger().records().back();
  CHECK(record.counts.tokens == accrue::tokens{25});
  CHECK(record.counts.samples == accrue::samples{8});
  CHECK(record.weight == 25.0);
  double const loss = model.at("full_batch").at("loss");
  double const mean_of_losses = model.at("mean_of_means_for_contrast").at("loss");
  REQUIRE(record.loss.has_value());
  CHECK(std::fabs(*record.loss - loss) <= reference::tolerance * loss);
  CHECK(std::fabs(*record.loss - mean_of_losses) > 1e-3 * loss);

  auto const expected = model.at("full_batch").at("gradients").get<tensors>();
  auto const means_of_means = model.at("mean_of_means_for_contrast").at("gradients").get<tensors>();
  REQUIRE(found.size() == expected.size());
  for (std::size_t t = 0; t < expected.size(); ++t) {
    CHECK(reference::distance(found[t], expected[t]) <= reference::tolerance);
    CHECK(reference::distance(found[t], means_of_means[t]) > 1e-3);
  }
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/reference_file.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <string>
#include <variant>
#include <vector>

namespace {

using reference::json;
using reference::setting;
using reference::tensors;

json const& file() {
  static json const whole = reference::read_beside(__FILE__, "pytorch-2.14.1.json");
  return whole;
}

/// Three tensors of the file's shapes. The matrix of gradients lies by rows, that of parameters by columns.
template <class Layout>
struct model {
  Kokkos::View<double*> vector{"vector", 3};
  Kokkos::View<double**, Layout> matrix{"matrix", 2, 4};
  Kokkos::View<double> scalar{"scalar"};

  void set(tensors const& values) const {
    reference::fill(vector, values.at(0));
    reference::fill(matrix, values.at(1));
    reference::fill(scalar, values.at(2));
  }
  [[nodiscard]] tensors get() const {
    return {reference::contents(vector), reference::contents(matrix), reference::contents(scalar)};
  }
};

using any_rule = std::variant<accrue::sgd, accrue::momentum, accrue::adam, accrue::adamw>;

template <class Adam>
Adam adam_of(json const& settings, double weight_decay) {
  auto const betas = setting<std::vector<double>>(settings, "betas", {0.9, 0.999});
  return {.learning_rate = settings.at("lr"),
          .beta1 = betas.at(0),
          .beta2 = betas.at(1),
          .epsilon = setting(settings, "eps", 1e-8),
          .weight_decay = setting(settings, "weight_decay", weight_decay),
          .amsgrad = setting(settings, "amsgrad", false)};
}

any_rule rule_of(std::string const& name, json const& settings) {
  if (name == "AdamW") return adam_of<accrue::adamw>(settings, 0.01);
  if (name == "Adam") return adam_of<accrue::adam>(settings, 0.0);
  REQUIRE(name == "SGD");
  double const weight_decay = setting(settings, "weight_decay", 0.0);
  if (!settings.contains("momentum"))
    return accrue::sgd{.learning_rate = settings.at("lr"), .weight_decay = weight_decay};
  return accrue::momentum{.learning_rate = settings.at("lr"),
                          .factor = settings.at("momentum"),
                          .dampening = setting(settings, "dampening", 0.0),
                          .weight_decay = weight_decay,
                          .nesterov = setting(settings, "nesterov", false)};
}

/// Three gradients of unequal size and sign, whose mean is the given one.
std::vector<tensors> three_with_mean(tensors const& values) {
  std::vector<tensors> parts(3, values);
  for (std::size_t t = 0; t < values.size(); ++t) {
    for (std::size_t i = 0; i < values[t].size(); ++i) {
      parts[0][t][i] = 0.25 * values[t][i] + 0.5;
      parts[1][t][i] = -0.75 * values[t][i];
      parts[2][t][i] = 3.0 * values[t][i] - parts[0][t][i] - parts[1][t][i];
    }
  }
  return parts;
}

enum class delivery { one_mean, three_sums };

/// Drives one series of updates through an accumulator.
template <class Rule>
void follow(Rule const& rule, json const& series, delivery how) {
  model<Kokkos::LayoutLeft> const parameters;
  model<Kokkos::LayoutRight> const gradients;
  parameters.set(series.at("initial").get<tensors>());
  accrue::accumulator group(accrue::parameters(parameters.vector, parameters.matrix, parameters.scalar),
                            accrue::per_microbatch{}, rule);

  int update = 0;
  for (json const& each : series.at("updates")) {
    INFO("update " << ++update);
    auto const gradient = each.at("gradients").get<tensors>();
    if (how == delivery::one_mean) {
      gradients.set(gradient);
      group.accumulate(accrue::mean_gradient{gradients.vector, gradients.matrix, gradients.scalar});
    } else {
      for (tensors const& part : three_with_mean(gradient)) {
        gradients.set(part);
        group.accumulate(accrue::sum_gradient{gradients.vector, gradients.matrix, gradients.scalar});
      }
    }
    REQUIRE(group.update() == accrue::outcome::applied);

    auto const expected = each.at("parameters_after").get<tensors>();
    auto const found = parameters.get();
    for (std::size_t t = 0; t < expected.size(); ++t)
      CHECK(reference::distance(found[t], expected[t]) <= reference::tolerance);
  }
}

void follow_all(delivery how) {
  std::size_t followed = 0;
  for (json const& series : file().at("optimizers")) {
    std::string const name = series.at("rule");
    INFO(name << ' ' << series.at("settings").dump());
    CHECK(series.at("updates").size() == 6);
    std::visit([&](auto const& rule) { follow(rule, series, how); }, rule_of(name, series.at("settings")));
    ++followed;
  }
  CHECK(followed == 9);
}

}  // namespace

TEST_CASE("one microbatch per update gives the parameters of PyTorch 2.14.1") { follow_all(delivery::one_mean); }

TEST_CASE("three microbatches per update give the parameters of PyTorch 2.14.1") { follow_all(delivery::three_sums); }

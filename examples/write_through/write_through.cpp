// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A layer y = W x whose inputs are rows of a table E, one for each word. Its gradients need no memory of their own:
// that of W is added to the sums by the product that makes it, and that of E is handed over as the rows that occur. The
// same training with gradients written out in full must end at the same parameters.
#include <accrue/accrue.hpp>

#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <iostream>

namespace {

using exec = Kokkos::DefaultExecutionSpace;
using matrix = Kokkos::View<float**>;
using words = Kokkos::View<std::int32_t*>;

constexpr int batch = 32, vocabulary = 500, width = 24, outputs = 16;

/// A number between -1 and 1 that depends on two others.
KOKKOS_INLINE_FUNCTION float noise(std::int64_t i, std::int64_t j) {
  return static_cast<float>((i * 7919 + j * 104729 + i * j) % 2003) / 1001.0f - 1.0f;
}

/// Calls f(i, j) for all i and j, on the instance.
template <class F>
void for_all(exec const& instance, int rows, int columns, F const& f) {
  using indices = Kokkos::MDRangePolicy<exec, Kokkos::Rank<2>>;
  Kokkos::parallel_for("layer", indices(instance, {0, 0}, {rows, columns}), f);
}

/// result(i, j) = alpha * sum over k of a(k, i) * b(k, j) + beta * result(i, j), as a BLAS would do it.
template <class Result>
void transposed_product(exec const& instance, double alpha, matrix const& a, matrix const& b, double beta,
                        Result const& result) {
  auto const scale = static_cast<float>(alpha), keep = static_cast<float>(beta);
  for_all(
      instance, static_cast<int>(result.extent(0)), static_cast<int>(result.extent(1)), KOKKOS_LAMBDA(int i, int j) {
        float sum = 0.0f;
        for (std::size_t k = 0; k < a.extent(0); ++k) sum += a(k, i) * b(k, j);
        result(i, j) = keep == 0.0f ? scale * sum : scale * sum + keep * result(i, j);
      });
}

/// Parameters, and what one microbatch computes.
struct layer {
  matrix E{"E", vocabulary, width}, W{"W", outputs, width};
  words word{"word", batch};
  matrix x{"x", batch, width}, dy{"dy", batch, outputs}, dx{"dx", batch, width};

  explicit layer(exec const& instance) {
    auto const table = E, weights = W;
    for_all(
        instance, vocabulary, width, KOKKOS_LAMBDA(int i, int j) { table(i, j) = noise(i, j); });
    for_all(
        instance, outputs, width, KOKKOS_LAMBDA(int i, int j) { weights(i, j) = 0.1f * noise(j, i); });
  }

  /// Forward and backward of a microbatch: dy and dx are gradients of the sum of squared errors.
  void run(exec const& instance, int microbatch) const {
    auto const self = *this;
    for_all(
        instance, batch, width, KOKKOS_LAMBDA(int k, int j) {
          self.word(k) = (microbatch * 31 + k * k) % vocabulary;  // some words come twice
          self.x(k, j) = self.E(self.word(k), j);
        });
    for_all(
        instance, batch, outputs, KOKKOS_LAMBDA(int k, int i) {
          float y = 0.0f;
          for (int j = 0; j < width; ++j) y += self.W(i, j) * self.x(k, j);
          self.dy(k, i) = y - noise(self.word(k), i);
        });
    for_all(
        instance, batch, width, KOKKOS_LAMBDA(int k, int j) {
          float sum = 0.0f;
          for (int i = 0; i < outputs; ++i) sum += self.dy(k, i) * self.W(i, j);
          self.dx(k, j) = sum;
        });
  }
};

constexpr int updates = 20, microbatches = 4;

auto group_for(exec const& instance, layer const& model) {
  return accrue::accumulator(instance, accrue::parameters(model.E, model.W), accrue::per_sample{},
                             accrue::every{microbatches}, accrue::adamw{.learning_rate = 0.01});
}

/// Gradients of their own: a matrix as large as the table, of which most is zero.
layer train_with_gradients(exec const& instance) {
  layer const model(instance);
  auto group = group_for(instance, model);
  matrix const dE("dE", vocabulary, width), dW("dW", outputs, width);
  for (int m = 0; m < updates * microbatches; ++m) {
    model.run(instance, m);
    Kokkos::deep_copy(instance, dE, 0.0f);
    auto const word = model.word;
    auto const dx = model.dx;
    for_all(
        instance, batch, width, KOKKOS_LAMBDA(int k, int j) { Kokkos::atomic_add(&dE(word(k), j), dx(k, j)); });
    transposed_product(instance, 1.0, model.dy, model.x, 0.0, dW);
    group.accumulate(accrue::sum_gradient{dE, dW}, accrue::samples{batch});
    if (group.full()) group.update();
  }
  return model;
}

/// The rows that occur for E, beside a gradient of W.
layer train_with_rows(exec const& instance) {
  layer const model(instance);
  auto group = group_for(instance, model);
  matrix const dW("dW", outputs, width);
  for (int m = 0; m < updates * microbatches; ++m) {
    model.run(instance, m);
    transposed_product(instance, 1.0, model.dy, model.x, 0.0, dW);
    group.accumulate(accrue::sum_gradient{accrue::rows(model.word, model.dx), dW}, accrue::samples{batch});
    if (group.full()) group.update();
  }
  return model;
}

/// Only W learns, and its gradient is never in memory: the product is added to the sums.
matrix train_through(exec const& instance) {
  layer const model(instance);
  accrue::accumulator group(instance, accrue::parameters(model.W), accrue::per_sample{}, accrue::every{microbatches},
                            accrue::adamw{.learning_rate = 0.01});
  for (int m = 0; m < updates * microbatches; ++m) {
    model.run(instance, m);
    auto const product = [&](exec const& on, auto const& W) {
      transposed_product(on, W.weight(), model.dy, model.x, W.beta(), W.sums());
    };
    group.accumulate(accrue::sum_written_by{product}, accrue::samples{batch});
    if (group.full()) group.update();
  }
  return model.W;
}
matrix train_weights(exec const& instance) {
  layer const model(instance);
  accrue::accumulator group(instance, accrue::parameters(model.W), accrue::per_sample{}, accrue::every{microbatches},
                            accrue::adamw{.learning_rate = 0.01});
  matrix const dW("dW", outputs, width);
  for (int m = 0; m < updates * microbatches; ++m) {
    model.run(instance, m);
    transposed_product(instance, 1.0, model.dy, model.x, 0.0, dW);
    group.accumulate(accrue::sum_gradient{dW}, accrue::samples{batch});
    if (group.full()) group.update();
  }
  return model.W;
}

/// The largest difference of two matrices.
double difference(matrix const& a, matrix const& b) {
  auto const x = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, a);
  auto const y = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, b);
  double largest = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i)
    largest = std::fmax(largest, std::abs(static_cast<double>(x.data()[i]) - static_cast<double>(y.data()[i])));
  return largest;
}

}  // namespace

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  exec const instance;
  layer const whole = train_with_gradients(instance), by_rows = train_with_rows(instance);
  double const in_table = difference(whole.E, by_rows.E), in_weights = difference(whole.W, by_rows.W);
  double const written = difference(train_weights(instance), train_through(instance));

  std::cout << updates << " updates of " << microbatches << " x " << batch << " words\n"
            << "rows instead of a whole gradient: " << batch * width << " numbers a microbatch instead of "
            << vocabulary * width << ", parameters differ by at most " << std::fmax(in_table, in_weights) << '\n'
            << "product written through:          none instead of " << outputs * width
            << ", parameters differ by at most " << written << '\n';
  return in_table < 1e-4 && in_weights < 1e-4 && written < 1e-4 ? 0 : 1;
}

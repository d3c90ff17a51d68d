// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Three small models with backward passes by hand, and loops that accumulate their gradients with a mistake on request.
#ifndef ACCRUE_TESTS_DOCTOR_MODELS_HPP
#define ACCRUE_TESTS_DOCTOR_MODELS_HPP

#include <accrue/doctor/examine_loop.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace models {

using accrue::doctor::diagnosis;
using accrue::doctor::examples;
using accrue::doctor::mean_over;

enum class kind { linear, perceptron, language };

inline double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-52 - 1.0; }

/// Examples of several rows, of which some have no target; a row's loss depends on the parameters by one of three
/// models.
template <class T>
class model {
 public:
  using view = Kokkos::View<T*, Kokkos::HostSpace>;
  std::vector<view> parameters, gradient;

  model(kind which, std::size_t count, std::uint64_t seed, double spread = 1) : kind_(which), random_(seed) {
    auto const tensor = [&](char const* name, std::size_t size) {
      parameters.emplace_back(name, size), gradient.emplace_back("gradient", size);
      for (std::size_t i = 0; i < size; ++i) parameters.back()(i) = static_cast<T>(spread * uniform(random_));
    };
    if (kind_ == kind::linear) tensor("weight", inputs), tensor("bias", 1);
    if (kind_ == kind::perceptron) tensor("in", inputs * hidden), tensor("hidden_bias", hidden), tensor("out", hidden);
    if (kind_ == kind::language) tensor("embedding", words * width), tensor("projection", width * words);
    for (std::size_t e = 0; e < count; ++e) {
      example& next = examples_.emplace_back();
      next.feature = uniform(random_);
      for (std::size_t left = 1 + random_() % 6; left > 0; --left) {
        row& r = next.rows.emplace_back();
        for (double& x : r.x) x = uniform(random_);
        r.target = uniform(random_) + 1.5, r.word = random_() % words, r.next = random_() % words;
        r.ignored = next.rows.size() > 1 && random_() % 3 == 0;
      }
    }
  }

  [[nodiscard]] std::size_t count() const { return examples_.size(); }
  [[nodiscard]] std::int64_t tokens(examples const& list) const { return rows(list, false); }
  [[nodiscard]] std::int64_t ignored(examples const& list) const { return rows(list, true); }

  /// What a loop, or a backward pass, has wrong. Batch statistics make a row's error depend on the other examples.
  struct fault {
    bool batch_statistics = false;
    bool dropout = false;           ///< another mask in each call
    bool dropout_by_place = false;  ///< the same mask in each call, by place in the microbatch
  };

  /// The gradient of the sum of the losses, of all parameters behind each other.
  [[nodiscard]] std::vector<T> sum_gradient(examples const& list, fault wrong = {}) {
    std::vector<T> sum(size(), T(0));
    loss_ = 0;
    T mean_feature = 0;
    for (auto const e : list) mean_feature += static_cast<T>(at(e).feature) / static_cast<T>(list.size());
    std::mt19937_64 by_place(7);
    for (auto const e : list) {
      T scale = 1;
      if (wrong.batch_statistics) scale = 1 + static_cast<T>(at(e).feature) - mean_feature;
      if (wrong.dropout) scale = static_cast<T>(random_() % 2);
      if (wrong.dropout_by_place) scale = static_cast<T>(by_place() % 2);
      for (row const& r : at(e).rows)
        if (!r.ignored) backward(r, scale, sum);
    }
    return sum;
  }
  [[nodiscard]] std::size_t size() const {
    std::size_t sum = 0;
    for (auto const& each : parameters) sum += each.size();
    return sum;
  }
  /// Writes numbers into the views of the gradient.
  void write(std::vector<T> const& numbers, T factor = 1, bool add = false) const {
    std::size_t from = 0;
    for (auto const& each : gradient)
      for (std::size_t i = 0; i < each.size(); ++i) each(i) = (add ? each(i) : T(0)) + factor * numbers[from++];
  }
  /// What a mean is taken over.
  [[nodiscard]] double divisor(examples const& list, mean_over unit) const {
    return static_cast<double>(unit == mean_over::tokens ? tokens(list) : static_cast<std::int64_t>(list.size()));
  }
  /// The function that the doctor examines.
  [[nodiscard]] accrue::doctor::microbatch mean(examples const& list, fault wrong = {},
                                                mean_over unit = mean_over::tokens) {
    write(sum_gradient(list, wrong), static_cast<T>(1.0 / divisor(list, unit)));
    return accrue::doctor::microbatch(accrue::mean_gradient{gradient}, accrue::samples{list.size()},
                                      accrue::tokens{tokens(list)}, accrue::ignored_tokens{ignored(list)},
                                      accrue::sum_loss{loss_});
  }
  /// The sum of the losses that the last gradient was of.
  [[nodiscard]] T loss() const { return loss_; }

 private:
  static constexpr std::size_t inputs = 3, hidden = 4, words = 6, width = 2;
  struct row {
    double x[inputs];
    double target;
    std::size_t word, next;
    bool ignored;
  };
  struct example {
    std::vector<row> rows;
    double feature;
  };
  [[nodiscard]] example const& at(std::int64_t e) const { return examples_[static_cast<std::size_t>(e)]; }
  [[nodiscard]] std::int64_t rows(examples const& list, bool without_target) const {
    std::int64_t sum = 0;
    for (auto const e : list)
      for (row const& r : at(e).rows) sum += r.ignored == without_target ? 1 : 0;
    return sum;
  }

  void backward(row const& r, T scale, std::vector<T>& sum) {
    auto const& p = parameters;
    if (kind_ == kind::linear) {
      T error = p[1](0) - static_cast<T>(r.target);
      for (std::size_t i = 0; i < inputs; ++i) error += p[0](i) * static_cast<T>(r.x[i]);
      loss_ += scale * error * error / 2;
      for (std::size_t i = 0; i < inputs; ++i) sum[i] += scale * error * static_cast<T>(r.x[i]);
      sum[inputs] += scale * error;
    } else if (kind_ == kind::perceptron) {
      T unit[hidden];
      T error = -static_cast<T>(r.target);
      for (std::size_t h = 0; h < hidden; ++h) {
        T inside = p[1](h);
        for (std::size_t i = 0; i < inputs; ++i) inside += p[0](h * inputs + i) * static_cast<T>(r.x[i]);
        unit[h] = std::tanh(inside);
        error += p[2](h) * unit[h];
      }
      loss_ += scale * error * error / 2;
      for (std::size_t h = 0; h < hidden; ++h) {
        T const below = scale * error * p[2](h) * (1 - unit[h] * unit[h]);
        for (std::size_t i = 0; i < inputs; ++i) sum[h * inputs + i] += below * static_cast<T>(r.x[i]);
        sum[hidden * inputs + h] += below;
        sum[hidden * inputs + hidden + h] += scale * error * unit[h];
      }
    } else {
      T odds[words];
      T total = 0;
      for (std::size_t w = 0; w < words; ++w) {
        T logit = 0;
        for (std::size_t d = 0; d < width; ++d) logit += p[0](r.word * width + d) * p[1](d * words + w);
        total += odds[w] = std::exp(logit);
      }
      loss_ += scale * std::log(total / odds[r.next]);
      for (std::size_t w = 0; w < words; ++w) {
        T const error = scale * (odds[w] / total - (w == r.next ? T(1) : T(0)));
        for (std::size_t d = 0; d < width; ++d) {
          sum[r.word * width + d] += error * p[1](d * words + w);
          sum[words * width + d * words + w] += error * p[0](r.word * width + d);
        }
      }
    }
  }

  kind kind_;
  std::mt19937_64 random_;
  T loss_ = 0;
  std::vector<example> examples_;
};

inline std::string name_of(kind which) {
  return which == kind::linear ? "linear" : which == kind::perceptron ? "perceptron" : "language";
}

/// A loop as people write it, in the scalar of the model: right, or with mistakes of which there may be several ways.
template <class T>
class loop {
 public:
  loop(model<T>& of, accrue::doctor::loop_terms const& terms, std::vector<diagnosis> mistakes, int way = 0)
      : model_(of),
        terms_(terms),
        mistakes_(std::move(mistakes)),
        way_(way),
        sums_(static_cast<std::size_t>(terms.replicas)) {}

  accrue::doctor::gradient operator()(accrue::doctor::group const& group) {
    using enum diagnosis;
    double const scale = group.loss_scale;
    double const replicas = group.replicas;
    double const held = static_cast<double>(group.microbatches.size()) / replicas;
    double const nominal = static_cast<double>(terms_.microbatches);
    auto const other = terms_.mean == mean_over::tokens ? mean_over::samples : mean_over::tokens;
    double all_counts = 0, all_positions = 0, all_others = 0;
    for (examples const& each : group.microbatches) {
      all_counts += model_.divisor(each, terms_.mean);
      all_positions += static_cast<double>(model_.tokens(each) + model_.ignored(each));
      all_others += model_.divisor(each, other);
    }
    std::vector<T> reduced(model_.size(), T(0));
    for (int r = 0; r < group.replicas; ++r) {
      std::vector<T>& sum = sums_[static_cast<std::size_t>(r)];
      if (!has(not_cleared_between_groups) || sum.empty()) sum.assign(model_.size(), T(0));
      double own_counts = 0;
      for (examples const& each : group.of_replica(r)) own_counts += model_.divisor(each, terms_.mean);
      for (examples const& each : group.of_replica(r)) {
        double const count = model_.divisor(each, terms_.mean);
        double const positions = static_cast<double>(model_.tokens(each) + model_.ignored(each));
        std::vector<T> mean = model_.sum_gradient(each, fault);
        for (T& number : mean) number *= static_cast<T>(scale / count);
        double share = count * replicas / all_counts;
        if (has(mean_of_means)) share = 1.0 / held;
        if (has(mean_of_replica_means)) share = count / own_counts;
        if (has(ignored_positions_counted)) share = (way_ == 0 ? positions : count) * replicas / all_positions;
        if (has(other_unit)) share = model_.divisor(each, other) * replicas / all_others;
        if (has(divided_twice)) share /= way_ == 0 ? held : nominal;
        if (has(not_divided)) share *= way_ == 0 ? held : nominal;
        if (has(last_group_divided_by_full)) share *= held / nominal;
        if (has(cleared_after_every_microbatch) && way_ != 1) sum.assign(model_.size(), T(0));
        if (has(clipped_per_microbatch) && way_ == 0) clip(mean, group.max_norm * scale);
        for (T& number : mean) number *= static_cast<T>(share);
        if (has(clipped_per_microbatch) && way_ == 1) clip(mean, group.max_norm * scale);
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += mean[i];
        if (has(clipped_per_microbatch) && way_ == 2) clip(sum, group.max_norm * scale);
        if (has(cleared_after_every_microbatch) && way_ == 1) sum.assign(model_.size(), T(0));
        if (has(parameters_changed))
          for (std::size_t i = 0, n = 0; i < model_.parameters.size(); ++i)
            for (std::size_t j = 0; j < model_.parameters[i].size(); ++j, ++n)
              model_.parameters[i](j) -= static_cast<T>(0.01) * mean[n];
      }
      std::vector<T> sent = sum;
      if (has(clipped_per_replica)) clip(sent, group.max_norm * scale);
      for (std::size_t i = 0; i < reduced.size(); ++i) reduced[i] += sent[i];
    }
    double after = has(world_size_missing) ? 1.0 : 1.0 / replicas;
    if (has(world_size_twice)) after /= replicas;
    scaled(reduced, after);
    if (has(clipped_before_unscaling)) clip(reduced, group.max_norm);
    if (!has(never_unscaled)) scaled(reduced, 1.0 / scale);
    if (has(unscaled_twice) && way_ == 0) scaled(reduced, 1.0 / scale);
    double const before = way_ == 0 ? held : way_ == 1 ? all_counts : held * replicas;
    if (has(clipped_before_division))
      scaled(reduced, before), clip(reduced, group.max_norm), scaled(reduced, 1 / before);
    bool const elsewhere = has(clipped_per_microbatch) || has(clipped_per_replica) || has(clipped_before_division) ||
                           has(clipped_before_unscaling) || has(not_clipped);
    if (!elsewhere) clip(reduced, group.max_norm);
    if (has(unscaled_twice) && way_ == 1) scaled(reduced, 1.0 / scale);
    if (has(not_cleared_between_groups) && way_ >= 1)  // unscaled and clipped in place, as PyTorch does
      for (auto& sum : sums_) sum = reduced;
    if (has(not_cleared_between_groups) && way_ == 2)
      for (auto& sum : sums_) scaled(sum, scale);
    if (has(random))
      for (T& number : reduced) number *= static_cast<T>(1.0 + 0.5 * uniform(random_));
    if (has(unexplained)) reduced.front() += static_cast<T>(0.25);
    if (has(not_finite)) reduced.back() = static_cast<T>(NAN);
    model_.write(reduced);
    return accrue::doctor::gradient(model_.gradient);
  }

  typename model<T>::fault fault{};  ///< of the loop's backward passes

 private:
  [[nodiscard]] bool has(diagnosis d) const {
    return std::find(mistakes_.begin(), mistakes_.end(), d) != mistakes_.end();
  }
  static void scaled(std::vector<T>& numbers, double factor) {
    for (T& number : numbers) number *= static_cast<T>(factor);
  }
  static void clip(std::vector<T>& numbers, double max_norm) {
    T squares = 0;
    for (T const number : numbers) squares += number * number;
    double const norm = std::sqrt(static_cast<double>(squares));
    if (norm > max_norm) scaled(numbers, max_norm / norm);
  }

  model<T>& model_;
  accrue::doctor::loop_terms terms_;
  std::vector<diagnosis> mistakes_;
  int way_;
  std::vector<std::vector<T>> sums_;
  std::mt19937_64 random_{3};
};

}  // namespace models
#endif

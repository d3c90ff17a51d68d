// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_DOCTOR_UPDATE_WATCH_HPP
#define ACCRUE_DOCTOR_UPDATE_WATCH_HPP

#include <accrue/core/outcome.hpp>
#include <accrue/doctor/microbatch.hpp>
#include <accrue/doctor/report.hpp>
#include <accrue/doctor/watched_parameters.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace accrue::doctor {

/// Compares what an update did to the parameters with what it said.
///
/// Order: construct it before the update, ask once after it; it goes on from there. Cost: two copies of the parameters
/// on the host; waits for the device. Example: `accrue::doctor::update_watch watch(accrue::parameters(theta));
/// auto const result = group.update().result();  std::cout << watch.after(result);`
class update_watch {
 public:
  explicit update_watch(watched_parameters parameters) : parameters_(std::move(parameters)) { look(); }

  /// Applied: something moved. Not applied: nothing did, to the last bit. Nothing became NaN or Inf.
  [[nodiscard]] report after(outcome result) { return after(result, nullptr, nullptr); }
  /// With the gradient that the update received; where that is zero, nothing has to move.
  [[nodiscard]] report after(outcome result, gradient received) { return after(result, &received, nullptr); }
  /// Of plain gradient descent, `theta -= learning_rate * gradient`, each parameter within its rounding.
  [[nodiscard]] report after(outcome result, gradient received, double learning_rate) {
    return after(result, &received, &learning_rate);
  }

 private:
  void look() {
    bytes_ = parameters_.copy();
    numbers_ = parameters_.numbers();
  }

  [[nodiscard]] report after(outcome result, gradient* received, double const* learning_rate) {
    report found;
    if (received != nullptr) parameters_.fit(*received);
    watched_parameters::bytes const old_bytes = std::move(bytes_);
    std::vector<double> const old = std::move(numbers_);
    look();
    bool const applied = result == outcome::applied;
    bool const moved = bytes_ != old_bytes;
    bool const zero = received != nullptr && std::all_of(received->values.begin(), received->values.end(),
                                                         [](double value) { return value == 0.0; });
    if (!applied && moved) {
      std::size_t p = 0;
      while (bytes_[p] == old_bytes[p]) ++p;
      found.add({diagnosis::moved_without_update,
                 joined({"the outcome is ", accrue::name_of(result), ", and ", parameters_.name(p), " changed"})});
    }
    if (applied && !moved && !zero)
      found.add({diagnosis::nothing_moved, "the outcome is applied, and all parameters have the bits they had",
                 received != nullptr});

    std::size_t at = 0;
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      tensor const& t = parameters_[p];
      double const rounding = 4 * std::max(t.stored, t.computed);
      for (std::int64_t i = 0; i < t.size; ++i, ++at) {
        if (is_finite(old[at]) && !is_finite(numbers_[at]))
          return say(found, diagnosis::parameters_not_finite, p, i, old[at], at);
        if (!applied || learning_rate == nullptr || found.has(diagnosis::nothing_moved)) continue;
        double const move = *learning_rate * received->values[at];
        if (std::abs(numbers_[at] - (old[at] - move)) > rounding * (std::abs(old[at]) + std::abs(move)))
          return say(found, diagnosis::moved_otherwise, p, i, old[at] - move, at);
      }
    }
    return found;
  }

  [[nodiscard]] report& say(report& found, diagnosis what, std::size_t p, std::int64_t i, double expected,
                            std::size_t at) const {
    std::ostringstream saw;
    saw << "number " << i << " of " << parameters_.name(p) << " is " << numbers_[at]
        << (what == diagnosis::moved_otherwise ? ", not " : ", it was ") << expected;
    found.add({what, saw.str()});
    return found;
  }

  watched_parameters parameters_;
  watched_parameters::bytes bytes_;
  std::vector<double> numbers_;
};

}  // namespace accrue::doctor
#endif

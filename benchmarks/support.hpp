// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_BENCHMARKS_SUPPORT_HPP
#define ACCRUE_BENCHMARKS_SUPPORT_HPP

#include <sys/resource.h>
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

// Absolute times drift by a factor of two on shared machines, so everything here is a ratio of neighbours: in every
// round all candidates run once, in random order, and the median of the ratios within a round counts.

namespace bench {

using array = Kokkos::View<float*>;

/// Seconds of a piece of work, and whether another process took the processor away meanwhile.
struct sample {
  double seconds = 0.0;
  bool disturbed = false;
};

inline long switches() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

template <class Work>
sample timed(Work const& work) {
  Kokkos::fence();
  long const before = switches();
  auto const begin = std::chrono::steady_clock::now();
  work();
  Kokkos::fence();
  double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return {seconds, switches() != before};
}

inline double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Candidates that run in turn; `ratio(a, b)` is the median over the rounds in which neither was disturbed.
class contest {
 public:
  std::size_t enter(std::function<void()> work) {
    candidates_.push_back(std::move(work));
    return candidates_.size() - 1;
  }

  /// One round; returns the seconds of the first candidate.
  double run() {
    std::vector<std::size_t> order(candidates_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), engine_);
    std::vector<sample> round(candidates_.size());
    for (std::size_t const i : order) round[i] = timed(candidates_[i]);
    rounds_.push_back(round);
    return round[0].seconds;
  }

  [[nodiscard]] double ratio(std::size_t a, std::size_t b) const {
    std::vector<double> clean, all;
    for (auto const& round : rounds_) {
      all.push_back(round[a].seconds / round[b].seconds);
      if (!round[a].disturbed && !round[b].disturbed) clean.push_back(all.back());
    }
    return median(clean.size() >= 5 ? clean : all);
  }
  [[nodiscard]] double seconds(std::size_t a) const {
    std::vector<double> all;
    for (auto const& round : rounds_) all.push_back(round[a].seconds);
    return median(all);
  }
  /// Rounds in which nothing was taken away from either.
  [[nodiscard]] int clean(std::size_t a, std::size_t b) const {
    int count = 0;
    for (auto const& round : rounds_) count += !round[a].disturbed && !round[b].disturbed ? 1 : 0;
    return count;
  }

 private:
  std::vector<std::function<void()>> candidates_;
  std::vector<std::vector<sample>> rounds_;
  std::mt19937 engine_{20261130};
};

/// Sizes of the tensors of a model.
struct shape {
  std::string name;
  std::vector<std::size_t> sizes;
  [[nodiscard]] std::size_t total() const {
    std::size_t sum = 0;
    for (std::size_t size : sizes) sum += size;
    return sum;
  }
};

inline shape one_tensor() { return {"one", {std::size_t{64} << 20}}; }
inline shape many(std::size_t size) { return {"2000x" + std::to_string(size), std::vector<std::size_t>(2000, size)}; }
/// The 148 tensors of GPT-2 with 124 million parameters.
inline shape gpt2() {
  shape s{"gpt2", {std::size_t{50257} * 768, std::size_t{1024} * 768}};
  for (int layer = 0; layer < 12; ++layer)
    for (std::size_t size : {std::size_t{768}, std::size_t{768}, std::size_t{768} * 2304, std::size_t{2304},
                             std::size_t{768} * 768, std::size_t{768}, std::size_t{768}, std::size_t{768},
                             std::size_t{768} * 3072, std::size_t{3072}, std::size_t{3072} * 768, std::size_t{768}})
      s.sizes.push_back(size);
  s.sizes.push_back(768);
  s.sizes.push_back(768);
  return s;
}

template <class T>
std::vector<Kokkos::View<T*>> tensors(shape const& s, double value) {
  std::vector<Kokkos::View<T*>> all;
  for (std::size_t size : s.sizes) {
    all.emplace_back("tensor", size);
    Kokkos::deep_copy(all.back(), T(static_cast<float>(value)));
  }
  return all;
}

// The measures of memory, in yardsticks.cpp: always -O3, over the same number of elements, by all threads.
void accumulate_sweep(array const& sum, array const& gradient);                                      // 12 bytes
void accumulate_sweep(std::vector<array> const& sums, std::vector<array> const& gradients);          // as many arrays
std::uint32_t read_sweep(array const& gradient);                                                     // 4 bytes
void triad_sweep(array const& a, array const& b, array const& c);                                    // 12 bytes
void seven_stream_sweep(array const& theta, array const& m, array const& v, array const& gradient);  // 28 bytes

}  // namespace bench
#endif

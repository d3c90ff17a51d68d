// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_DRIFT_WATCH_HPP
#define ACCRUE_DRIFT_WATCH_HPP

#include <accrue/core/replica_report.hpp>
#include <accrue/core/strided.hpp>
#include <accrue/replicas.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace accrue {

/// A checksum of elements and their places; elements of any type, in words of two bytes.
struct sum_elements {
  strided view;
  std::int64_t words;  ///< of an element
  std::uint64_t salt;  ///< of the view

  KOKKOS_FUNCTION void operator()(std::int64_t i, std::uint64_t& sum) const {
    auto const* const there = static_cast<std::uint16_t const*>(view.data) + view.offset(i) * words;
    for (std::int64_t w = 0; w < words; ++w)
      sum += mixed(salt + static_cast<std::uint64_t>(i * words + w) * 0x9e3779b97f4a7c15 + there[w]);
  }
  /// The finalizer of SplitMix64.
  [[nodiscard]] KOKKOS_FUNCTION static std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
};

/// Compares the parameters of all replicas, bit for bit, every so many calls.
///
/// For what no exchange of a group can see: other initial values, a parameter that somebody else changes, memory that
/// fails. Order: call it after the update, on all replicas alike; with all of this process, which are as many on each.
/// Cost: when it compares, one read of the parameters, a fence for each view, and a gather of 8 bytes for each replica.
/// Failure: `accrue::error` on all replicas that names those whose parameters differ from most.
/// Example: `accrue::drift_watch watch(100);  ...  watch(group);`
class drift_watch {
 public:
  /// Failure: `accrue::error` where `every` is not above 0.
  explicit drift_watch(std::int64_t every) : every_(every) {
    if (every <= 0)
      throw error("accrue::drift_watch: every is not above 0", "parameters would never be compared",
                  "give the number of updates between two comparisons");
  }

  template <class First, class... Others>
  void operator()(First& group, Others&... others) {
    constexpr bool fits = detail::is_replica_v<First> && (std::is_same_v<First, Others> && ...);
    static_assert(fits, ACCRUE_SAY_NOT_REPLICAS);
    if (++calls_ % every_ != 0) return;
    if constexpr (fits) {
      std::vector<std::int64_t> sums;
      std::vector<std::int64_t> const own{sum_of(group), sum_of(others)...};
      for (std::vector<std::int64_t> const& of_member : gathered(group.policies().replicas, own))
        sums.insert(sums.end(), of_member.begin(), of_member.end());
      require_equal(sums);
    }
  }

 private:
  template <class Group>
  [[nodiscard]] static std::int64_t sum_of(Group& group) {
    using exec_type = std::remove_cvref_t<decltype(group.exec())>;
    view_directory const& directory = closing_of_replicas::directory_of(group);
    std::uint64_t total = 0;
    for (std::size_t v = 0; v < directory.size(); ++v) {
      strided const& view = directory[v].storage;
      std::uint64_t sum = 0;
      Kokkos::parallel_reduce(
          "accrue::reduce::drift",
          Kokkos::RangePolicy<exec_type, Kokkos::IndexType<std::int64_t>>(group.exec(), 0, view.size),
          sum_elements{view, static_cast<std::int64_t>(directory[v].element_bytes / 2), std::uint64_t{v} << 48}, sum);
      total += sum_elements::mixed(sum + v);
    }
    return static_cast<std::int64_t>(total);
  }
  void require_equal(std::vector<std::int64_t> const& sums) const {
    std::int64_t most = sums.front();
    std::int64_t times = 0;
    for (std::int64_t const each : sums) {
      std::int64_t const same = std::count(sums.begin(), sums.end(), each);
      if (same > times) most = each, times = same;
    }
    std::string odd;
    for (std::size_t r = 0; r < sums.size(); ++r)
      if (sums[r] != most) odd += (odd.empty() ? "" : ", ") + std::to_string(r);
    if (!odd.empty())
      throw error(joined({"accrue::drift_watch: after ", std::to_string(calls_), " updates replica ", odd,
                          " has other parameters than ", std::to_string(times), " of ", std::to_string(sums.size())}),
                  "they train different models", "begin with equal values, and change parameters by update() alone");
  }

  std::int64_t every_;
  std::int64_t calls_ = 0;
};

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_EXCHANGE_SUMS_HPP
#define ACCRUE_PASSES_EXCHANGE_SUMS_HPP

#include <accrue/core/carried.hpp>
#include <accrue/core/device_array.hpp>
#include <accrue/core/scalar.hpp>
#include <accrue/core/strided.hpp>
#include <accrue/passes/block.hpp>
#include <accrue/passes/carried_element.hpp>
#include <accrue/passes/chunk_table.hpp>
#include <accrue/passes/launch.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace accrue {

/// A pass over the sums of one block that is done chunk by chunk, and needs nothing of other chunks: calls
/// `what(view, element, whether the group has touched it)`.
template <class B, class What>
struct each_sum_chunk {
  chunk const* chunks;
  std::uint8_t const* touched;
  What what;
  exit_gate gate{};

  struct nothing {};
  [[nodiscard]] KOKKOS_FUNCTION nothing enter() const { return {}; }
  template <class Worker>
  KOKKOS_FUNCTION void operator()(nothing, std::int64_t c, Worker worker) const {
    chunk const part = chunks[c];
    bool const there = touched[part.view] != 0;
    if (!what.concerns(part.view, there)) return;
    for (std::int64_t i = part.begin + worker.rank(); i < part.end; i += worker.size()) what(part.view, i, there);
  }
  template <class Worker>
  KOKKOS_FUNCTION void leave(Worker) const {}
};

/// Brings sums into the buffer that lie elsewhere or wait for a factor, and zero where there are none.
template <class B>
struct bring_home {
  strided const* sums;
  double const* keep;
  placement const* placements;
  B* buffer;
  double factor;

  [[nodiscard]] KOKKOS_FUNCTION bool concerns(std::int32_t view, bool there) const {
    return !there || sums[view].data != buffer + placements[view].begin || factor * keep[view] != 1.0;
  }
  KOKKOS_FUNCTION void operator()(std::int32_t view, std::int64_t i, bool there) const {
    B* const to = buffer + placements[view].begin + i;
    *to = there ? static_cast<B const*>(sums[view].data)[i] * static_cast<real_t<B>>(factor * keep[view]) : B(0.0);
  }
};

/// What is carried for one block, number by number, with the sums.
template <class B, class Carry>
struct carried_numbers {
  using real = real_t<B>;
  static constexpr std::int64_t parts = is_complex_v<B> ? 2 : 1;

  B* buffer;
  carried_sums<Carry> carried;

  KOKKOS_FUNCTION real& sum(std::int64_t at) const { return reinterpret_cast<real*>(buffer)[at]; }
  KOKKOS_FUNCTION void load(std::int64_t at, double (&words)[Carry::words]) const {
    for (int k = 0; k < Carry::words; ++k)
      words[k] = static_cast<double>(carried.first[parts * carried.words_apart * k + at]);
  }
  KOKKOS_FUNCTION void store(std::int64_t at, double const (&words)[Carry::words]) const {
    for (int k = 0; k < Carry::words; ++k)
      carried.first[parts * carried.words_apart * k + at] = static_cast<typename Carry::word>(words[k]);
  }
};

/// The sums of bins to common bins, as plain numbers; zero where there are none. First `largest` of all members.
template <class B, class Carry>
struct name_bins {
  carried_numbers<B, Carry> numbers;
  std::uint8_t* highest;
  KOKKOS_FUNCTION static bool concerns(std::int32_t, bool) { return true; }
  KOKKOS_FUNCTION void operator()(std::int32_t view, std::int64_t i, bool there) const {
    constexpr std::int64_t parts = carried_numbers<B, Carry>::parts;
    std::int64_t const first = parts * (numbers.carried.placements[view].begin + i);
    for (std::int64_t at = first; at < first + parts; ++at) {
      double words[Carry::words];
      numbers.load(at, words);
      highest[at] = there ? Carry::highest(words) : std::uint8_t{0};
    }
  }
};
template <class B, class Carry, bool On>
struct move_anchors {
  carried_numbers<B, Carry> numbers;
  std::uint8_t const* highest;
  KOKKOS_FUNCTION static bool concerns(std::int32_t, bool) { return true; }
  KOKKOS_FUNCTION void operator()(std::int32_t view, std::int64_t i, bool there) const {
    constexpr std::int64_t parts = carried_numbers<B, Carry>::parts;
    std::int64_t const first = parts * (numbers.carried.placements[view].begin + i);
    for (std::int64_t at = first; at < first + parts; ++at) {
      double words[Carry::words]{};
      if constexpr (On) {
        numbers.load(at, words);
        if (highest[at] != 0) Carry::put_on_anchors(words, highest[at]);
      } else if (there) {
        numbers.load(at, words);
        Carry::take_off_anchors(words, highest[at]);
      }
      numbers.store(at, words);
    }
  }
};

/// Sums with what is carried, as doubles, and back.
template <class B, class Carry>
struct in_double {
  carried_numbers<B, Carry> numbers;
  double* wide;
  double factor;
  KOKKOS_FUNCTION static bool concerns(std::int32_t, bool) { return true; }
  KOKKOS_FUNCTION void operator()(std::int32_t view, std::int64_t i, bool there) const {
    constexpr std::int64_t parts = carried_numbers<B, Carry>::parts;
    std::int64_t const first = parts * (numbers.carried.placements[view].begin + i);
    for (std::int64_t at = first; at < first + parts; ++at) {
      double words[Carry::words];
      numbers.load(at, words);
      wide[at] = there ? (static_cast<double>(numbers.sum(at)) + words[0]) * factor : 0.0;
    }
  }
};
template <class B, class Carry>
struct out_of_double {
  carried_numbers<B, Carry> numbers;
  double const* wide;
  KOKKOS_FUNCTION static bool concerns(std::int32_t, bool) { return true; }
  KOKKOS_FUNCTION void operator()(std::int32_t view, std::int64_t i, bool) const {
    constexpr std::int64_t parts = carried_numbers<B, Carry>::parts;
    std::int64_t const first = parts * (numbers.carried.placements[view].begin + i);
    for (std::int64_t at = first; at < first + parts; ++at) {
      double sum = 0.0;
      double words[Carry::words];
      Carry::begin(sum, words, wide[at]);
      numbers.store(at, words);
      numbers.sum(at) = static_cast<real_t<B>>(sum);
    }
  }
};

/// Adds the words of one array to another's.
template <class Real>
struct add_words {
  Real* to;
  Real const* from;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { to[i] += from[i]; }
};

/// Keeps the larger of two numbers, for two replicas of one process.
struct keep_larger {
  std::uint8_t* to;
  std::uint8_t const* other;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { to[i] = other[i] > to[i] ? other[i] : to[i]; }
};

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_ADD_HPP
#define ACCRUE_PASSES_ADD_HPP

#include <accrue/core/scalar.hpp>
#include <accrue/passes/block.hpp>
#include <accrue/passes/launch.hpp>
#include <accrue/passes/measure.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <type_traits>

namespace accrue {

/// Which views of a launch are touched for the first time in their group, and so overwritten instead of added to.
enum class first_touch : std::int32_t { none, all, some };

/// A weighing that takes lanes as it takes elements.
template <class Weigh, class B>
concept weighs_lanes = lane_scalar<B> && requires(Weigh const weigh, lanes<B> const& eight) {
  weigh(eight);
};

/// buffer = weighed gradient, or buffer += weighed gradient; and the squares of the new sums where they are measured.
template <class G, class B, class Weigh, bool Overwrites, bool Measures>
struct sum_element {
  static constexpr bool carries = Measures;
  struct nothing {};

  B* buffer;
  Weigh weigh;
  std::conditional_t<Measures, square_sum, nothing> squares{};

  KOKKOS_FUNCTION void operator()(std::int64_t i, G const& gradient) {
    B const term = weigh(B(widen(gradient)));
    B const sum = Overwrites ? term : buffer[i] + term;
    buffer[i] = sum;
    if constexpr (Measures) squares.add(sum);
  }

#if ACCRUE_HAS_LANES
  ACCRUE_ALWAYS_INLINE void by_lanes(std::int64_t i,
                                     G const* gradient) requires(lane_scalar<G>&& weighs_lanes<Weigh, B>) {
    lanes<B> sum = weigh(lanes_as<B>(load_lanes(gradient)));
    if constexpr (!Overwrites) sum = load_lanes(buffer + i) + sum;
    store_lanes(sum, buffer + i);
    if constexpr (Measures) squares.add(sum);
  }
#endif
};

/// Adds the gradients of scalar `G` to a buffer of `B`, and measures the new sums where this is the last microbatch.
///
/// `Weigh` is the accumulate stage's: `resolve()` reads what depends on device memory once per chunk, then the result
/// maps a gradient element, or lanes of them, to what is added.
template <class G, class B, class Weigh>
struct add_chunk {
  chunk const* chunks;
  strided const* gradients;
  strided const* sums;
  std::uint8_t const* touched;  ///< before this microbatch
  Weigh weigh;
  first_touch first;
  std::int32_t scalar;
  bool takes_absent;  ///< this launch also measures the views that this microbatch does not touch
  measuring measured;
  exit_gate gate;

  [[nodiscard]] KOKKOS_FUNCTION auto enter() const { return weigh.resolve(); }

  template <class Known, class Worker>
  KOKKOS_FUNCTION void operator()(Known const& weigh_element, std::int64_t c, Worker worker) const {
    chunk const part = chunks[c];
    strided const& view = gradients[part.view];
    if (view.scalar == scalar) {
      bool const overwrites = first == first_touch::all || (first == first_touch::some && touched[part.view] == 0);
      norm_partial const share =
          overwrites ? add<true>(weigh_element, view, part, worker) : add<false>(weigh_element, view, part, worker);
      if (measured.asked()) measured.put(c, share, worker);
    } else if (measured.asked() && takes_absent && view.scalar < 0) {
      measured.put(c, touched[part.view] != 0 ? measured.share<B>(sums[part.view], part, worker) : norm_partial{},
                   worker);
    }
  }
  template <class Worker>
  KOKKOS_FUNCTION void leave(Worker worker) const {
    measured.total_up(worker);
  }

 private:
  template <bool Overwrites, class Known, class Worker>
  [[nodiscard]] KOKKOS_FUNCTION norm_partial add(Known const& weigh_element, strided const& view, chunk const& part,
                                                 Worker worker) const {
    strided const& sum = sums[part.view];
    B* const buffer = static_cast<B*>(sum.data);
    if constexpr (!is_complex_v<B>) {
      if (measured.by_squares() && view.contiguous()) {
        double const squares =
            walk<G const>(view, part, worker, sum_element<G, B, Known, Overwrites, true>{buffer, weigh_element})
                .squares.total();
        return squares_hold<B>(squares) ? norm_partial{squares} : measured.thorough_share<B>(sum, part, worker);
      }
    }
    walk<G const>(view, part, worker, sum_element<G, B, Known, Overwrites, false>{buffer, weigh_element});
    return measured.asked() ? measured.share<B>(sum, part, worker) : norm_partial{};
  }
};

}  // namespace accrue
#endif

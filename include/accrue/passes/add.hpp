// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_ADD_HPP
#define ACCRUE_PASSES_ADD_HPP

#include <accrue/core/scalar.hpp>
#include <accrue/passes/block.hpp>
#include <accrue/passes/launch.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace accrue {

/// Which views of a launch are touched for the first time in their group, and so overwritten instead of added to.
enum class first_touch : std::int32_t { none, all, some };

/// buffer = weighed gradient
template <class G, class B, class Weigh>
struct overwrite_element {
  B* buffer;
  Weigh weigh;
  KOKKOS_FUNCTION void operator()(std::int64_t i, G const& gradient) const { buffer[i] = weigh(B(widen(gradient))); }
};

/// buffer += weighed gradient
template <class G, class B, class Weigh>
struct add_element {
  B* buffer;
  Weigh weigh;
  KOKKOS_FUNCTION void operator()(std::int64_t i, G const& gradient) const { buffer[i] += weigh(B(widen(gradient))); }
};

/// Adds the gradients of scalar `G` to a buffer of `B`. `Weigh` is the accumulate stage's: `resolve()` reads what
/// depends on device memory once per chunk, then the result maps a gradient element to what is added.
template <class G, class B, class Weigh>
struct add_chunk {
  chunk const* chunks;
  strided const* gradients;
  placement const* placements;
  std::uint8_t const* touched;
  B* buffer;
  Weigh weigh;
  std::int32_t scalar;
  first_touch first;

  template <class Worker>
  KOKKOS_FUNCTION void operator()(std::int64_t c, Worker worker) const {
    chunk const part = chunks[c];
    strided const& view = gradients[part.view];
    if (view.scalar != scalar) return;
    B* const sum = buffer + placements[part.view].begin;
    auto const weigh_element = weigh.resolve();
    using weigh_type = std::remove_const_t<decltype(weigh_element)>;
    bool const overwrites = first == first_touch::all || (first == first_touch::some && touched[part.view] == 0);
    if (overwrites) {
      walk<G const>(view, part, worker, overwrite_element<G, B, weigh_type>{sum, weigh_element});
    } else {
      walk<G const>(view, part, worker, add_element<G, B, weigh_type>{sum, weigh_element});
    }
  }
};

}  // namespace accrue
#endif

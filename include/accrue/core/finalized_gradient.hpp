// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_FINALIZED_GRADIENT_HPP
#define ACCRUE_CORE_FINALIZED_GRADIENT_HPP

#include <accrue/core/decision.hpp>
#include <accrue/core/parameters.hpp>
#include <accrue/core/strided.hpp>

#include <Kokkos_Core.hpp>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace accrue {

namespace detail {
template <class T, std::size_t Rank>
struct with_pointers {
  using type = typename with_pointers<T, Rank - 1>::type*;
};
template <class T>
struct with_pointers<T, 0> {
  using type = T;
};
}  // namespace detail

/// A view of a parameter's part of the buffer, with the parameter's rank and extents.
template <class B, std::size_t Rank, class MemorySpace>
using sum_view = Kokkos::View<typename detail::with_pointers<B, Rank>::type, Kokkos::LayoutStride, MemorySpace,
                              Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// The extents, and where the layout has them the strides, of a shape.
template <class Layout>
[[nodiscard]] Layout layout_as(view_shape const& shape) {
  Layout layout;
  for (int r = 0; r < shape.rank; ++r) {
    layout.dimension[r] = static_cast<std::size_t>(shape.extent[static_cast<std::size_t>(r)]);
    if constexpr (std::is_same_v<Layout, Kokkos::LayoutStride>)
      layout.stride[r] = static_cast<std::size_t>(shape.stride[static_cast<std::size_t>(r)]);
  }
  return layout;
}

/// What `with_gradient` hands to the user: views of G times the clip factor, one item for each item of the parameters.
///
/// The views are valid during the call; work launched on `exec()` inside it may read and overwrite them.
template <class Exec, class... Items>
class finalized_gradient {
 public:
  finalized_gradient(Exec exec, std::tuple<Items...> items, std::vector<bool> touched, device_record const& record)
      : exec_(std::move(exec)),
        items_(std::move(items)),
        touched_(std::move(touched)),
        norm_(record.norm),
        clip_factor_(record.clip_factor) {}

  /// The I-th item: a view, or a vector of views where the parameters were given as one.
  template <std::size_t I>
  [[nodiscard]] auto const& get() const {
    return std::get<I>(items_);
  }
  /// Whether a microbatch of the group touched the view; numbers run over all views, also those of vectors.
  [[nodiscard]] bool touched(std::size_t view) const { return touched_.at(view); }
  [[nodiscard]] Exec const& exec() const { return exec_; }
  [[nodiscard]] double norm() const { return norm_; }
  [[nodiscard]] double clip_factor() const { return clip_factor_; }

 private:
  Exec exec_;
  std::tuple<Items...> items_;
  std::vector<bool> touched_;
  double norm_;
  double clip_factor_;
};

}  // namespace accrue
#endif

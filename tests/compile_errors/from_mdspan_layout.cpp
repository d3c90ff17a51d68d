// Where the elements of a triangle lie, no stride can say.
// expected-error: accrue::from_mdspan: this layout has no strides; copy into an mdspan with layout_right, layout_left
#include <accrue/interop/mdspan.hpp>

struct triangle {
  template <class Extents>
  struct mapping {
    using extents_type = Extents;
    using index_type = typename Extents::index_type;
    using size_type = typename Extents::size_type;
    using rank_type = typename Extents::rank_type;
    using layout_type = triangle;

    Extents sizes;

    constexpr mapping(Extents const& extents) : sizes(extents) {}
    constexpr Extents const& extents() const { return sizes; }
    constexpr index_type required_span_size() const { return sizes.extent(0) * (sizes.extent(0) + 1) / 2; }
    constexpr index_type operator()(index_type i, index_type j) const { return i * (i + 1) / 2 + j; }
    static constexpr bool is_always_unique() { return false; }
    static constexpr bool is_always_exhaustive() { return true; }
    static constexpr bool is_always_strided() { return false; }
    static constexpr bool is_unique() { return false; }
    static constexpr bool is_exhaustive() { return true; }
    static constexpr bool is_strided() { return false; }
  };
};

template <class Layout>
using span = Kokkos::mdspan<double, Kokkos::dextents<int, 2>, Layout>;

double use(double* data) {
#ifdef ACCRUE_TEST_ERROR
  auto const gradient = accrue::from_mdspan(span<triangle>(data, 4, 4));
#else
  auto const gradient = accrue::from_mdspan(span<Kokkos::layout_left>(data, 4, 4));
#endif
  return *gradient.data();
}

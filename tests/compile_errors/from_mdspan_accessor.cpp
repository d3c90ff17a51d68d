// An accessor that scales what it reads would be left out by a view.
// expected-error: accrue::from_mdspan: this accessor is not the default one, and a view would go around it
#include <accrue/interop/mdspan.hpp>

struct doubled {
  using offset_policy = doubled;
  using element_type = double const;
  using reference = double;
  using data_handle_type = double const*;

  constexpr reference access(data_handle_type data, std::size_t i) const { return 2.0 * data[i]; }
  constexpr data_handle_type offset(data_handle_type data, std::size_t i) const { return data + i; }
};

template <class Accessor>
using span = Kokkos::mdspan<double const, Kokkos::dextents<int, 1>, Kokkos::layout_right, Accessor>;

double use(double const* data) {
#ifdef ACCRUE_TEST_ERROR
  auto const gradient = accrue::from_mdspan(span<doubled>(data, 8));
#else
  auto const gradient = accrue::from_mdspan(span<Kokkos::default_accessor<double const>>(data, 8));
#endif
  return gradient(0);
}

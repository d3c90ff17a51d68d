// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_ACCUMULATE_SUMMATION_HPP
#define ACCRUE_ACCUMULATE_SUMMATION_HPP

#include <accrue/core/diagnostics.hpp>
#include <accrue/core/error.hpp>
#include <accrue/core/scalar.hpp>
#include <accrue/core/slots.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace accrue {

/// Whether gradients of parameters of scalar `P` can be summed in `Buffer`, in which the rule sees the parameter too.
template <class Buffer, class P>
concept sums_in = (std::is_same_v<real_t<Buffer>, float> ||
                   std::is_same_v<real_t<Buffer>, double>)&&is_complex_v<Buffer> == is_complex_v<P> &&
                  sizeof(Buffer) >= sizeof(accumulation_scalar_t<P>);

/// What a policy for the slot summation offers: `buffer_scalar<P>`, what gradients of parameters of scalar `P` are
/// summed in. Never narrower than float or than `P`; complex if and only if `P` is.
template <class Policy>
concept summation_policy =
    fills_slot<Policy, slot::summation> && sums_in<typename Policy::template buffer_scalar<bfloat16>, bfloat16> &&
    sums_in < typename Policy::template buffer_scalar<float>,
float > &&sums_in<typename Policy::template buffer_scalar<double>, double>&&
            sums_in<typename Policy::template buffer_scalar<Kokkos::complex<double>>, Kokkos::complex<double>>;

/// Stands for the scalar that `accumulation_scalar_t` gives: 16-bit and float into float, double into double.
struct own_precision {};

/// Sums in plain floating point of at least the width of `T`.
///
/// Guarantee: a sum of n terms is off by at most n - 1 roundings of the buffer's scalar; the order of the microbatches
/// is the order of the additions. Cost: one buffer. Example: `widened<double>{}` sums float gradients in double, at
/// twice the memory of the buffer.
template <class T = own_precision>
struct widened {
  using fills = slot::summation;
  static constexpr std::string_view name = std::is_same_v<T, double>  ? "widened<double>"
                                           : std::is_same_v<T, float> ? "widened<float>"
                                                                      : "widened";

 private:
  template <class P>
  struct choose {
    using own = real_t<accumulation_scalar_t<P>>;
    using real = std::conditional_t<std::is_same_v<T, double>, double, own>;
    using type = std::conditional_t<is_complex_v<P>, Kokkos::complex<real>, real>;
  };

 public:
  template <class P>
  using buffer_scalar = typename choose<P>::type;

  friend bool operator==(widened const&, widened const&) = default;

  static_assert(std::is_same_v<T, own_precision> || std::is_same_v<T, float> || std::is_same_v<T, double>,
                ACCRUE_SAY_NEITHER_FLOAT_NOR_DOUBLE);
};

static_assert(summation_policy<widened<>>);

namespace detail {
template <class Summation>
struct total_of {
  using type = double;
};
template <class Summation>
  requires requires { typename Summation::total; }
struct total_of<Summation> {
  using type = typename Summation::total;
};
}  // namespace detail

/// What the host sums real numbers of a group in, its weight and its loss: `Summation::total`, or double.
template <class Summation>
using total_of = typename detail::total_of<Summation>::type;

/// Failure: `accrue::error` where a group holds more contributions than its summation has room for.
template <class Summation>
void refuse_too_many([[maybe_unused]] std::int64_t contributions) {
  if constexpr (requires { Summation::most_contributions; }) {
    if (contributions > Summation::most_contributions)
      throw error(joined({"accrue::accumulator: the group holds ", std::to_string(Summation::most_contributions),
                          " contributions, the most that ", Summation::name, " adds up"}),
                  "more could overflow its bins", "close groups earlier, or sum with accrue::compensated");
  }
}

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_MEASURE_HPP
#define ACCRUE_PASSES_MEASURE_HPP

#include <accrue/core/norm.hpp>
#include <accrue/core/scalar.hpp>
#include <accrue/passes/launch.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <string>

namespace accrue {

namespace detail {

/// |x|, formed in double: the modulus of a finite complex<float> may exceed float.
template <class T>
[[nodiscard]] KOKKOS_FUNCTION double modulus_of(T const& x) {
  if constexpr (is_complex_v<T>) {
    return Kokkos::hypot(static_cast<double>(x.real()), static_cast<double>(x.imag()));
  } else {
    return Kokkos::abs(static_cast<double>(widen(x)));
  }
}

/// Sums powers over a worker's share; eight sums side by side, because one would wait for itself at every element.
template <class T, int Lanes>
struct add_powers {
  static constexpr bool carries = true;
  norm_order order;
  double* sums;
  double* largest;
  std::int32_t* non_finite;

  KOKKOS_FUNCTION void operator()(std::int64_t i, T const& x) const {
    int const lane = static_cast<int>(i % Lanes);
    double const modulus = modulus_of(x);
    double const power = order.power(modulus);
    sums[lane] += power;
    largest[lane] = larger(largest[lane], modulus);
    non_finite[lane] |= is_finite(x) ? 0 : 1;
  }
};

/// The same relative to a power of two, for values whose powers leave the range of double.
template <class T>
struct add_rescaled_powers {
  static constexpr bool carries = true;
  norm_order order;
  rescale scaled;
  double* sum;

  KOKKOS_FUNCTION void operator()(std::int64_t, T const& x) const { *sum += order.power(scaled(modulus_of(x))); }
};

template <class T, class Worker>
[[nodiscard]] KOKKOS_FUNCTION norm_partial measure_share(norm_order order, strided const& view, chunk const& part,
                                                         Worker worker) {
  constexpr int lanes = Worker::alone ? 8 : 1;
  double sums[lanes]{};
  double largest[lanes]{};
  std::int32_t non_finite[lanes]{};
  walk<T const>(view, part, worker, add_powers<T, lanes>{order, sums, largest, non_finite});
  norm_partial share;
  for (int lane = 0; lane < lanes; ++lane) {
    share.sum += sums[lane];
    share.largest = larger(share.largest, largest[lane]);
    share.non_finite |= non_finite[lane];
  }
  if (needs_rescaling(order, share)) {
    share.exponent = exponent_of(share.largest);
    share.sum = 0.0;
    walk<T const>(view, part, worker, add_rescaled_powers<T>{order, rescale(share.exponent), &share.sum});
  }
  return share;
}

}  // namespace detail

/// Merges the shares of a team in a fixed tree.
struct merge_partials {
  using reducer = merge_partials;
  using value_type = norm_partial;
  using result_view_type = Kokkos::View<value_type, Kokkos::AnonymousSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  value_type* total;
  norm_order order;

  KOKKOS_FUNCTION void join(value_type& into, value_type const& from) const { into = merged(order, into, from); }
  KOKKOS_FUNCTION void init(value_type& value) const { value = value_type{}; }
  [[nodiscard]] KOKKOS_FUNCTION value_type& reference() const { return *total; }
  [[nodiscard]] KOKKOS_FUNCTION result_view_type view() const { return result_view_type(total); }
  [[nodiscard]] KOKKOS_FUNCTION bool references_scalar() const { return true; }
};

/// Writes one partial norm per chunk; views without data of scalar `T` give zero.
template <class T>
struct measure_chunk {
  chunk const* chunks;
  strided const* views;
  std::uint8_t const* touched;  ///< may be null: all are
  std::int32_t scalar;
  bool clears_absent;  ///< this launch also writes zero for views that have no data of any scalar
  norm_order order;
  norm_partial* partials;

  template <class Worker>
  [[nodiscard]] KOKKOS_FUNCTION norm_partial share(std::int64_t c, Worker worker) const {
    chunk const part = chunks[c];
    strided const& view = views[part.view];
    bool const there = view.scalar == scalar && (touched == nullptr || touched[part.view] != 0);
    return there ? detail::measure_share<T>(order, view, part, worker) : norm_partial{};
  }
  [[nodiscard]] KOKKOS_FUNCTION bool measures(std::int64_t c) const {
    std::int32_t const found = views[chunks[c].view].scalar;
    return found == scalar || (clears_absent && found == -1);
  }
};

template <class T>
struct measure_chunk_alone {
  measure_chunk<T> body;
  KOKKOS_FUNCTION void operator()(std::int64_t c) const {
    if (body.measures(c)) body.partials[c] = body.share(c, lone_worker{});
  }
};

template <class T>
struct measure_chunk_in_team {
  measure_chunk<T> body;
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    std::int64_t const c = member.league_rank();
    if (!body.measures(c)) return;
    norm_partial total = body.share(c, team_worker{member.team_rank(), member.team_size()});
    member.team_reduce(merge_partials{&total, body.order});
    if (member.team_rank() == 0) body.partials[c] = total;
  }
};

/// Launches one read of the views of scalar `T`: sums of powers, largest modulus and finite check, chunk by chunk.
///
/// Guarantee: for a given machine and build, the partials do not depend on the number of threads.
template <class T, class Exec>
void measure(std::string const& label, Exec const& exec, std::int64_t chunks, measure_chunk<T> const& body) {
  if (chunks == 0) return;
  if constexpr (runs_on_host_v<Exec>) {
    using policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>, Kokkos::Schedule<Kokkos::Static>>;
    Kokkos::parallel_for(label, policy(exec, 0, chunks), measure_chunk_alone<T>{body});
  } else {
    using policy = Kokkos::TeamPolicy<Exec, Kokkos::IndexType<std::int64_t>>;
    Kokkos::parallel_for(label, policy(exec, static_cast<int>(chunks), Kokkos::AUTO), measure_chunk_in_team<T>{body});
  }
}

}  // namespace accrue
#endif

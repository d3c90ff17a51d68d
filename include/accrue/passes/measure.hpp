// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_MEASURE_HPP
#define ACCRUE_PASSES_MEASURE_HPP

#include <accrue/core/lane_memory.hpp>
#include <accrue/core/norm.hpp>
#include <accrue/core/scalar.hpp>
#include <accrue/passes/launch.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <string>

namespace accrue {

/// A sum of squares of real numbers, formed in double.
///
/// Guarantee: not finite if and only if an element is not, or its square leaves the range of double, which a float's
/// does not. Cost: as good as none beside reading the elements.
struct square_sum {
#if ACCRUE_HAS_LANES
  lanes<double> side_by_side{0.0};
  lanes<double> waiting{0.0};  ///< of up to four times eight elements: additions to one sum would wait for each other

  /// The elements from `i` on.
  template <class Real>
  ACCRUE_ALWAYS_INLINE void add(std::int64_t i, lanes<Real> const& x) {
    waiting += square(x);
    if ((i >> 3 & 3) != 3) return;
    side_by_side += waiting;
    waiting = lanes<double>(0.0);
  }
  /// Four times eight elements from `i` on, of which i / 8 is a multiple of four, and nothing waits.
  template <class Real>
  ACCRUE_ALWAYS_INLINE void add_four(lanes<Real> const& a, lanes<Real> const& b, lanes<Real> const& c,
                                     lanes<Real> const& d) {
    side_by_side += square(a) + square(b) + square(c) + square(d);
  }
  template <class Real>
  [[nodiscard]] ACCRUE_ALWAYS_INLINE static lanes<double> square(lanes<Real> const& x) {
    lanes<double> const wide = lanes_as<double>(x);
    return wide * wide;
  }
#endif
  double rest = 0.0;

  KOKKOS_FUNCTION void add(double x) { rest += x * x; }
  KOKKOS_FUNCTION void add(float x) { add(static_cast<double>(x)); }

  [[nodiscard]] KOKKOS_FUNCTION double total() const {
#if ACCRUE_HAS_LANES
    lanes<double> const s = side_by_side + waiting;
    return (((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))) + rest;
#else
    return rest;
#endif
  }
};

/// Whether a sum of squares is what it should be: nothing overflowed or vanished, and every element is finite.
template <class T>
[[nodiscard]] KOKKOS_FUNCTION bool squares_hold(double sum) {
  return is_finite(sum) && (sizeof(T) < sizeof(double) || sum > 1e-280);
}

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

template <class T>
struct add_squares {
  static constexpr bool carries = true;
  square_sum squares{};
  KOKKOS_FUNCTION void operator()(std::int64_t, T const& x) { squares.add(widen(x)); }
#if ACCRUE_HAS_LANES
  ACCRUE_ALWAYS_INLINE void by_lanes(std::int64_t i, T const* x) requires(lane_scalar<T>) {
    squares.add(i, load_lanes(x));
  }
  ACCRUE_ALWAYS_INLINE void by_four_lanes(T const* x) requires(lane_scalar<T>) {
    squares.add_four(load_lanes(x), load_lanes(x + lane_count), load_lanes(x + 2 * lane_count),
                     load_lanes(x + 3 * lane_count));
  }
#endif
};

/// Sums powers over a worker's share; eight sums side by side, because one would wait for itself at every element.
template <class T, int Lanes>
struct add_powers {
  static constexpr bool carries = true;
  norm_order order;
  double sums[Lanes]{};
  double largest[Lanes]{};
  std::int32_t non_finite[Lanes]{};

  KOKKOS_FUNCTION void operator()(std::int64_t i, T const& x) {
    int const lane = static_cast<int>(i % Lanes);
    double const modulus = modulus_of(x);
    sums[lane] += order.power(modulus);
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
  double sum = 0.0;

  KOKKOS_FUNCTION void operator()(std::int64_t, T const& x) { sum += order.power(scaled(modulus_of(x))); }
};

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

/// A norm that a pass is to measure on the way, and where its total goes on the device.
struct norm_request {
  norm_order order{};
  norm_partial* total = nullptr;
  std::int64_t* workers_gone = nullptr;  ///< see exit_gate
  bool thoroughly = false;               ///< with the largest modulus
  explicit operator bool() const { return total != nullptr; }
};

/// What a pass that measures needs: the norm, and where its parts go, one for each chunk of the model.
struct measuring {
  norm_order order{};
  bool thoroughly = false;           ///< the largest modulus is wanted as well
  norm_partial* partials = nullptr;  ///< of the block; null where nothing is measured
  norm_partial const* all = nullptr;
  std::int64_t chunks = 0;
  norm_partial* total = nullptr;

  [[nodiscard]] KOKKOS_FUNCTION bool asked() const { return partials != nullptr; }
  [[nodiscard]] KOKKOS_FUNCTION bool by_squares() const { return asked() && order.p == 2.0 && !thoroughly; }

  /// This worker's part of the norm of a chunk.
  template <class T, class Worker>
  [[nodiscard]] KOKKOS_FUNCTION norm_partial share(strided const& view, chunk const& part, Worker worker) const {
    if constexpr (!is_complex_v<T>) {
      if (by_squares()) {
        double const sum = walk<T const>(view, part, worker, detail::add_squares<T>{}).squares.total();
        if (squares_hold<T>(sum)) return norm_partial{sum};
      }
    }
    return thorough_share<T>(view, part, worker);
  }

  /// The same for any order, with the largest modulus, and where squares do not hold.
  template <class T, class Worker>
  [[nodiscard]] KOKKOS_FUNCTION norm_partial thorough_share(strided const& view, chunk const& part,
                                                            Worker worker) const {
    constexpr int lanes = Worker::alone ? 8 : 1;
    auto const found = walk<T const>(view, part, worker, detail::add_powers<T, lanes>{order});
    norm_partial share;
    for (int lane = 0; lane < lanes; ++lane) {
      share.sum += found.sums[lane];
      share.largest = larger(share.largest, found.largest[lane]);
      share.non_finite |= found.non_finite[lane];
    }
    if (needs_rescaling(order, share)) {
      share.exponent = exponent_of(share.largest);
      share.sum = walk<T const>(view, part, worker, detail::add_rescaled_powers<T>{order, rescale(share.exponent)}).sum;
    }
    return share;
  }

  /// Enters the norm of a chunk, to which every worker of its team brings a share.
  template <class Worker>
  KOKKOS_FUNCTION void put(std::int64_t c, norm_partial share, Worker worker) const {
    worker.reduce(merge_partials{&share, order});
    if (worker.rank() == 0) partials[c] = share;
  }

  /// Adds up all chunks, once they are there: on a host in their order, on a device in a fixed tree.
  template <class Worker>
  KOKKOS_FUNCTION void total_up(Worker worker) const {
    norm_partial sum;
    for (std::int64_t c = worker.rank(); c < chunks; c += worker.size()) sum = merged(order, sum, all[c]);
    worker.reduce(merge_partials{&sum, order});
    if (worker.rank() == 0) *total = sum;
  }
};

/// Reads the views of scalar `T`: sums of powers and finite check, chunk by chunk; views without data give zero.
///
/// Guarantee: for a given machine and build, the norm does not depend on the number of threads.
template <class T>
struct measure_chunk {
  chunk const* chunks;
  strided const* views;
  std::uint8_t const* touched;  ///< may be null: all are
  double const* factor;         ///< what the elements of a view are to be multiplied by; may be null: 1
  std::int32_t scalar;
  bool takes_absent;  ///< this launch also writes zero for views that have no data of any scalar
  measuring measured;
  exit_gate gate;

  struct nothing {};
  [[nodiscard]] KOKKOS_FUNCTION nothing enter() const { return {}; }

  template <class Worker>
  KOKKOS_FUNCTION void operator()(nothing, std::int64_t c, Worker worker) const {
    chunk const part = chunks[c];
    strided const& view = views[part.view];
    if (view.scalar != scalar && !(takes_absent && view.scalar < 0)) return;
    bool const there = view.scalar == scalar && (touched == nullptr || touched[part.view] != 0);
    norm_partial share;
    if (there)
      share = times(measured.order, measured.share<T>(view, part, worker), factor == nullptr ? 1.0 : factor[part.view]);
    measured.put(c, share, worker);
  }
  template <class Worker>
  KOKKOS_FUNCTION void leave(Worker worker) const {
    measured.total_up(worker);
  }
};

}  // namespace accrue
#endif

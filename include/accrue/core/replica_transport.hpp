// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_REPLICA_TRANSPORT_HPP
#define ACCRUE_CORE_REPLICA_TRANSPORT_HPP

#include <accrue/core/slots.hpp>

#include <Kokkos_Core.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace accrue {

/// Gradients are those of this replica's own microbatches: their sums are summed over the replicas. The default.
struct local_gradients {
  static constexpr bool reduced = false;
  static constexpr bool averaged = false;
  static constexpr char const* name = "local_gradients";
};
/// A framework has summed them over the replicas already: every replica hands over the same ones, as `sum_gradient`.
struct summed_gradients {
  static constexpr bool reduced = true;
  static constexpr bool averaged = false;
  static constexpr char const* name = "summed_gradients";
};
/// The same, and divided by the number of replicas: they are multiplied by it again, nothing else divides by it.
struct averaged_gradients {
  static constexpr bool reduced = true;
  static constexpr bool averaged = true;
  static constexpr char const* name = "averaged_gradients";
};

template <class T>
concept gradient_arrival =
    std::same_as<T, local_gradients> || std::same_as<T, summed_gradients> || std::same_as<T, averaged_gradients>;

/// A policy for the slot replicas that brings several processes together. Every member, a process, makes the same calls
/// in the same order, and each call returns when this member has its result:
///
///     members(), member()              how many there are, and the number of this one, from 0
///     gather(mine, bytes, all)         the same number of bytes from each, in the order of the members, to all
///     sum(exec, first, count)          element by element over the members, in place; the same bits on all
///     largest(exec, first, count)      likewise the largest, of bytes below 128: MPICH 4.0 takes others for negative
///
/// `first` lies in memory of `exec`, and what was launched on it comes before; `gather` is of host memory. A failure is
/// an `accrue::error`. `arrival` says how gradients arrive.
template <class T>
concept replica_transport = fills_slot<T, slot::replicas> && gradient_arrival<typename T::arrival> &&
    requires(T const t, Kokkos::DefaultExecutionSpace const exec, std::byte const* mine, std::byte* all,
             std::size_t bytes, float* floats, double* doubles, std::uint8_t* numbers, std::int64_t count) {
  { t.members() } -> std::convertible_to<int>;
  { t.member() } -> std::convertible_to<int>;
  t.gather(mine, bytes, all);
  t.sum(exec, floats, count);
  t.sum(exec, doubles, count);
  t.largest(exec, numbers, count);
};

/// A transport that can leave each member with a part of a sum, and bring the parts of all together. What all hold lies
/// part by part in the order of the members, each of the same size:
///
///     sum_parts(exec, all, mine, count)    the sum of this member's part, `count` numbers, goes to `mine`
///     gather_parts(exec, all, bytes)       this member's part, so many bytes, goes to all; in place
///
/// Both arrays lie in memory of `exec`, and what was launched on it comes before.
template <class T>
concept sharding_transport = replica_transport<T> &&
    requires(T const t, Kokkos::DefaultExecutionSpace const exec, std::byte* bytes, float* floats, double* doubles,
             std::int64_t count) {
  t.sum_parts(exec, static_cast<float const*>(floats), floats, count);
  t.sum_parts(exec, static_cast<double const*>(doubles), doubles, count);
  t.gather_parts(exec, bytes, count);
};

/// Whether gradients arrive reduced over the replicas.
template <class T>
inline constexpr bool arrives_reduced_v = requires {
  requires T::arrival::reduced;
};
/// Whether replicas are several partners each.
template <class T>
concept has_partners = requires(T const t) {
  t.partners().members();
};
/// Whether sums go over while the last microbatch is still being added.
template <class T>
inline constexpr bool overlaps_v = requires {
  requires T::overlaps;
};
/// Whether each member keeps a part of the sums, and they go over with every microbatch.
template <class T>
inline constexpr bool shards_v = requires {
  requires T::shards;
};
/// Whether all replicas are of this process, and close together.
template <class T>
inline constexpr bool is_in_process_v = requires {
  requires T::in_process;
};

/// A policy for the slot replicas: one that says there are no others, or a transport.
template <class T>
concept replicas_policy = fills_slot<T, slot::replicas> &&((requires { requires T::alone; }) || replica_transport<T>);

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_REDUCE_IN_PROCESS_REPLICAS_HPP
#define ACCRUE_REDUCE_IN_PROCESS_REPLICAS_HPP

#include <accrue/core/replica_transport.hpp>
#include <accrue/core/slots.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace accrue {

/// Several accumulators of this process are the replicas: those that are given to `update_replicas` together.
///
/// For several devices under one thread, and to see on one machine what many would do. Each has its own parameters;
/// begin with equal values. `update()` of one alone does not compile. Example: examples/two_replicas
template <gradient_arrival Arrival = local_gradients>
struct in_process_replicas {
  using fills = slot::replicas;
  using arrival = Arrival;
  static constexpr std::string_view name = "in_process_replicas";
  static constexpr bool alone = false;
  static constexpr bool in_process = true;  ///< there are no others

  in_process_replicas() = default;
  explicit in_process_replicas(Arrival) {}

  template <class Visit>
  void settings(Visit&& visit) const {
    visit("gradients", std::string_view(Arrival::name));
  }

  [[nodiscard]] static int members() { return 1; }
  [[nodiscard]] static int member() { return 0; }
  static void gather(std::byte const* mine, std::size_t bytes, std::byte* all) {
    if (bytes > 0) std::memcpy(all, mine, bytes);
  }
  template <class Exec, class Real>
  static void sum(Exec const&, Real*, std::int64_t) {}
  template <class Exec>
  static void largest(Exec const&, std::uint8_t*, std::int64_t) {}

  friend bool operator==(in_process_replicas const&, in_process_replicas const&) = default;
};

static_assert(replicas_policy<in_process_replicas<>>);

}  // namespace accrue
#endif

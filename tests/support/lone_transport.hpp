// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_TESTS_SUPPORT_LONE_TRANSPORT_HPP
#define ACCRUE_TESTS_SUPPORT_LONE_TRANSPORT_HPP

#include <accrue/core/replica_transport.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace support {

/// As little as a transport may have whose members keep shards. There is one member, so nothing has to go anywhere.
struct lone_transport {
  using fills = accrue::slot::replicas;
  using arrival = accrue::local_gradients;
  static constexpr bool alone = false;

  [[nodiscard]] static int members() { return 1; }
  [[nodiscard]] static int member() { return 0; }
  static void gather(std::byte const* mine, std::size_t bytes, std::byte* all) { std::copy_n(mine, bytes, all); }
  template <class Exec, class Real>
  static void sum(Exec const&, Real*, std::int64_t) {}
  template <class Exec>
  static void largest(Exec const&, std::uint8_t*, std::int64_t) {}
  template <class Exec, class Real>
  static void sum_parts(Exec const& exec, Real const* all, Real* mine, std::int64_t count) {
    using unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
    Kokkos::deep_copy(exec, Kokkos::View<Real*, typename Exec::memory_space, unmanaged>(mine, std::size_t(count)),
                      Kokkos::View<Real const*, typename Exec::memory_space, unmanaged>(all, std::size_t(count)));
    exec.fence("support: the sum is there");
  }
  template <class Exec>
  static void gather_parts(Exec const&, std::byte*, std::int64_t) {}
  friend bool operator==(lone_transport const&, lone_transport const&) = default;
};
static_assert(accrue::sharding_transport<lone_transport>);

}  // namespace support

#endif

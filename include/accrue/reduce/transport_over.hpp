// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_REDUCE_TRANSPORT_OVER_HPP
#define ACCRUE_REDUCE_TRANSPORT_OVER_HPP

#include <accrue/core/replica_transport.hpp>
#include <accrue/core/slots.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace accrue {

/// A transport that stands on another one, and hands its calls on to it.
template <replica_transport Transport>
class transport_over {
 public:
  using fills = slot::replicas;
  using arrival = typename Transport::arrival;
  static constexpr bool alone = false;

  [[nodiscard]] int members() const { return below_.members(); }
  [[nodiscard]] int member() const { return below_.member(); }
  void gather(std::byte const* mine, std::size_t bytes, std::byte* all) const { below_.gather(mine, bytes, all); }
  template <class Exec, class Real>
  void sum(Exec const& exec, Real* first, std::int64_t count) const {
    below_.sum(exec, first, count);
  }
  template <class Exec>
  void largest(Exec const& exec, std::uint8_t* first, std::int64_t count) const {
    below_.largest(exec, first, count);
  }

  friend bool operator==(transport_over const&, transport_over const&) = default;

 protected:
  explicit transport_over(Transport below) : below_(std::move(below)) {}
  [[nodiscard]] Transport const& below() const { return below_; }

 private:
  Transport below_;
};

}  // namespace accrue
#endif

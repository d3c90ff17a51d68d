// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_REDUCE_NCCL_REPLICAS_HPP
#define ACCRUE_REDUCE_NCCL_REPLICAS_HPP

#include <accrue/core/error.hpp>
#include <accrue/core/replica_transport.hpp>
#include <accrue/core/slots.hpp>

#include <nccl.h>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace accrue {

namespace detail {
inline void require_nccl(ncclResult_t result, char const* call) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  throw error(joined({"accrue::nccl_replicas: ", call, " failed: ", ncclGetErrorString(result)}),
              "the replicas are no longer in the same place", "end the job, and go on from a saved state");
}
template <class T>
[[nodiscard]] constexpr ncclDataType_t nccl_type() {
  if constexpr (std::is_same_v<T, float>)
    return ncclFloat;
  else if constexpr (std::is_same_v<T, double>)
    return ncclDouble;
  else
    return ncclUint8;
}
}  // namespace detail

/// The ranks of an NCCL communicator hold the replicas, one CUDA device each: sums go from device to device.
///
/// The communicator is the caller's, made by `ncclCommInitRank`, and stays until the last accumulator is gone. Order:
/// as `mpi_replicas`; every call runs on the instance of the group. Guarantee: the same bits on all, as of
/// ncclAllReduce. Cost: as `mpi_replicas`, the small exchanges by way of the device; what is gathered has room on the
/// device that is allocated with the first group. Failure: `accrue::error` with the text of NCCL.
/// Example: `accrue::nccl_replicas<>(comm)`
template <gradient_arrival Arrival = local_gradients>
class nccl_replicas {
  using device = Kokkos::DefaultExecutionSpace;

 public:
  using fills = slot::replicas;
  using arrival = Arrival;
  static constexpr std::string_view name = "nccl_replicas";
  static constexpr bool alone = false;

  explicit nccl_replicas(ncclComm_t comm, Arrival = {}) : comm_(comm) {
    detail::require_nccl(ncclCommCount(comm, &members_), "ncclCommCount");
    detail::require_nccl(ncclCommUserRank(comm, &member_), "ncclCommUserRank");
  }

  template <class Visit>
  void settings(Visit&& visit) const {
    visit("gradients", std::string_view(Arrival::name));
  }

  [[nodiscard]] int members() const { return members_; }
  [[nodiscard]] int member() const { return member_; }

  void gather(std::byte const* mine, std::size_t bytes, std::byte* all) const {
    using unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
    std::size_t const whole = bytes * static_cast<std::size_t>(members_);
    if (room_.size() < whole + bytes) room_ = bytes_on_device("accrue::reduce::gathered", whole + bytes);
    device const exec;
    Kokkos::View<std::byte const*, Kokkos::HostSpace, unmanaged> const from(mine, bytes);
    Kokkos::View<std::byte*, Kokkos::HostSpace, unmanaged> const to(all, whole);
    auto const own = Kokkos::subview(room_, Kokkos::pair<std::size_t, std::size_t>(whole, whole + bytes));
    auto const gathered = Kokkos::subview(room_, Kokkos::pair<std::size_t, std::size_t>(0, whole));
    Kokkos::deep_copy(exec, own, from);
    detail::require_nccl(ncclAllGather(own.data(), gathered.data(), bytes, ncclUint8, comm_, stream_of(exec)),
                         "ncclAllGather");
    Kokkos::deep_copy(exec, to, gathered);
    exec.fence("accrue::reduce: read what was gathered");
  }
  template <class Exec, class Real>
  void sum(Exec const& exec, Real* first, std::int64_t count) const {
    reduce(exec, first, count, ncclSum);
  }
  template <class Exec>
  void largest(Exec const& exec, std::uint8_t* first, std::int64_t count) const {
    reduce(exec, first, count, ncclMax);
  }

  template <class Exec, class Real>
  void sum_parts(Exec const& exec, Real const* all, Real* mine, std::int64_t count) const {
    detail::require_nccl(ncclReduceScatter(all, mine, static_cast<std::size_t>(count), detail::nccl_type<Real>(),
                                           ncclSum, comm_, stream_of(exec)),
                         "ncclReduceScatter");
    exec.fence("accrue::reduce: the sum is there");
  }
  template <class Exec>
  void gather_parts(Exec const& exec, std::byte* all, std::int64_t bytes) const {
    detail::require_nccl(
        ncclAllGather(all + bytes * member_, all, static_cast<std::size_t>(bytes), ncclUint8, comm_, stream_of(exec)),
        "ncclAllGather");
    exec.fence("accrue::reduce: all parts are there");
  }

  friend bool operator==(nccl_replicas const& a, nccl_replicas const& b) { return a.comm_ == b.comm_; }

 private:
  using bytes_on_device = Kokkos::View<std::byte*, typename device::memory_space>;

  template <class Exec>
  [[nodiscard]] static auto stream_of(Exec const& exec) {
    if constexpr (requires { exec.cuda_stream(); })
      return exec.cuda_stream();
    else
      return exec.hip_stream();
  }
  template <class Exec, class T>
  void reduce(Exec const& exec, T* first, std::int64_t count, ncclRedOp_t op) const {
    detail::require_nccl(ncclAllReduce(first, first, static_cast<std::size_t>(count), detail::nccl_type<T>(), op, comm_,
                                       stream_of(exec)),
                         "ncclAllReduce");
    exec.fence("accrue::reduce: the sum is there");
  }

  ncclComm_t comm_;
  int members_ = 1;
  int member_ = 0;
  mutable bytes_on_device room_;
};

}  // namespace accrue
#endif

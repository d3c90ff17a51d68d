// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_REDUCE_MPI_REPLICAS_HPP
#define ACCRUE_REDUCE_MPI_REPLICAS_HPP

#include <accrue/core/communication.hpp>
#include <accrue/core/device_array.hpp>
#include <accrue/core/error.hpp>
#include <accrue/core/replica_transport.hpp>
#include <accrue/core/slots.hpp>

#include <mpi.h>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace accrue {

namespace detail {

inline void require_mpi(int code, char const* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw error(
      joined({"accrue::mpi_replicas: ", call, " failed: ", std::string_view(text, static_cast<std::size_t>(length))}),
      "the replicas are no longer in the same place", "end the job, and go on from a saved state");
}

template <class T>
[[nodiscard]] MPI_Datatype mpi_type() {
  if constexpr (std::is_same_v<T, float>)
    return MPI_FLOAT;
  else if constexpr (std::is_same_v<T, double>)
    return MPI_DOUBLE;
  else
    return MPI_UINT8_T;
}

/// A communicator of our own, freed with the last copy of the policy, if MPI is still there.
class mpi_group {
 public:
  explicit mpi_group(MPI_Comm of) {
    int initialized = 0;
    MPI_Initialized(&initialized);
    if (initialized == 0)
      throw error("accrue::mpi_replicas: MPI is not initialized", "there is no communicator",
                  "call MPI_Init before, and MPI_Finalize after the last accumulator is gone");
    require_mpi(MPI_Comm_dup(of, &comm_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    require_mpi(MPI_Comm_size(comm_, &members_), "MPI_Comm_size");
    require_mpi(MPI_Comm_rank(comm_, &member_), "MPI_Comm_rank");
    MPI_Comm here = MPI_COMM_NULL;
    require_mpi(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here), "MPI_Comm_split_type");
    require_mpi(MPI_Comm_size(here, &members_here_), "MPI_Comm_size");
    MPI_Comm_free(&here);
  }
  mpi_group(mpi_group const&) = delete;
  mpi_group& operator=(mpi_group const&) = delete;
  ~mpi_group() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0) MPI_Comm_free(&comm_);
  }

  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] int members() const { return members_; }
  [[nodiscard]] int member() const { return member_; }
  [[nodiscard]] int members_here() const { return members_here_; }

  /// Makes a call of MPI, and notes what it took.
  template <class Call>
  void spend(char const* name, std::size_t bytes, Call const& call) {
    auto const begin = std::chrono::steady_clock::now();
    int const code = call();
    spent.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    ++spent.calls;
    spent.bytes += static_cast<std::int64_t>(bytes);
    require_mpi(code, name);
  }

  communication spent;
  std::vector<std::byte> on_host;  ///< where MPI cannot read the device's memory

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int members_ = 1;
  int member_ = 0;
  int members_here_ = 1;
};

/// Whether MPI reads and writes the memory of CUDA or HIP devices.
[[nodiscard]] inline bool mpi_reads_devices() {
#if defined(MPIX_CUDA_AWARE_SUPPORT) && MPIX_CUDA_AWARE_SUPPORT && defined(KOKKOS_ENABLE_CUDA)
  return MPIX_Query_cuda_support() == 1;
#elif defined(MPIX_ROCM_AWARE_SUPPORT) && MPIX_ROCM_AWARE_SUPPORT && defined(KOKKOS_ENABLE_HIP)
  return MPIX_Query_rocm_support() == 1;
#else
  return false;
#endif
}

}  // namespace detail

/// The processes of an MPI communicator hold the replicas: one each, or those that they give to `update_replicas`.
///
/// Order: every process closes the same groups, with `update()` while it has data and one `end_of_data()` after, which
/// returns when all have ended; nothing is sent inside a group. Give the communicator of data parallelism: partners in
/// tensor or pipeline parallelism are no replicas. Guarantee: all of them take the same decision and keep equal
/// parameters, as far as MPI_Allreduce gives the same bits to all, as its implementations do for one communicator.
/// Cost: a group is two small messages of 512 and 48 bytes from each and a sum of the buffer, in pieces of 4 MiB, in
/// which other processes are waited for; a fence before each; on a device through the host, unless MPI reads its
/// memory. A communicator of its own; constructing it is a call that all processes make. Failure: `accrue::error` with
/// the text of MPI, and on all processes where replicas do not agree. A process that throws while others wait has to
/// end the job. Example: examples/mpi_images
template <gradient_arrival Arrival = local_gradients>
class mpi_replicas {
 public:
  using fills = slot::replicas;
  using arrival = Arrival;
  static constexpr std::string_view name = "mpi_replicas";
  static constexpr bool alone = false;

  explicit mpi_replicas(MPI_Comm comm = MPI_COMM_WORLD, Arrival = {})
      : group_(std::make_shared<detail::mpi_group>(comm)) {}

  template <class Visit>
  void settings(Visit&& visit) const {
    visit("gradients", std::string_view(Arrival::name));
  }

  /// What was spent so far, by all copies of this policy.
  [[nodiscard]] communication spent() const { return group_->spent; }
  /// Whether sums go from device to device without the host; decided when MPI was built.
  [[nodiscard]] static bool reads_devices() { return detail::mpi_reads_devices(); }

  /// Failure: `accrue::error` where MPI may not be called from another thread.
  static void require_threads() {
    int provided = MPI_THREAD_SINGLE;
    detail::require_mpi(MPI_Query_thread(&provided), "MPI_Query_thread");
    if (provided < MPI_THREAD_SERIALIZED)
      throw error("accrue::mpi_replicas: MPI may be called from one thread only",
                  "another one sends while this one adds",
                  "begin with MPI_Init_thread(..., MPI_THREAD_SERIALIZED, ...)");
  }

  [[nodiscard]] int members() const { return group_->members(); }
  [[nodiscard]] int member() const { return group_->member(); }
  /// How many of them share the memory of this machine.
  [[nodiscard]] int members_here() const { return group_->members_here(); }

  void gather(std::byte const* mine, std::size_t bytes, std::byte* all) const {
    int const count = in_int(static_cast<std::int64_t>(bytes));
    group_->spend("MPI_Allgather", bytes,
                  [&] { return MPI_Allgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, group_->comm()); });
  }
  template <class Exec, class Real>
  void sum(Exec const& exec, Real* first, std::int64_t count) const {
    reduce(exec, first, count, MPI_SUM);
  }
  template <class Exec>
  void largest(Exec const& exec, std::uint8_t* first, std::int64_t count) const {
    reduce(exec, first, count, MPI_MAX);
  }

  template <class Exec, class Real>
  void sum_parts(Exec const& exec, Real const* all, Real* mine, std::int64_t count) const {
    // Not MPI_Reduce_scatter_block: that of OpenMPI 4.1 takes fifty times as long.
    std::vector<int> const counts(static_cast<std::size_t>(members()), in_int(count));
    auto const bytes = static_cast<std::size_t>(count * members()) * sizeof(Real);
    within_reach(exec, const_cast<Real*>(all), count * members(), mine, count, [&](Real const* from, Real* to) {
      group_->spend("MPI_Reduce_scatter", bytes, [&] {
        return MPI_Reduce_scatter(from, to, counts.data(), detail::mpi_type<Real>(), MPI_SUM, group_->comm());
      });
    });
  }
  template <class Exec>
  void gather_parts(Exec const& exec, std::byte* all, std::int64_t bytes) const {
    int const here = in_int(bytes);
    within_reach(exec, all, bytes * members(), all, bytes * members(), [&](std::byte const*, std::byte* to) {
      group_->spend("MPI_Allgather", static_cast<std::size_t>(bytes),
                    [&] { return MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, to, here, MPI_BYTE, group_->comm()); });
    });
  }

  friend bool operator==(mpi_replicas const& a, mpi_replicas const& b) { return a.group_ == b.group_; }

 private:
  template <class Exec, class T>
  void reduce(Exec const& exec, T* first, std::int64_t count, MPI_Op op) const {
    within_reach(exec, first, count, first, count, [&](T const*, T* here) { reduce_in_place(here, count, op); });
  }
  /// Calls `call(from, to)` with arrays that MPI reads: these, or copies on the host.
  template <class Exec, class T, class Call>
  void within_reach(Exec const& exec, T* from, std::int64_t sent, T* to, std::int64_t received,
                    Call const& call) const {
    exec.fence("accrue::reduce: MPI reads what was launched");
    if (runs_on_host_v<Exec> || detail::mpi_reads_devices()) return call(from, to);
    bool const in_place = from == to;
    auto const bytes = static_cast<std::size_t>(in_place ? sent : sent + received) * sizeof(T);
    if (group_->on_host.size() < bytes) group_->on_host.resize(bytes);
    T* const here = reinterpret_cast<T*>(group_->on_host.data());
    T* const result = in_place ? here : here + sent;
    using unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
    using on_host = Kokkos::View<T*, Kokkos::HostSpace, unmanaged>;
    using on_device = Kokkos::View<T*, typename Exec::memory_space, unmanaged>;
    Kokkos::deep_copy(exec, on_host(here, static_cast<std::size_t>(sent)),
                      on_device(from, static_cast<std::size_t>(sent)));
    exec.fence("accrue::reduce: the sums are on the host");
    call(here, result);
    Kokkos::deep_copy(exec, on_device(to, static_cast<std::size_t>(received)),
                      on_host(result, static_cast<std::size_t>(received)));
    exec.fence("accrue::reduce: the sums are on the device");
  }
  [[nodiscard]] static int in_int(std::int64_t count) {
    if (count > std::int64_t{std::numeric_limits<int>::max()})
      throw error("accrue::mpi_replicas: more than 2 GiB from one process in one call", "MPI counts in int",
                  "send less at a time");
    return static_cast<int>(count);
  }
  /// In as many calls as the int in which MPI counts asks for.
  template <class T>
  void reduce_in_place(T* first, std::int64_t count, MPI_Op op) const {
    constexpr std::int64_t most = std::int64_t{1} << 30;
    for (std::int64_t done = 0; done < count; done += most) {
      auto const here = static_cast<int>(std::min(most, count - done));
      group_->spend("MPI_Allreduce", static_cast<std::size_t>(here) * sizeof(T), [&] {
        return MPI_Allreduce(MPI_IN_PLACE, first + done, here, detail::mpi_type<T>(), op, group_->comm());
      });
    }
  }

  std::shared_ptr<detail::mpi_group> group_;
};

static_assert(replicas_policy<mpi_replicas<>> && sharding_transport<mpi_replicas<>>);

}  // namespace accrue
#endif

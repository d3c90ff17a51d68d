// The threads that update would write memory that they cannot reach.
// expected-error: accrue::accumulator: the execution space cannot reach a parameter's memory: construct it with an
#include <accrue/accrue.hpp>

// Memory that no host thread can read, on any machine.
struct far_memory {
  using memory_space = far_memory;
  using execution_space = Kokkos::DefaultHostExecutionSpace;
  using device_type = Kokkos::Device<execution_space, far_memory>;
  using size_type = std::size_t;
  static constexpr char const* name() { return "far"; }
};

void use(Kokkos::View<float*, Kokkos::HostSpace> theta, Kokkos::View<float*, Kokkos::HostSpace> gradient,
         Kokkos::View<float*, far_memory, Kokkos::MemoryUnmanaged> far) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(far), accrue::per_token{}, accrue::keep_last{}, accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::keep_last{}, accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
  (void)group.end_of_data();
}

// The threads that add would read memory that they cannot reach.
// expected-error: accrue: the accumulator's execution space cannot reach a gradient's memory: copy it there
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
         Kokkos::View<float*, far_memory, Kokkos::MemoryUnmanaged> far_gradient) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{});
#ifdef ACCRUE_TEST_ERROR
  group.accumulate(accrue::mean_gradient{far_gradient}, accrue::tokens{512});
#else
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
#endif
  (void)group.update();
}

// An observer that cannot be copied is handed over by reference.
// expected-error: accrue::accumulator: an observer is kept by value, and this one can be neither copied nor moved
#include <accrue/accrue.hpp>

#include <functional>

struct progress {
  progress() = default;
  progress(progress const&) = delete;
  void group_recorded(accrue::record const&) {}
};

void use(Kokkos::View<float*> theta, progress& bar) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{});
#ifdef ACCRUE_TEST_ERROR
  group.observe(bar);
#else
  group.observe(std::ref(bar));
#endif
}

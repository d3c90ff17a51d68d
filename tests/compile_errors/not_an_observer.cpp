// A function of another name is called at no moment.
// expected-error: accrue::accumulator: an observer has a function for at least one moment: microbatch_accumulated,
#include <accrue/accrue.hpp>

struct progress {
#ifdef ACCRUE_TEST_ERROR
  void on_record(accrue::record const&) {}
#else
  void group_recorded(accrue::record const&) {}
#endif
};

void use(Kokkos::View<float*> theta) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{});
  group.observe(progress{});
}

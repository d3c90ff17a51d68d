// How many microbatches are missing, only a boundary in microbatches knows.
// expected-error: accrue::accumulator: pad_last divides as if the last group had all its microbatches: it needs the
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::at_least{accrue::samples{64}},
                            accrue::pad_last{}, accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::every{16}, accrue::pad_last{},
                            accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512}, accrue::samples{8});
  (void)group.update();
  (void)group.end_of_data();
}

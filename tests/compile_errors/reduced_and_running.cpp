// Each replica would rescale by its own counts, and they would drift apart.
// expected-error: accrue::accumulator: running divides by what this replica counted, and gradients that arrive reduced
#include <accrue/accrue.hpp>
#include <accrue/replicas.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::running const division;
#else
  accrue::late const division;
#endif
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, division,
                            accrue::in_process_replicas{accrue::summed_gradients{}}, accrue::sgd{});
  group.accumulate(accrue::sum_gradient{gradient}, accrue::tokens{512});
  (void)accrue::update_replicas(group);
}

// What compensated carries for doubles has more bits than a message of doubles.
// expected-error: accrue::accumulator: this summation does not say how its sums go to other replicas
#include <accrue/accrue.hpp>
#include <accrue/replicas.hpp>

void use(Kokkos::View<float*> floats, Kokkos::View<double*> doubles, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  Kokkos::View<double*> const theta = doubles;
  (void)floats;
#else
  Kokkos::View<float*> const theta = floats;
  (void)doubles;
#endif
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::compensated{},
                            accrue::in_process_replicas<>{}, accrue::sgd{});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)accrue::update_replicas(group);
}

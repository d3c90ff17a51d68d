// Rows are named by integers.
// expected-error: accrue: accrue::rows(indices, values) takes a view of integers of rank 1
#include <accrue/accrue.hpp>

void use(Kokkos::View<float**> theta, Kokkos::View<float**> rows, Kokkos::View<float*> numbers,
         Kokkos::View<int*> indices) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{});
  (void)numbers, (void)indices;
#ifdef ACCRUE_TEST_ERROR
  group.accumulate(accrue::mean_gradient{accrue::rows(numbers, rows)}, accrue::tokens{512});
#else
  group.accumulate(accrue::mean_gradient{accrue::rows(indices, rows)}, accrue::tokens{512});
#endif
}

// The doctor compares whole gradients.
// expected-error: accrue::doctor: a gradient of the parameter's shape is compared number by number
#include <accrue/doctor/microbatch.hpp>

accrue::doctor::microbatch examined(Kokkos::View<int*> indices, Kokkos::View<float**> values) {
#ifdef ACCRUE_TEST_ERROR
  return accrue::doctor::microbatch(accrue::mean_gradient{accrue::rows(indices, values)}, accrue::tokens{512});
#else
  (void)indices;
  return accrue::doctor::microbatch(accrue::mean_gradient{values}, accrue::tokens{512});
#endif
}

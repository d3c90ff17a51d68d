// A producer gets a target for each parameter.
// expected-error: accrue: mean_written_by and sum_written_by take a function f(exec, target, ...)
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> bias) {
  accrue::accumulator group(accrue::parameters(theta, bias), accrue::per_token{}, accrue::sgd{});
#ifdef ACCRUE_TEST_ERROR
  group.accumulate(accrue::mean_written_by{[](auto const&, auto const&) {}}, accrue::tokens{512});
#else
  group.accumulate(accrue::mean_written_by{[](auto const&, auto const&, auto const&) {}}, accrue::tokens{512});
#endif
}

// The state of the rule is laid out at construction, so the type stays.
// expected-error: accrue::accumulator: change_rule() takes another value of the update policy given at construction, of
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::adamw{});
#ifdef ACCRUE_TEST_ERROR
  group.change_rule(accrue::sgd{.learning_rate = 5e-4});
#else
  group.change_rule(accrue::adamw{.learning_rate = 5e-4});
#endif
}

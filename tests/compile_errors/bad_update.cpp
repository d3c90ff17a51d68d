// The rule does not say what state it keeps.
// expected-error: accrue::accumulator: the update policy does not satisfy accrue::update_policy: it needs state_words()
#include <accrue/accrue.hpp>

struct sign_descent {
  using fills = accrue::slot::update;
  struct rule {
    template <class T, class State>
    KOKKOS_FUNCTION void operator()(T& theta, T const& gradient, State const&) const {
      theta -= gradient > T(0) ? T(1) : T(-1);
    }
  };
#ifndef ACCRUE_TEST_ERROR
  int state_words() const { return 0; }
#endif
  template <class Real>
  KOKKOS_FUNCTION rule for_update(std::int64_t) const {
    return {};
  }
};

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::keep_last{}, sign_descent{});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
  (void)group.end_of_data();
}

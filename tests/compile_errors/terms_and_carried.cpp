// A compensated sum carries more than the sums, for one buffer.
// expected-error: accrue::accumulator: with late division every named term has plain sums of its own: sum with
// accrue::widened
#include <accrue/accrue.hpp>

struct lm;
struct aux;

struct carries : accrue::widened<> {
  template <class Real>
  using carry = Real;
};

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(
      accrue::parameters(theta),
      accrue::terms(accrue::term<lm>(accrue::per_token{}), accrue::term<aux>(accrue::per_microbatch{}, 0.01)),
      carries{}, accrue::sgd{});
  group.accumulate(accrue::of<lm>(accrue::mean_gradient{gradient}), accrue::tokens{512});
#else
  accrue::accumulator group(
      accrue::parameters(theta),
      accrue::terms(accrue::term<lm>(accrue::per_token{}), accrue::term<aux>(accrue::per_microbatch{}, 0.01)),
      accrue::widened<>{}, accrue::sgd{});
  group.accumulate(accrue::of<lm>(accrue::mean_gradient{gradient}), accrue::tokens{512});
#endif
  (void)group.update();
}

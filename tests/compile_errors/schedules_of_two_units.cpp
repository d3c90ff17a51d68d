// One part goes by updates, the next by tokens.
// expected-error: accrue::schedule::sequence: its parts go by different units
#include <accrue/accrue.hpp>

double use() {
#ifdef ACCRUE_TEST_ERROR
  accrue::tokens const rest{1000};
#else
  accrue::updates const rest{1000};
#endif
  accrue::schedule::sequence const rate(accrue::schedule::warm_up(accrue::updates{100}),
                                        accrue::schedule::cosine(rest));
  return rate.factor(0);
}

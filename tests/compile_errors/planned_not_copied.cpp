// A plan's answer has to be a value that a constant expression can hold and copy.
// expected-error: accrue::plan::planned: an answer is copied freely: take trivially copyable types
#include <accrue/plan/plan.hpp>

#include <string>

#ifdef ACCRUE_TEST_ERROR
using answer = accrue::plan::planned<std::string>;
#else
using answer = accrue::plan::planned<int>;
#endif

bool reached(answer const& planned) { return static_cast<bool>(planned); }

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A restart where memory is a device's: copies, a kernel for views that are not contiguous, and tables that are sent.
#include <accrue/core/device_array.hpp>

template <>
inline constexpr bool accrue::runs_on_host_v<Kokkos::DefaultHostExecutionSpace> = false;

#include "support/host.hpp"

#include <accrue/accrue.hpp>
#include <accrue/restart.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <sstream>
#include <string>
#include <vector>

using namespace accrue;
using support::fill;
using support::values;

TEST_CASE("device path: interrupted after any microbatch, a run with strided views ends in the same bits") {
  using matrix = Kokkos::View<bfloat16**, Kokkos::LayoutStride, Kokkos::HostSpace>;
  using array = Kokkos::View<double*, Kokkos::HostSpace>;
  auto const run = [](int at) {
    Kokkos::View<bfloat16**, Kokkos::HostSpace> const whole("whole", 4, 6);
    matrix const a = Kokkos::subview(whole, Kokkos::ALL, Kokkos::pair<int, int>(1, 4));
    array const b("b", 5), gb("gb", 5);
    Kokkos::View<float**, Kokkos::LayoutLeft, Kokkos::HostSpace> const ga("ga", 4, 3);
    auto const fresh = [&] {
      return accumulator(parameters(a, b), per_microbatch{}, every{3}, keep_last{},
                         clip_by_global_norm{.max_norm = 1.0}, adamw{.learning_rate = 0.1});
    };
    auto group = fresh();
    for (int m = 0; m < 8; ++m) {
      if (m == at) {
        std::stringstream file;
        save(group, file);
        Kokkos::deep_copy(whole, bfloat16(9.0f)), Kokkos::deep_copy(b, -1.0);
        group = fresh();
        load(group, file);
        CHECK(values(whole)[0] == 9.0f);  // not a parameter
      }
      support::value_list<decltype(ga)> of_a;
      for (int i = 0; i < 12; ++i) of_a.push_back(static_cast<float>(i * i - 7 * m) / 3.0f);
      fill(ga, of_a), Kokkos::deep_copy(gb, 0.3 * m);
      if (m % 2 == 0)
        group.accumulate(mean_gradient{ga, gb});
      else
        group.accumulate(mean_gradient{ga, no_gradient});
      if (group.full()) group.update();
    }
    std::ostringstream end;
    save(group, end);
    return end.str();
  };
  std::string const expected = run(-1);
  for (int at = 0; at < 8; ++at) CHECK((run(at) == expected));
}

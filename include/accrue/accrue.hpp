// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_ACCRUE_HPP
#define ACCRUE_ACCRUE_HPP

// Everything that needs only Kokkos. Eigen, raw pointers and mdspan have headers of their own under accrue/interop/.

#include <accrue/accumulate/compensated.hpp>
#include <accrue/accumulate/order_independent.hpp>
#include <accrue/accumulator.hpp>
#include <accrue/finalize/clip_by_global_norm.hpp>
#include <accrue/finalize/clip_by_value.hpp>
#include <accrue/finalize/dynamic_scale.hpp>
#include <accrue/finalize/shared_scale.hpp>
#include <accrue/ledger/csv.hpp>
#include <accrue/plan/plan.hpp>
#include <accrue/update/adam.hpp>
#include <accrue/update/momentum.hpp>
#include <accrue/update/per_element.hpp>
#include <accrue/update/scheduled.hpp>
#include <accrue/update/sgd.hpp>
#include <accrue/update/with_gradient.hpp>
#include <accrue/update_together.hpp>
#include <accrue/version.hpp>

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_ACCUMULATE_ADD_MICROBATCH_HPP
#define ACCRUE_ACCUMULATE_ADD_MICROBATCH_HPP

#include <accrue/accumulate/gate.hpp>
#include <accrue/accumulate/holding.hpp>
#include <accrue/accumulate/weigh.hpp>
#include <accrue/core/device_scalars.hpp>
#include <accrue/core/diagnostics.hpp>
#include <accrue/core/facts.hpp>
#include <accrue/core/launch_once.hpp>
#include <accrue/core/open_group.hpp>

#include <Kokkos_Core.hpp>
#include <string>
#include <type_traits>

namespace accrue {

/// Launches what adds the microbatches that are held: one pass, or a read and a pass where the clip placed on the
/// microbatch looks at its norm. `clip` is a null pointer where there is none. A norm that is `wanted` is the group's,
/// with these microbatches in it.
template <class Contribution, int Sets, class Exec, class Model, class MicrobatchClip, class NormRequest>
void add_microbatches(Exec const& exec, Model& model, device_scalars<Exec> const& scalars,
                      held_contributions<Sets> const& held, MicrobatchClip const& clip, NormRequest const& wanted) {
  static std::string const label = "accrue::accumulate::sum";
  auto const& weights = held.weights();
  if constexpr (std::is_null_pointer_v<MicrobatchClip>) {
    auto const weigh = [&]<class B>(std::type_identity<B>, int set) {
      return weigh_plainly<B>{static_cast<real_t<B>>(weights[static_cast<std::size_t>(set)].product)};
    };
    model.template add<Contribution>(label, exec, held.count(), weigh, wanted);
  } else if constexpr (MicrobatchClip::by_norm) {
    norm_order const order{clip.norm_order()};
    group_scalars* const on_device = scalars.data();
    model.template measure_held<Contribution>("accrue::accumulate::microbatch_norm", exec,
                                              NormRequest{order, &on_device->total, &on_device->workers_gone});
    auto const weigh = [&]<class B>(std::type_identity<B>, int) {
      return weigh_clipped_by_norm<B, MicrobatchClip>{weights[0], clip, order, &on_device->total};
    };
    model.template add<Contribution>(label, exec, held.count(), weigh, wanted);
  } else {
    auto const weigh = [&]<class B>(std::type_identity<B>, int) {
      return weigh_bounded<B, MicrobatchClip>{weights[0], clip};
    };
    model.template add<Contribution>(label, exec, held.count(), weigh, wanted);
  }
}

/// Adds a microbatch's loss to the group's, weighed as its gradient is: c_i for a mean, 1 for a sum. Other facts pass.
template <class Exec, class Total, class Fact>
void add_loss_of(Exec const& exec, device_scalars<Exec> const& scalars, group_loss<Total>& sum, Fact const& fact,
                 double count) {
  if constexpr (loss_fact<Fact>) {
    if (is_mean_loss_v<Fact> && count == 0.0) {  // a mean over nothing: 0/0 on the user's side
      ++sum.reported;
      return;
    }
    double const weight = is_mean_loss_v<Fact> ? count : 1.0;
    ++sum.reported;
    using value = std::remove_cvref_t<decltype(fact.value)>;
    if constexpr (Kokkos::is_view_v<value>) {
      constexpr bool one = value::rank() == 0;
      static_assert(one, ACCRUE_SAY_LOSS_RANK);
      if constexpr (one)
        launch_once("accrue::accumulate::loss", exec,
                    add_loss<value>{fact.value, weight, &scalars.data()->loss, !sum.on_device});
      sum.on_device = true;
    } else {
      sum.on_host += weight * static_cast<double>(fact.value);
    }
  }
}

}  // namespace accrue
#endif

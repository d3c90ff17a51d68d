// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_ACCUMULATE_ADD_MICROBATCH_HPP
#define ACCRUE_ACCUMULATE_ADD_MICROBATCH_HPP

#include <accrue/accumulate/gate.hpp>
#include <accrue/accumulate/holding.hpp>
#include <accrue/accumulate/look_at_microbatch.hpp>
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

/// How microbatches are looked at before they are added.
template <class Clip, bool Rejects>
struct microbatch_gate {
  static constexpr bool rejects = Rejects;
  Clip const& clip;                   ///< on the microbatch; a null pointer where there is none
  float const* loss_scale = nullptr;  ///< on the device; null for 1
  double largest_norm = 0.0;          ///< of one that is let through, where some are rejected
  microbatch_entry entry{};
  rejection_notes notes{};
};

namespace detail {

template <class Clip>
[[nodiscard]] constexpr bool clips_by_norm() {
  if constexpr (std::is_null_pointer_v<Clip>)
    return false;
  else
    return Clip::by_norm;
}

/// Measures the microbatch that is held, and settles whether it is let through.
template <class Contribution, class Exec, class Model, int Sets, class Gate, class NormRequest>
void look_at_held(Exec const& exec, Model& model, group_scalars* on_device, held_contributions<Sets> const& held,
                  Gate const& gate, NormRequest const& measured) {
  model.template measure_held<Contribution>("accrue::accumulate::microbatch_norm", exec, measured);
  if constexpr (Gate::rejects) {
    using policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
    auto const views = static_cast<std::int64_t>(model.directory().size());
    Kokkos::parallel_for(
        "accrue::accumulate::gate", policy(exec, 0, views),
        look_at_microbatch{&on_device->total, measured.order, held.weights()[0], gate.loss_scale, gate.largest_norm,
                           model.tables().gradients(0), model.gated_touch(), gate.entry, &on_device->gate, gate.notes,
                           std::is_null_pointer_v<std::remove_cvref_t<decltype(gate.clip)>>});
  }
}

}  // namespace detail

/// Launches what adds the microbatches that are held: one pass, or a read and a pass where the norm of a microbatch is
/// looked at first. A norm that is `wanted` is the group's, with these microbatches in it. Of
/// one piece of the sums, where it is given: only sums then, nobody is looked at.
template <class Contribution, class Piece, int Sets, class Exec, class Model, class Gate, class NormRequest>
void add_microbatches(Exec const& exec, Model& model, device_scalars<Exec> const& scalars,
                      held_contributions<Sets> const& held, Gate const& gate, NormRequest const& wanted,
                      Piece const* only = nullptr) {
  static std::string const label = "accrue::accumulate::sum";
  using clip_type = std::remove_cvref_t<decltype(gate.clip)>;
  constexpr bool by_norm = detail::clips_by_norm<clip_type>();
  auto const& weights = held.weights();
  group_scalars* const on_device = scalars.data();
  norm_order order{};
  if constexpr (by_norm) order = norm_order{gate.clip.norm_order()};
  if constexpr (by_norm || Gate::rejects)
    detail::look_at_held<Contribution>(exec, model, on_device, held, gate,
                                       NormRequest{order, &on_device->total, &on_device->workers_gone});
  std::int32_t const* const rejects = Gate::rejects ? &on_device->gate.rejects : nullptr;

  if constexpr (std::is_null_pointer_v<clip_type>) {
    auto const weigh = [&]<class B>(std::type_identity<B>, int set) {
      return weigh_plainly<B>{static_cast<real_t<B>>(weights[static_cast<std::size_t>(set)].product)};
    };
    model.template add<Contribution>(label, exec, held.count(), weigh, wanted, rejects, only);
  } else if constexpr (by_norm) {
    auto const weigh = [&]<class B>(std::type_identity<B>, int) {
      return weigh_clipped_by_norm<B, clip_type>{weights[0], gate.clip, order, &on_device->total, gate.loss_scale};
    };
    model.template add<Contribution>(label, exec, held.count(), weigh, wanted, rejects, only);
  } else {
    auto const weigh = [&]<class B>(std::type_identity<B>, int) {
      return weigh_bounded<B, clip_type>{weights[0], gate.clip, gate.loss_scale};
    };
    model.template add<Contribution>(label, exec, held.count(), weigh, wanted, rejects, only);
  }
}

/// Adds a microbatch's loss to the group's, weighed as its gradient is: c_i for a mean, 1 for a sum. Other facts pass.
/// Where microbatches may be rejected all losses are added on the device, which knows.
template <bool Rejects, class Exec, class Total, class Fact>
void add_loss_of(Exec const& exec, device_scalars<Exec> const& scalars, group_loss<Total>& sum, Fact const& fact,
                 double count) {
  if constexpr (loss_fact<Fact>) {
    ++sum.reported;
    if (is_mean_loss_v<Fact> && count == 0.0) return;  // a mean over nothing: 0/0 on the user's side
    double const weight = is_mean_loss_v<Fact> ? count : 1.0;
    std::int32_t const* const rejects = Rejects ? &scalars.data()->gate.rejects : nullptr;
    auto const add_on_device = [&]<class Loss>(Loss const& loss) {
      launch_once("accrue::accumulate::loss", exec,
                  add_loss<Loss>{loss, weight, &scalars.data()->loss, !sum.on_device, rejects});
      sum.on_device = true;
    };
    using value = std::remove_cvref_t<decltype(fact.value)>;
    if constexpr (Kokkos::is_view_v<value>) {
      constexpr bool one = value::rank() == 0;
      static_assert(one, ACCRUE_SAY_LOSS_RANK);
      if constexpr (one) add_on_device(fact.value);
    } else if constexpr (Rejects) {
      add_on_device(loss_number{static_cast<double>(fact.value)});
    } else {
      sum.on_host += weight * static_cast<double>(fact.value);
    }
  }
}

}  // namespace accrue
#endif

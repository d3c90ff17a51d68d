// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_DECIDING_HPP
#define ACCRUE_DECIDING_HPP

#include <accrue/filling.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace accrue {

/// What becomes of the open group of one accumulator: its norm, the conditions that may stop the update, and the
/// decision as the update kernel takes it, see finalize/decide.hpp.
template <class Exec, class Recipe, class Set>
class deciding : public filling<Exec, Recipe, Set> {
 protected:
  using base = filling<Exec, Recipe, Set>;
  using base::book_;
  using base::divisors;
  using base::group_;
  using base::has_terms;
  using base::policies_;
  using base::rejects;
  using base::scale_;
  using base::scales;
  using base::sums_;
  using typename base::objective;
  using typename base::scaling;
  using veto = typename Recipe::veto_type;
  using buffers = typename buffer_scalars<typename Recipe::summation_type, Set>::type;
  using veto_in_kernels = std::conditional_t<veto::on_host, answered_veto, veto>;
  using conditions_type = conditions<typename scaling::type, veto_in_kernels, rejects>;
  static constexpr bool in_float =
      buffers::template contains<float> || buffers::template contains<Kokkos::complex<float>>;
  static constexpr double largest_number =
      in_float ? double(std::numeric_limits<float>::max()) : std::numeric_limits<double>::max();

 public:
  using base::base;

  /// Says whether a predicate on the host vetoes the group; it is asked once.
  [[nodiscard]] bool give_verdict(Exec const& exec) { return give_verdict(exec, divisors().weight(), false); }
  [[nodiscard]] bool give_verdict(Exec const& exec, double divided, bool padded) {
    settle(exec);
    auto decision = decision_of(exec, divided, padded, {});
    if constexpr (veto::on_host) decision.when.vetoed = vetoed_on_host(exec, decision);
    launch_once("accrue::finalize::verdict", exec,
                note_verdict<decltype(decision)>{decision, &sums_.scalars().data()->verdict});
    return decision.when.vetoed;
  }
  [[nodiscard]] group_verdict const* verdict() const { return &sums_.scalars().data()->verdict; }

 protected:
  /// Makes the buffer the whole sum, and brings its norm to where the decision looks for it.
  void settle(Exec const& exec) {
    if constexpr (has_terms) sums_.fold(exec, policies_.clip, divisors().factors(), group_);
    sums_.settle_norm(exec, policies_.clip);
  }
  [[nodiscard]] veto_in_kernels veto_for_kernels() const {
    if constexpr (veto::on_host)
      return {};
    else
      return policies_.veto;
  }
  [[nodiscard]] conditions_type conditions_so_far(bool padded) const {
    conditions_type when{scaling::get(policies_.loss_scale), veto_for_kernels()};
    if constexpr (scales) when.scale = scale_.cell().data();
    group_counts const& n = group_.counts;
    when.handed_over = {
        0.0, 0.0, static_cast<double>(group_.weight), n.microbatches.value(), n.samples.value(), n.tokens.value()};
    when.weighs = objective::own_is_mean;
    when.pads = padded;
    when.has_loss = group_.has_loss();
    if constexpr (rejects) when.gate = &sums_.scalars().data()->gate;
    return when;
  }
  [[nodiscard]] auto decision_of(Exec const& exec, double divided, bool padded, companions const& together) {
    norm_request const found = sums_.norm_of_group(policies_.clip);
    auto& model = sums_.model();
    auto const clip = group_clip_of(policies_.clip);
    decide<std::remove_const_t<decltype(clip)>, conditions_type> decision{
        found.total,
        found.order,
        divisors().of_sums(divided),
        clip,
        largest_number,
        book_.next_number(),
        group_.loss.on_device ? &sums_.scalars().data()->loss : nullptr,
        static_cast<double>(group_.loss.on_host),
        divisors().of_losses(),
        model.touched(exec),
        model.updates_of_view(),
        static_cast<std::int64_t>(model.directory().size()),
        book_.next_slot(),
        book_.device_side(),
        conditions_so_far(padded)};
    decision.when.together = together;
    return decision;
  }
  /// Asks the host's predicate, about a group that would be applied. Fences.
  template <class Decision>
  [[nodiscard]] bool vetoed_on_host(Exec const& exec, Decision decision) const {
    group_scalars const found = sums_.scalars().read(exec, "accrue::finalize: read for a veto");
    loss_scale_state state;
    if constexpr (scales) state = scale_.cell().on(exec).state();
    decision.total = &found.total;
    if (decision.device_loss != nullptr) decision.device_loss = &found.loss;
    decision.when.scale = &state;
    decision.when.gate = &found.gate;
    auto const verdict = decision.settle_alone();
    return verdict.apply != 0 && policies_.veto(decision.when.found(verdict.norm, decision.loss()));
  }
};

}  // namespace accrue
#endif

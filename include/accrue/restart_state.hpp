// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_RESTART_STATE_HPP
#define ACCRUE_RESTART_STATE_HPP

#include <accrue/passes/model_state.hpp>
#include <accrue/pipeline.hpp>
#include <accrue/recipe_text.hpp>
#include <accrue/restart_parts.hpp>

#include <cstdint>
#include <istream>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace accrue {

/// The whole state of an accumulator as sections of a file, each written and read by the part that it belongs to.
template <class Exec, class Recipe, class Set>
class restart_state {
  using stages_type = pipeline<Exec, Recipe, Set>;
  using sums_type = group_sums<Exec, Recipe, Set>;
  using rules = update_rules<typename Recipe::update_type, Set>;
  static constexpr bool has_terms = has_terms_v<typename Recipe::normalization_type>;
  static constexpr bool scales = Recipe::loss_scale_type::scales;
  using model_part = model_state<Exec, typename sums_type::model_type>;

 public:
  explicit restart_state(stages_type& of) : stages_(of) { of.require_alive(); }

  void save(Exec const& exec, std::ostream& to, bool parameters) {
    require_no_shared_group("accrue::save");
    static_cast<void>(stages_.book_.settled());  // observers may throw, and nobody waits yet
    if constexpr (shards) sharding<Exec, Recipe, Set>::require_all_save(stages_);
    stages_.sums_.flush(exec, stages_.policies_.clip);
    detail::recipe_part fixed{fixed_policy_texts(stages_.policies_)};
    Recipe policies = stages_.policies_;
    detail::changing_settings<Recipe> settings{policies};
    norm_part norm{stages_.sums_.measured(), stages_.sums_.scalars().read(exec, "accrue::restart: read the norm")};

    state_writer out(to);
    out.section("parameters included", parameters);
    out.section("recipe", fixed);
    out.section("settings", settings);
    out.section("group", stages_.group_);
    out.section("norm", norm);
    bool looked = stages_.sums_.looked();
    out.section("looked at", looked);
    if constexpr (scales) {
      loss_scale_state scale = stages_.scale_.cell().state();
      out.section("loss scale", scale);
    }
    out.section("ledger", stages_.book_.totals());
    if constexpr (!alone) {
      detail::replica_place here = stages_.held().value() > 0 ? place() : detail::replica_place{};
      out.section("replicas", here);
    }
    model_part model(stages_.sums_.model());
    if constexpr (shards)
      model.save(exec, out, parameters,
                 [&](std::size_t view, int word, auto const& visit) { bring_state(exec, view, word, visit); });
    else
      model.save(exec, out, parameters);
    if constexpr (has_terms) save_terms(exec, out);
    out.end();
  }
  /// What others need of this member of sharded replicas for their `save`; nothing of others.
  void take_part_in_save(Exec const& exec) {
    if constexpr (shards) {
      require_no_shared_group("accrue::take_part_in_save");
      static_cast<void>(stages_.book_.settled());
      sharding<Exec, Recipe, Set>::require_all_save(stages_);
      auto const& model = stages_.sums_.model();
      for (std::size_t v = 0; v < model.directory().size(); ++v)
        for (int word = 0; word < model.state_words(); ++word) bring_state(exec, v, word, [](strided const&) {});
    }
  }

  /// Everything is read and checked first; then nothing can fail.
  void load(Exec const& exec, std::istream& from, bool parameters, bool whole) {
    if (stages_.held().value() > 0)
      throw error(joined({"accrue::load: the accumulator holds ", std::to_string(stages_.held().value()),
                          " microbatches of an open group"}),
                  "they would be lost", "load right after construction, or discard() them");
    require_no_shared_group("accrue::load");
    state_reader in(from);
    if (whole) in.require_end();
    check_parameters(in, parameters);
    detail::recipe_part fixed{fixed_policy_texts(stages_.policies_)};
    in.section("recipe", fixed);
    model_part model(stages_.sums_.model());
    model.check(in, parameters);
    std::vector<model_part> terms;
    std::vector<norm_part> losses;
    if constexpr (has_terms) check_terms(in, terms, losses);
    Recipe policies = stages_.policies_;
    detail::changing_settings<Recipe> settings{policies};
    in.section("settings", settings);
    require_sane(policies);
    auto group = stages_.group_;
    norm_part norm;
    ledger book;
    in.section("group", group);
    in.section("norm", norm);
    bool looked = false;
    in.section("looked at", looked);
    loss_scale_state scale;
    if constexpr (scales) {
      in.section("loss scale", scale);
      if (!scale.plausible()) refuse_damage({"section 'loss scale' has numbers that no loss scale has"});
      if (stages_.scale_.cell().open_groups() > 0 && scale != stages_.scale_.cell().state())
        refuse_difference({"the loss scale in the file is another than the one that open groups share"});
    }
    in.section("ledger", book);
    if (shards && (group.counts.microbatches.value() > 0 || model.any_touched()))
      refuse_damage({"section 'group' is of an open group, which sharded replicas do not save"});
    if constexpr (!alone) require_place(in, group.counts.microbatches);
    in.require_all_read();
    if (!group.plausible() || (!has_terms && model.any_touched() && group.contributed == 0))
      refuse_damage({"section 'group' has numbers that no group has"});
    gate_state const& gate = norm.scalars.gate;
    if (!gate.rejected.plausible() || (looked && gate.rejected.microbatches > book.microbatches().value()) ||
        gate.contributed < 0)
      refuse_damage({"section 'norm' has counts that no gate has"});
    if (!book.plausible()) refuse_damage({"section 'ledger' has numbers that no ledger has"});
    device_book ring{};
    book.show_device(ring.totals);

    static_cast<void>(stages_.book_.settled());  // observers see the groups before
    element_copy<Exec> const copy(exec, model.room());
    model.commit(copy);
    if constexpr (has_terms) commit_terms(exec, copy, terms, losses);
    stages_.sums_.scalars().write(exec, &norm.scalars);
    stages_.sums_.note_measured(norm.measured);
    stages_.sums_.note_looked(looked);
    if constexpr (scales) stages_.scale_.cell().put(scale);
    if (group.counts.microbatches.value() > 0) stages_.scale_.open();
    stages_.group_ = group;
    stages_.book_.restore(exec, std::move(book), &ring);
    if constexpr (restored_policy<typename Recipe::boundary_type>) stages_.policies_.boundary = policies.boundary;
    if constexpr (restored_policy<typename Recipe::loss_scale_type>) stages_.policies_.loss_scale = policies.loss_scale;
    if constexpr (restored_policy<typename Recipe::division_type>) stages_.policies_.division = policies.division;
    if constexpr (restored_policy<typename Recipe::update_type>) stages_.policies_.update = policies.update;
    copy.finish();
  }

 private:
  static constexpr bool alone = std::is_same_v<typename Recipe::replicas_type, one_replica>;
  static constexpr bool shards = shards_v<typename Recipe::replicas_type>;
  /// Visits runs of a word of a view's state, of which other members keep parts.
  template <class Visit>
  void bring_state(Exec const& exec, std::size_t view, int word, Visit const& visit) {
    auto& model = stages_.sums_.model();
    for (std::int64_t first = 0; first < model.directory()[view].storage.size;) {
      strided const run =
          stages_.replica_side_.exchange().bring_state(stages_.policies_.replicas, exec, model, view, word, first);
      visit(run);
      first += run.size;
    }
  }
  [[nodiscard]] detail::replica_place place() const {
    return {stages_.policies_.replicas.member(), stages_.policies_.replicas.members()};
  }
  /// Of sharded sums this member may have a part though it handed over nothing.
  void require_no_shared_group(std::string_view call) const {
    if (shards && stages_.sums_.with_others())
      throw error(joined({call, ": a group that is sharded over replicas is open"}),
                  "its sums are those of all of them", "close it on all of them: load and save between groups");
  }
  /// Between groups any number of processes may go on; inside of one each has its part of the sums.
  void require_place(state_reader& in, microbatches held) const {
    detail::replica_place there;
    in.section("replicas", there);
    if (held.value() > 0 && there != place())
      refuse_state({"the file was saved inside a group, by ", there.text(), ", and this is ", place().text()},
                   "go on with as many processes, each with its own file, or save between groups");
  }

  struct norm_part {
    bool measured = false;
    group_scalars scalars{};
    template <class Visit>
    void state(Visit&& visit) {
      visit(measured, scalars);
    }
  };

  // Named terms: the sums of each but the first, and the losses of all that lie on the device.
  [[nodiscard]] static std::string name_of_term(std::size_t term) { return " of term " + std::to_string(term); }
  void save_terms(Exec const& exec, state_writer& out) {
    auto& model = stages_.sums_.model();
    bool folded = stages_.sums_.folded();
    out.section("terms added up", folded);
    stages_.sums_.for_each_further([&](std::size_t term) {
      model_part part(model);
      part.save_sums(element_copy<Exec>(exec, part.room()), out, name_of_term(term));
    });
    for (std::size_t t = 0; t < Recipe::normalization_type::size; ++t) {
      norm_part part{false, stages_.sums_.losses(t).read(exec, "accrue::restart: read the loss of a term")};
      out.section("loss" + name_of_term(t), part);
    }
  }
  void check_terms(state_reader& in, std::vector<model_part>& terms, std::vector<norm_part>& losses) {
    in.section("terms added up", folded_);
    stages_.sums_.for_each_further([&](std::size_t term) {
      terms.emplace_back(stages_.sums_.model());
      terms.back().check_sums(in, name_of_term(term));
    });
    losses.resize(Recipe::normalization_type::size);
    for (std::size_t t = 0; t < losses.size(); ++t) in.section("loss" + name_of_term(t), losses[t]);
  }
  void commit_terms(Exec const& exec, element_copy<Exec> const& copy, std::vector<model_part>& terms,
                    std::vector<norm_part> const& losses) {
    stages_.sums_.for_each_further([&](std::size_t term) { terms[term - 1].commit_sums(copy); });
    stages_.sums_.note_folded(folded_);
    for (std::size_t t = 0; t < losses.size(); ++t) stages_.sums_.losses(t).write(exec, &losses[t].scalars);
  }

  static void check_parameters(state_reader& in, bool wanted) {
    bool there = false;
    in.section("parameters included", there);
    if (there && !wanted)
      refuse_state({"the file holds the parameters as well"}, "load it without restart::without_parameters");
    if (!there && wanted)
      refuse_state({"the file was saved without the parameters"},
                   "bring them back yourself, and load it with restart::without_parameters");
  }
  void require_sane(Recipe const& policies) const {
    try {
      accrue::validate(policies.boundary);
      accrue::validate(policies.loss_scale);
      accrue::validate(policies.division);
      accrue::validate(policies.update);
      stages_.sums_.model().require_state(rules::state_words(policies.update));
    } catch (error const& refused) {
      refuse_damage({"the settings in the file are refused: ", refused.what()});
    }
  }

  stages_type& stages_;
  bool folded_ = false;  ///< read, see `term_sums`
};

}  // namespace accrue
#endif

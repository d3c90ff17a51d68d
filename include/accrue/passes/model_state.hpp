// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_MODEL_STATE_HPP
#define ACCRUE_PASSES_MODEL_STATE_HPP

#include <accrue/core/element_copy.hpp>
#include <accrue/core/scalar_id.hpp>
#include <accrue/core/state_reader.hpp>
#include <accrue/core/state_writer.hpp>
#include <accrue/passes/model.hpp>
#include <accrue/passes/shape_check.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace accrue {

/// The part of a restart that a model keeps: sums, state of the rule, updates of each view; and the parameters
/// themselves. Views are in the order of the user, elements in the order of the parameter's memory.
template <class Exec, class Model>
class model_state {
 public:
  explicit model_state(Model& of) : model_(of) {}

  /// Cost: one fence or more, room on the host for the largest view, and on a device for the largest that is strided.
  void save(Exec const& exec, state_writer& out, bool parameters) {
    save(exec, out, parameters,
         [this](std::size_t view, int word, auto const& visit) { visit(model_.storage().state(view, word)); });
  }
  /// The same where `state_of(view, word, visit)` visits the runs of a word of state, as they come from elsewhere.
  template <class StateOf>
  void save(Exec const& exec, state_writer& out, bool parameters, StateOf const& state_of) {
    std::vector<std::string> shapes = shape_texts(model_);
    std::int64_t views = size();
    int words = model_.state_words();
    field_writer all;
    all(views, words);
    for (std::string& each : shapes) all(each);
    out.begin("shapes", all.bytes().size());
    out.bytes(all.bytes().data(), all.bytes().size());
    field_writer names;
    for (std::size_t v = 0; v < model_.directory().size(); ++v) {
      std::string label = model_.directory()[v].label;
      names(label);
    }
    out.begin("labels", names.bytes().size());
    out.bytes(names.bytes().data(), names.bytes().size());

    element_copy<Exec> const copy(exec, room());
    state_bytes counts(model_.directory().size() * 8);
    copy.read(updates_run(), 8, counts.data());
    swap_to_little_endian(counts.data(), counts.size(), 8);
    out.begin("updates", counts.size());
    out.bytes(counts.data(), counts.size());

    if (is_gated()) {
      state_bytes flags(model_.directory().size());
      copy.read(gate_run(), 1, flags.data());
      out.begin("gate", flags.size());
      out.bytes(flags.data(), flags.size());
    }
    save_sums(copy, out, "");
    out.begin("rule state", bytes_of(rule_state()));
    for_each_word(
        [&](std::size_t view, int word) { state_of(view, word, [&](strided const& run) { write(copy, out, run); }); });
    if (parameters) write(copy, out, "parameters", parameters_and_copies());
  }

  /// The sums alone, with what is touched: of a further term that the model works on now.
  void save_sums(element_copy<Exec> const& copy, state_writer& out, std::string const& of) {
    field_writer touched;
    for (std::size_t v = 0; v < model_.directory().size(); ++v) {
      touch each{model_.is_touched(v), model_.keep(v)};
      touched(each);
    }
    out.begin("touched" + of, touched.bytes().size());
    out.bytes(touched.bytes().data(), touched.bytes().size());
    write(copy, out, "sums" + of, sums(touches_now()));
  }
  void check_sums(state_reader& in, std::string const& of) {
    touched_.resize(model_.directory().size());
    in.section("touched" + of, *this);
    for (touch const& each : touched_)
      if (each.keep == 0.0 || !is_finite(each.keep) || (!each.is && each.keep != 1.0))
        refuse_damage({"section 'touched", of, "' has a weight that no group has"});
    sums_ = in.bytes("sums" + of, bytes_of(sums(touched_)));
  }
  void commit_sums(element_copy<Exec> const& copy) {
    for (std::size_t v = 0; v < touched_.size(); ++v)
      if (touched_[v].is) model_.note_written(v, touched_[v].keep);
    read(copy, sums_, sums(touched_));
  }

  /// Checks what a file has against this model, which it leaves alone.
  void check(state_reader& in, bool parameters) {
    check_shapes(in);
    updates_ = in.bytes("updates", model_.directory().size() * 8);
    for (std::size_t at = 0; at < updates_.size(); at += 8)
      if ((updates_[at + 7] & 0x80U) != 0) refuse_damage({"section 'updates' has a negative number"});
    if (is_gated()) gate_ = in.bytes("gate", model_.directory().size());
    check_sums(in, "");
    state_ = in.bytes("rule state", bytes_of(rule_state()));
    if (parameters) parameters_ = in.bytes("parameters", bytes_of(parameters_and_copies()));
  }
  [[nodiscard]] bool any_touched() const {
    bool any = false;
    for (touch const& each : touched_) any = any || each.is;
    return any;
  }

  /// Takes over what was checked. Order: no group is open; the reader stays until the copy is finished.
  void commit(element_copy<Exec> const& copy) {
    model_.reclaim();
    swap_to_little_endian(updates_.data(), updates_.size(), 8);
    copy.write(updates_run(), 8, updates_.data());
    if (is_gated()) copy.write(gate_run(), 1, gate_.data());
    commit_sums(copy);
    commit_state(copy);
    if (!parameters_.empty()) read(copy, parameters_, parameters_and_copies());
  }
  /// The room that copying needs beside the views.
  [[nodiscard]] std::size_t room() const {
    std::size_t most = 0;
    for (strided const& each : parameters_and_copies())
      if (!each.contiguous()) most = std::max(most, bytes_of(each));
    return most;
  }

  template <class Visit>
  void state(Visit&& visit) {
    for (touch& each : touched_) visit(each);
  }

 private:
  struct touch {
    bool is = false;
    double keep = 1.0;
    template <class Visit>
    void state(Visit&& visit) {
      visit(is, keep);
    }
  };

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(model_.directory().size()); }
  [[nodiscard]] strided const& sum(std::size_t view) const {
    return model_.tables().sum(model_.directory()[view].number);
  }
  void check_shapes(state_reader& in) const {
    std::vector<std::string> const mine = shape_texts(model_);
    shape_check check{mine, model_.directory(), model_.state_words()};
    in.section("shapes", check);
    label_check labels{model_.directory()};
    in.section("labels", labels);
  }
  // Runs of elements, in the order of the file.
  using runs = std::vector<strided>;
  [[nodiscard]] std::vector<touch> touches_now() const {
    std::vector<touch> all(model_.directory().size());
    for (std::size_t v = 0; v < all.size(); ++v) all[v].is = model_.is_touched(v);
    return all;
  }
  [[nodiscard]] strided updates_run() const {
    return run_of(model_.updates_of_view(), size(), scalar_id<double>());  // of eight bytes as well
  }
  [[nodiscard]] bool is_gated() const { return model_.gated_touch() != nullptr; }
  /// What a gate on the device says of each view.
  [[nodiscard]] strided gate_run() const { return run_of(model_.gated_touch(), size(), 0); }
  template <class Visit>
  void for_each_word(Visit const& visit) const {
    for (std::size_t v = 0; v < model_.directory().size(); ++v)
      for (int word = 0; word < model_.state_words(); ++word) visit(v, word);
  }
  [[nodiscard]] runs sums(std::vector<touch> const& touched) const {
    runs all;
    for (std::size_t v = 0; v < touched.size(); ++v)
      if (touched[v].is) {
        all.push_back(sum(v));
        for (strided const& each : model_.storage().carried(v)) all.push_back(each);
      }
    return all;
  }
  [[nodiscard]] runs rule_state() const {
    runs all;
    for_each_word([&](std::size_t view, int word) { all.push_back(model_.storage().state(view, word)); });
    return all;
  }
  [[nodiscard]] runs parameters_and_copies() const {
    runs all;
    for (std::size_t v = 0; v < model_.directory().size(); ++v) {
      all.push_back(model_.directory()[v].storage);
      if (model_.directory()[v].copy.scalar >= 0) all.push_back(model_.directory()[v].copy);
    }
    return all;
  }
  [[nodiscard]] static std::size_t bytes_of(strided const& run) {
    return static_cast<std::size_t>(run.size) * detail::bytes_of_scalar(run.scalar);
  }
  [[nodiscard]] static std::size_t bytes_of(runs const& all) {
    std::size_t sum = 0;
    for (strided const& each : all) sum += bytes_of(each);
    return sum;
  }

  static void write(element_copy<Exec> const& copy, state_writer& out, std::string_view name, runs const& all) {
    out.begin(name, bytes_of(all));
    for (strided const& each : all) write(copy, out, each);
  }
  static void write(element_copy<Exec> const& copy, state_writer& out, strided const& run) {
    state_bytes here(bytes_of(run));
    copy.read(run, detail::bytes_of_scalar(run.scalar), here.data());
    swap_to_little_endian(here.data(), here.size(), detail::bytes_of_real(run.scalar));
    out.bytes(here.data(), here.size());
  }
  static void read(element_copy<Exec> const& copy, std::span<unsigned char> from, runs const& all) {
    for (strided const& each : all) {
      read(copy, from.first(bytes_of(each)), each);
      from = from.subspan(bytes_of(each));
    }
  }
  static void read(element_copy<Exec> const& copy, std::span<unsigned char> from, strided const& run) {
    swap_to_little_endian(from.data(), from.size(), detail::bytes_of_real(run.scalar));
    copy.write(run, detail::bytes_of_scalar(run.scalar), from.data());
  }
  /// The file has the state of whole views; of a shard only its elements are kept here.
  void commit_state(element_copy<Exec> const& copy) {
    for_each_word([&](std::size_t view, int word) {
      strided const all = model_.storage().state(view, word);
      chunk const part = model_.storage().kept(view);
      std::size_t const bytes = detail::bytes_of_scalar(all.scalar);
      auto const before = static_cast<std::size_t>(part.begin) * bytes;
      strided const here = run_of(static_cast<unsigned char*>(all.data) + before, part.end - part.begin, all.scalar);
      read(copy, state_.subspan(before, bytes_of(here)), here);
      state_ = state_.subspan(bytes_of(all));
    });
  }

  Model& model_;
  std::vector<touch> touched_;
  std::span<unsigned char> updates_, gate_, sums_, state_, parameters_;
};

}  // namespace accrue
#endif

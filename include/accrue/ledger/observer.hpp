// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_LEDGER_OBSERVER_HPP
#define ACCRUE_LEDGER_OBSERVER_HPP

#include <accrue/ledger/ledger.hpp>

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace accrue {

/// Something with a function for at least one of five moments:
///
/// - `microbatch_accumulated(group_counts const& held)`, after each microbatch, with what the open group holds;
/// - `group_started_again(group_counts const& held)`, with what was taken back: it will be handed over again;
/// - `group_closing(group_counts const& held)`, before an update is launched;
/// - `group_recorded(record const&)`, once for every closed group, in order, when its outcome is known;
/// - `data_ended(ledger const&)`, after `end_of_data()`.
template <class T>
concept observer = requires(T& o, group_counts const& held) {
  o.microbatch_accumulated(held);
}
|| requires(T& o, group_counts const& held) { o.group_started_again(held); }
|| requires(T& o, group_counts const& held) { o.group_closing(held); }
|| requires(T& o, record const& entry) { o.group_recorded(entry); }
|| requires(T& o, ledger const& book) { o.data_ended(book); };

/// The observers of an accumulator, called in the order in which they came.
class observer_list {
  struct any_observer {
    virtual ~any_observer() = default;
    virtual void microbatch_accumulated(group_counts const&) = 0;
    virtual void group_started_again(group_counts const&) = 0;
    virtual void group_closing(group_counts const&) = 0;
    virtual void group_recorded(record const&) = 0;
    virtual void data_ended(ledger const&) = 0;
    bool wants_records = false;
    bool wants_end = false;
  };

  template <class T>
  struct held_observer final : any_observer {
    using observer_type = std::remove_reference_t<std::unwrap_reference_t<T>>;
    explicit held_observer(T value) : held(std::move(value)) {
      this->wants_records = requires(observer_type & o, record const& r) { o.group_recorded(r); };
      this->wants_end = requires(observer_type & o, ledger const& l) { o.data_ended(l); };
    }
    [[nodiscard]] observer_type& target() { return held; }

    void microbatch_accumulated(group_counts const& counts) override {
      if constexpr (requires(observer_type & o) { o.microbatch_accumulated(counts); })
        target().microbatch_accumulated(counts);
    }
    void group_started_again(group_counts const& counts) override {
      if constexpr (requires(observer_type & o) { o.group_started_again(counts); })
        target().group_started_again(counts);
    }
    void group_closing(group_counts const& counts) override {
      if constexpr (requires(observer_type & o) { o.group_closing(counts); }) target().group_closing(counts);
    }
    void group_recorded(record const& entry) override {
      if constexpr (requires(observer_type & o) { o.group_recorded(entry); }) target().group_recorded(entry);
    }
    void data_ended(ledger const& book) override {
      if constexpr (requires(observer_type & o) { o.data_ended(book); }) target().data_ended(book);
    }
    T held;
  };

 public:
  /// Adds an observer: a value, or a `std::ref` to one that outlives the accumulator.
  template <class T>
  void add(T value) {
    observers_.push_back(std::make_unique<held_observer<T>>(std::move(value)));
  }

  [[nodiscard]] bool want_records() const {
    for (auto const& o : observers_)
      if (o->wants_records) return true;
    return false;
  }
  [[nodiscard]] bool want_end() const {
    for (auto const& o : observers_)
      if (o->wants_end) return true;
    return false;
  }

  void microbatch_accumulated(group_counts const& held) const {
    for (auto const& o : observers_) o->microbatch_accumulated(held);
  }
  void group_started_again(group_counts const& held) const {
    for (auto const& o : observers_) o->group_started_again(held);
  }
  void group_closing(group_counts const& held) const {
    for (auto const& o : observers_) o->group_closing(held);
  }
  void group_recorded(record const& entry) const {
    for (auto const& o : observers_) o->group_recorded(entry);
  }
  void data_ended(ledger const& book) const {
    for (auto const& o : observers_) o->data_ended(book);
  }

 private:
  std::vector<std::unique_ptr<any_observer>> observers_;
};

}  // namespace accrue
#endif

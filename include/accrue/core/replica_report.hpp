// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_REPLICA_REPORT_HPP
#define ACCRUE_CORE_REPLICA_REPORT_HPP

#include <accrue/core/decision.hpp>
#include <accrue/core/gate_state.hpp>
#include <accrue/core/norm.hpp>
#include <accrue/core/state_fields.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace accrue {

/// Which views of a model are touched: one bit each, in their order.
class touched_bits {
 public:
  explicit touched_bits(std::size_t views = 0) : words_((views + 63) / 64, 0) {}

  void set(std::size_t view) { words_[view / 64] |= std::uint64_t{1} << (view % 64); }
  [[nodiscard]] bool operator[](std::size_t view) const { return (words_[view / 64] >> (view % 64) & 1) != 0; }
  void merge(touched_bits const& other) {
    for (std::size_t i = 0; i < words_.size() && i < other.words_.size(); ++i) words_[i] |= other.words_[i];
  }
  [[nodiscard]] bool any() const {
    std::uint64_t found = 0;
    for (std::uint64_t const each : words_) found |= each;
    return found != 0;
  }

  /// For the exchange, see `field_writer`.
  template <class Visit>
  void state(Visit&& visit) {
    for (std::uint64_t& each : words_) {
      auto bits = static_cast<std::int64_t>(each);
      visit(bits);
      each = static_cast<std::uint64_t>(bits);
    }
  }

 private:
  std::vector<std::uint64_t> words_;
};

/// What must be the same on all replicas for their sums to become one.
struct replica_agreement {
  std::int64_t recipe = 0;  ///< a checksum of its text
  std::int64_t shapes = 0;  ///< likewise
  std::int64_t views = 0;
  std::int64_t number = 0;  ///< of the group, among those closed over replicas
  double loss_scale = 1.0;
  accrue::samples samples;  ///< over all replicas so far, where a schedule may go by them
  accrue::tokens tokens;

  /// The first thing that differs, or nothing.
  [[nodiscard]] std::string difference(replica_agreement const& other) const {
    if (number != other.number)
      return "is at group " + std::to_string(number) + ", not " + std::to_string(other.number);
    if (views != other.views) return "has " + std::to_string(views) + " parameters, not " + std::to_string(other.views);
    if (shapes != other.shapes) return "has parameters of other shapes, scalars or layouts";
    if (recipe != other.recipe) return "has another recipe";
    if (loss_scale != other.loss_scale)
      return "has the loss scale " + std::to_string(loss_scale) + ", not " + std::to_string(other.loss_scale);
    if (samples != other.samples || tokens != other.tokens)
      return "counts " + std::to_string(samples.value()) + " samples and " + std::to_string(tokens.value()) +
             " tokens in the groups that it closed, not " + std::to_string(other.samples.value()) + " and " +
             std::to_string(other.tokens.value());
    return {};
  }

  template <class Visit>
  void state(Visit&& visit) {
    visit(recipe, shapes, views, number, loss_scale, samples, tokens);
  }
};

/// What a replica says about filling its group again, and what all of them say together.
struct refill_wish {
  std::int64_t able = 0;    ///< replicas that know how to
  std::int64_t unable = 0;  ///< replicas that hold something, and do not
  std::int64_t wanted = 0;  ///< members that ask for it, because the group did not fit into memory
  std::int64_t failed = 0;  ///< members whose group cannot be filled at all
  std::int64_t microbatch = std::numeric_limits<std::int64_t>::max();  ///< the largest from now on, in samples

  void merge(refill_wish const& other) {
    able += other.able;
    unable += other.unable;
    wanted += other.wanted;
    failed += other.failed;
    microbatch = microbatch < other.microbatch ? microbatch : other.microbatch;
  }
  template <class Visit>
  void state(Visit&& visit) {
    visit(able, unable, wanted, failed, microbatch);
  }
};

/// What a member says, of all the replicas that it hosts, before their sums are formed.
template <class Group>
struct replica_report {
  replica_agreement agrees;
  std::int64_t odd_one = 0;  ///< the first hosted replica that does not agree with the first one hosted
  replica_agreement odd;     ///< what that one says

  // What adds up.
  std::int64_t hosted = 1;    ///< replicas
  std::int64_t wanted = 0;    ///< microbatches that make all their groups full, where the boundary counts those
  std::int64_t unfilled = 0;  ///< replicas whose group is not full
  std::int64_t ended = 0;     ///< replicas that have no more data
  std::int64_t partly = 0;    ///< replicas that touched some views and not others
  std::int64_t ready = 0;     ///< replicas whose sums can go over piece by piece, as they are
  Group group{};
  gate_state gate{};  ///< where microbatches may be rejected
  refill_wish refill;

  /// Adds another hosted replica, or what another member says. Failure: `accrue::error` where a count overflows.
  void merge(replica_report const& other) {
    if (odd_one == 0 && !other.agrees.difference(agrees).empty()) odd_one = hosted, odd = other.agrees;
    hosted += other.hosted;
    wanted += other.wanted;
    unfilled += other.unfilled;
    ended += other.ended;
    partly += other.partly;
    ready += other.ready;
    group.merge(other.group);
    gate.merge(other.gate);
    refill.merge(other.refill);
  }
  template <class Visit>
  void state(Visit&& visit) {
    visit(agrees, odd_one, odd, hosted, wanted, unfilled, ended, partly, ready, group, gate, refill);
  }
};

/// What a member found in the whole sum.
struct replica_finding {
  norm_partial total{};
  group_verdict verdict{};
  template <class Visit>
  void state(Visit&& visit) {
    visit(total, verdict);
  }
};

/// Gathers a value of each member, in their order. They are written to at least `room` bytes, so that messages of
/// different programs have one length.
template <class Transport, class Value>
[[nodiscard]] std::vector<Value> gathered(Transport const& transport, Value mine, std::size_t room = 0) {
  field_writer out;
  out(mine);
  state_bytes bytes = out.bytes();
  std::size_t const used = bytes.size();
  bytes.resize(used > room ? used : room);
  auto const members = static_cast<std::size_t>(transport.members());
  state_bytes all(bytes.size() * members);
  transport.gather(reinterpret_cast<std::byte const*>(bytes.data()), bytes.size(),
                   reinterpret_cast<std::byte*>(all.data()));
  std::vector<Value> values(members, mine);
  for (std::size_t m = 0; m < members; ++m) {
    field_reader in("exchange", std::span<unsigned char const>(all).subspan(m * bytes.size(), used));
    in(values[m]);
  }
  return values;
}

}  // namespace accrue
#endif

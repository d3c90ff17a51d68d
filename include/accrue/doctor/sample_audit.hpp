// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_DOCTOR_SAMPLE_AUDIT_HPP
#define ACCRUE_DOCTOR_SAMPLE_AUDIT_HPP

#include <accrue/core/facts.hpp>
#include <accrue/core/replica_transport.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <vector>

namespace accrue {

/// A sample that a group saw more than once.
struct repeated_sample {
  std::int64_t id = 0;
  std::int64_t times = 0;
  std::vector<int> replicas;  ///< that saw it, ascending
  friend bool operator==(repeated_sample const&, repeated_sample const&) = default;
};

/// Which samples a group really consisted of, over all replicas.
struct sample_report {
  std::int64_t processed = 0;
  std::int64_t unique = 0;
  std::int64_t repeated_ids = 0;       ///< ids that came more than once
  std::int64_t inside_replicas = 0;    ///< among them, those that one replica saw more than once
  std::int64_t across_replicas = 0;    ///< among them, those that several replicas saw
  bool all_alike = false;              ///< every replica of several saw the same ids
  std::vector<repeated_sample> first;  ///< the first of them by number, at most `shown`
  static constexpr std::size_t shown = 16;

  [[nodiscard]] bool clean() const { return processed == unique; }

  friend std::ostream& operator<<(std::ostream& out, sample_report const& r) {
    out << r.processed << " samples processed, " << r.unique << " different ones";
    if (r.clean()) return out;
    if (r.all_alike) out << "; all replicas saw the same";
    out << "; repeated: " << r.repeated_ids << " (" << r.inside_replicas << " inside a replica, " << r.across_replicas
        << " across replicas)";
    for (repeated_sample const& each : r.first) {
      out << "\n  sample " << each.id << ": " << each.times << " times, on replica";
      for (int const replica : each.replicas) out << ' ' << replica;
    }
    return out;
  }
};

/// Collects the sample ids of a replica's open group, to find out which of them came more than once.
///
/// Padding at the end of the data, a sampler that is seeded alike on all replicas, and one microbatch fed several times
/// all make an effective batch that is smaller than m * A * D says. Order: `add` with each microbatch, then once a
/// group `audit_group` on all members. Cost: 8 bytes an id. Example: `audit.add(ids);  ...  std::cout <<
/// accrue::audit_group(replicas, audit);`
class sample_audit {
 public:
  void add(sample_ids const& ids) { ids_.insert(ids_.end(), ids.data, ids.data + ids.size); }
  [[nodiscard]] std::vector<std::int64_t> const& ids() const { return ids_; }
  void clear() { ids_.clear(); }

 private:
  std::vector<std::int64_t> ids_;
};

namespace detail {

struct seen_sample {
  std::int64_t id;
  int replica;
  friend auto operator<=>(seen_sample const&, seen_sample const&) = default;
};

/// Of all that replicas saw.
[[nodiscard]] inline sample_report report_on(std::vector<seen_sample> all, int replicas) {
  std::sort(all.begin(), all.end());
  sample_report report;
  report.processed = static_cast<std::int64_t>(all.size());
  report.all_alike = replicas > 1 && !all.empty();
  for (auto from = all.begin(); from != all.end();) {
    auto const to = std::find_if(from, all.end(), [&](seen_sample const& each) { return each.id != from->id; });
    repeated_sample sample{from->id, to - from, {}};
    bool inside = false;
    for (auto each = from; each != to; ++each) {
      bool const again = !sample.replicas.empty() && sample.replicas.back() == each->replica;
      inside = inside || again;
      if (!again) sample.replicas.push_back(each->replica);
    }
    bool const across = sample.replicas.size() > 1;
    ++report.unique;
    report.repeated_ids += sample.times > 1 ? 1 : 0;
    report.inside_replicas += inside ? 1 : 0;
    report.across_replicas += across ? 1 : 0;
    report.all_alike = report.all_alike && sample.replicas.size() == static_cast<std::size_t>(replicas);
    if (sample.times > 1 && report.first.size() < sample_report::shown) report.first.push_back(std::move(sample));
    from = to;
  }
  return report;
}

}  // namespace detail

/// Says which samples the replicas of all members saw in a group, and forgets them; the same report on all members.
///
/// Guarantee: exact. Cost: two gathers, of 16 bytes and of as many ids as the longest list of a member has; 24 bytes an
/// id and member while it works, and a sort: some 240 MB and some seconds for 10^7 ids.
template <class Transport, class... Audits>
  requires(fills_slot<Transport, slot::replicas>)
[[nodiscard]] sample_report audit_group(Transport const& transport, Audits&... own) {
  std::vector<sample_audit*> const hosted{&own...};
  std::int64_t size = 0;
  for (sample_audit const* each : hosted) size += 1 + static_cast<std::int64_t>(each->ids().size());
  auto const members = static_cast<std::size_t>(transport.members());
  auto const gather = [&](std::vector<std::int64_t> const& mine) {
    std::vector<std::int64_t> all(mine.size() * members);
    transport.gather(reinterpret_cast<std::byte const*>(mine.data()), mine.size() * sizeof(std::int64_t),
                     reinterpret_cast<std::byte*>(all.data()));
    return all;
  };
  std::vector<std::int64_t> const sizes = gather({size, static_cast<std::int64_t>(hosted.size())});
  std::int64_t longest = 0;
  for (std::size_t m = 0; m < members; ++m) longest = std::max(longest, sizes[2 * m]);

  std::vector<std::int64_t> mine;  // of each hosted replica how many, and which
  mine.reserve(static_cast<std::size_t>(longest));
  for (sample_audit* each : hosted) {
    mine.push_back(static_cast<std::int64_t>(each->ids().size()));
    mine.insert(mine.end(), each->ids().begin(), each->ids().end());
    each->clear();
  }
  mine.resize(static_cast<std::size_t>(longest), 0);
  std::vector<std::int64_t> const all = gather(mine);

  std::vector<detail::seen_sample> seen;
  int replica = 0;
  for (std::size_t m = 0; m < members; ++m) {
    std::int64_t const* next = all.data() + m * mine.size();
    for (std::int64_t r = 0; r < sizes[2 * m + 1]; ++r, ++replica)
      for (std::int64_t count = *next++; count > 0; --count) seen.push_back({*next++, replica});
  }
  return detail::report_on(std::move(seen), replica);
}

}  // namespace accrue
#endif

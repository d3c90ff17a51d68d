// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where memory runs out the group is started again in smaller microbatches: the update is that of a run which had cut
// it so from the start.
#include <accrue/accrue.hpp>
#include <accrue/fitting_microbatches.hpp>
#include <accrue/replicas.hpp>

#include "support/host.hpp"

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using accrue::fitting_microbatches;
using accrue::in_process_replicas;
using accrue::mean_gradient;
using accrue::microbatches;
using accrue::outcome;
using accrue::samples;
using array = Kokkos::View<double*>;
using support::values;

/// A model of three parameters; the mean gradient of examples depends on each of them, and rounds.
struct model {
  array theta{"theta", 3}, gradient{"gradient", 3};

  void backward(std::int64_t first, std::int64_t last) const {
    std::vector<double> sum(3, 0.0);
    for (std::int64_t example = first; example < last; ++example)
      for (std::size_t p = 0; p < 3; ++p)
        sum[p] += 1.0 / static_cast<double>(7 * example + static_cast<std::int64_t>(p) + 1);
    for (double& each : sum) each /= static_cast<double>(last - first);
    support::fill(gradient, sum);
  }
  template <class Group>
  void hand_over(Group& group, std::int64_t first, std::int64_t last) const {
    backward(first, last);
    group.accumulate(mean_gradient{gradient}, samples{last - first}, accrue::mean_loss{static_cast<double>(first)});
  }
};

template <class... Policies>
auto accumulator_of(model const& of, Policies const&... policies) {
  return accrue::accumulator(accrue::parameters(of.theta), accrue::per_sample{}, accrue::keep_last{},
                             accrue::adam{.learning_rate = 0.1}, policies...);
}

std::string text_of(auto const& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}
std::string without_restarts(std::string const& text) { return text.substr(0, text.find(", started again")); }
template <class Call>
std::string message_of(Call const& call) {
  try {
    call();
  } catch (std::exception const& e) {
    return e.what();
  }
  return "no error";
}

void runs_out() { throw std::bad_alloc(); }

}  // namespace

TEST_CASE("is_out_of_memory: what Kokkos throws, what C++ throws, and what the user names") {
  auto const is_so = []<class... Others>(auto const& fails, Others...) {
    try {
      fails();
    } catch (...) {
      return accrue::is_out_of_memory<Others...>();
    }
    return false;
  };
  struct own_error {};
  CHECK(is_so([] { Kokkos::View<double*, Kokkos::HostSpace>("too large", std::size_t{1} << 58); }));
  CHECK(is_so([] { Kokkos::View<double*>("too large", std::size_t{1} << 58); }));
  CHECK(is_so([] { runs_out(); }));
  CHECK(is_so([] { std::vector<char>().reserve(std::size_t{1} << 62); }));
  CHECK_FALSE(is_so([] { throw own_error(); }));
  CHECK(is_so([] { throw own_error(); }, own_error{}));
  CHECK_FALSE(is_so([] { throw std::runtime_error("Kokkos ERROR: something else"); }));
  CHECK_FALSE(is_so([] { throw std::runtime_error("a memory space failed to allocate"); }));
  CHECK_FALSE(is_so([] { throw 1; }));
}

TEST_CASE("fitting_microbatches: wherever in the group memory runs out, the update is that of the smaller cut") {
  auto const trained = [](std::int64_t m, int fails_at) {
    model const of;
    auto group = accumulator_of(of, accrue::every{1}, accrue::clip_by_global_norm{.max_norm = 0.1});
    fitting_microbatches fit(samples{12}, samples{m});
    int call = 0;
    for (std::int64_t first = 0; first < 36; first += 12)
      fit.update(group, first, first + 12, [&](auto& filled, std::int64_t from, std::int64_t to) {
        if (++call == fails_at) Kokkos::View<double*>("too large", std::size_t{1} << 58);
        of.hand_over(filled, from, to);
      });
    CHECK(group.ledger().samples() == samples{36});
    CHECK(group.ledger().records().back().counts.samples == samples{12});
    CHECK(group.ledger().started_again().samples == samples{fails_at > 0 ? m * ((fails_at - 1) % (12 / m)) : 0});
    CHECK(fit.refills() == (fails_at > 0 ? 1 : 0));
    return std::pair(values(of.theta), without_restarts(text_of(group.ledger())));
  };
  auto const by_hand = [](std::vector<std::int64_t> const& cuts) {
    model const of;
    auto group = accumulator_of(of, accrue::every{1}, accrue::clip_by_global_norm{.max_norm = 0.1});
    std::int64_t first = 0;
    for (std::int64_t const m : cuts) {
      group.change_boundary(accrue::every{12 / m});
      for (std::int64_t const end = first + 12; first < end; first += m) of.hand_over(group, first, first + m);
      group.update();
    }
    return std::pair(values(of.theta), text_of(group.ledger()));
  };

  CHECK(trained(12, 0) == by_hand({12, 12, 12}));
  CHECK(trained(12, 1) == by_hand({6, 6, 6}));
  CHECK(trained(12, 2) == by_hand({12, 6, 6}));
  for (int call = 1; call <= 2; ++call) CHECK(trained(6, call) == by_hand({4, 4, 4}));
  for (int call = 1; call <= 3; ++call) CHECK(trained(4, call) == by_hand({3, 3, 3}));
  for (int call = 4; call <= 6; ++call) CHECK(trained(4, call) == by_hand({4, 3, 3}));
  for (int call = 7; call <= 9; ++call) CHECK(trained(4, call) == by_hand({4, 4, 3}));
}

TEST_CASE("fitting_microbatches: it shrinks as often as it must, and groups after that begin small") {
  model const of;
  auto group = accumulator_of(of, accrue::every{1});
  fitting_microbatches fit(samples{12}, samples{12});
  std::vector<std::int64_t> sizes;
  auto const backward = [&](auto& filled, std::int64_t first, std::int64_t last) {
    sizes.push_back(last - first);
    if (last - first > 3) runs_out();
    of.hand_over(filled, first, last);
  };
  CHECK(fit.update(group, 0, 12, backward) == outcome::applied);
  CHECK(sizes == std::vector<std::int64_t>{12, 6, 4, 3, 3, 3, 3});
  CHECK(fit.plan() == accrue::plan::cut_group{samples{3}, microbatches{4}, samples{3}});
  CHECK(group.policies().boundary == accrue::every{4});
  CHECK(group.ledger().groups_started_again() == 0);  // nothing had been handed over

  sizes.clear();
  CHECK(fit.end_of_data(group, 12, 20, backward) == outcome::applied);
  CHECK(sizes == std::vector<std::int64_t>{3, 3, 2});
  CHECK(group.ledger().records().back().counts.samples == samples{8});
  CHECK(fit.end_of_data(group, 20, 20, backward) == outcome::empty);
}

TEST_CASE("fitting_microbatches: uneven cuts shrink by less, and keep the group") {
  model const of;
  auto group = accumulator_of(of);
  fitting_microbatches fit(samples{31}, samples{31}, accrue::cut::uneven);
  std::vector<std::int64_t> sizes;
  fit.update(group, 0, 31, [&](auto& filled, std::int64_t first, std::int64_t last) {
    sizes.push_back(last - first);
    if (last - first > 8) runs_out();
    of.hand_over(filled, first, last);
  });
  CHECK(sizes == std::vector<std::int64_t>{31, 16, 11, 8, 8, 8, 7});

  model const once;
  auto whole = accumulator_of(once);
  once.hand_over(whole, 0, 31);
  whole.update();
  for (std::size_t p = 0; p < 3; ++p)
    CHECK(values(of.theta)[p] == doctest::Approx(values(once.theta)[p]).epsilon(1e-12));

  accrue::accumulator mean_of_means(accrue::parameters(of.theta), accrue::per_microbatch{}, accrue::sgd{});
  CHECK(message_of([&] { fit.update(mean_of_means, 0, 31, [](auto&, auto, auto) {}); }).find("cut::even") !=
        std::string::npos);
}

TEST_CASE("fitting_microbatches: a microbatch of one that does not fit is an error, and nothing is lost") {
  model const of;
  auto group = accumulator_of(of, accrue::every{1}, accrue::dynamic_scale{.initial = 1.0f});
  fitting_microbatches fit(samples{4}, samples{2});
  auto const fails = [&](auto& filled, std::int64_t first, std::int64_t last) {
    if (last == 4) runs_out();
    of.hand_over(filled, first, last);
  };
  std::string const text = message_of([&] { fit.update(group, 0, 4, fails); });
  CHECK(text.find("a microbatch of 1 sample runs out of memory: std::bad_alloc") != std::string::npos);
  CHECK(text.find("checkpoint activations") != std::string::npos);
  CHECK(group.held() == microbatches{0});
  CHECK(group.ledger().samples() == samples{0});
  CHECK(values(of.theta) == std::vector(3, 0.0));
  fit.update(group, 0, 4, [&](auto& filled, auto first, auto last) { of.hand_over(filled, first, last); });
  CHECK(group.ledger().applied() == accrue::updates{1});
  CHECK(group.ledger().samples() == samples{4});
}

TEST_CASE("fitting_microbatches: other exceptions come through, the group is as if it had not begun") {
  struct own_error {
    int number;
  };
  model const of;
  auto group = accumulator_of(of);
  auto const fails = [&](auto& filled, std::int64_t first, std::int64_t last) {
    if (last - first > 2 && first > 0) throw own_error{7};
    of.hand_over(filled, first, last);
  };
  fitting_microbatches strict(samples{12}, samples{4});
  CHECK_THROWS_AS(strict.update(group, 0, 12, fails), own_error);
  CHECK(strict.refills() == 0);
  CHECK(group.held() == microbatches{0});
  fitting_microbatches<own_error> fit(samples{12}, samples{4});
  CHECK(fit.update(group, 0, 12, fails) == outcome::applied);
  CHECK(fit.plan().microbatch == samples{2});
  CHECK(group.ledger().samples() == samples{12});
  CHECK(group.ledger().started_again().samples == samples{4 + 4 + 3});
}

TEST_CASE("fitting_microbatches: a producer that runs out while it writes into the sums costs no group") {
  model const of;
  auto group = accumulator_of(of);
  fitting_microbatches fit(samples{4}, samples{2});
  int call = 0;
  fit.update(group, 0, 4, [&](auto& filled, std::int64_t first, std::int64_t last) {
    bool const fails = ++call == 2;
    group.accumulate(accrue::sum_written_by([&](auto const&, auto const&) {
                       if (fails) runs_out();
                     }),
                     samples{last - first});
    static_cast<void>(filled);
  });
  CHECK(group.ledger().dropped_groups() == 0);
  CHECK(group.ledger().groups_started_again() == 1);
  CHECK(group.ledger().samples() == samples{4});
  group.accumulate(accrue::sum_written_by([](auto const&, auto const&) {}), samples{2});
  CHECK_THROWS_AS(group.accumulate(accrue::sum_written_by([](auto const&, auto const&) { runs_out(); }), samples{2}),
                  std::bad_alloc);
  CHECK(group.ledger().dropped_groups() == 1);  // without it, as ever
}

TEST_CASE("fitting_microbatches: rejected microbatches of the attempt that failed are not counted") {
  model const of;
  auto group = accumulator_of(of, accrue::every{1}, accrue::reject_microbatch{.max_norm = 0.4});
  fitting_microbatches fit(samples{8}, samples{4});
  fit.update(group, 0, 8, [&](auto& filled, std::int64_t first, std::int64_t last) {
    if (last - first == 4 && first > 0) runs_out();
    of.hand_over(filled, first, last);  // the first examples have the largest gradients
  });
  CHECK(group.ledger().rejected().samples == samples{2});
  CHECK(group.ledger().samples() == samples{8});
  CHECK(group.ledger().rejections().size() == 1);
  CHECK(group.ledger().records().back().weight == 6.0);
}

TEST_CASE("fitting_microbatches: bad input is refused, and nothing has changed") {
  model const of;
  auto group = accumulator_of(of);
  fitting_microbatches fit(samples{4}, samples{2});
  auto const backward = [&](auto& filled, auto first, auto last) { of.hand_over(filled, first, last); };
  CHECK(message_of([&] { fit.update(group, 0, 5, backward); }).find("5 examples for a group of 4") !=
        std::string::npos);
  CHECK(message_of([&] { fit.update(group, 4, 0, backward); }).find("examples for a group of 4") != std::string::npos);
  of.hand_over(group, 0, 1);
  CHECK(message_of([&] { fit.update(group, 0, 4, backward); }).find("holds 1 microbatches already") !=
        std::string::npos);
  CHECK(group.held() == microbatches{1});
  group.discard();
  auto const text = message_of([&] { fit.update(group, 0, 4, [](auto&, auto, auto) {}); });
  CHECK(text.find("after 1 calls of the function the group holds 0 microbatches") != std::string::npos);
  CHECK_THROWS_AS(fitting_microbatches(samples{0}, samples{1}), accrue::error);
  CHECK_THROWS_AS(fitting_microbatches(samples{1}, samples{0}), accrue::error);
}

namespace {

/// Two replicas of this process, of which one may run out; a run without failures has the smaller cut from the start.
struct two_in_process {
  model first, second;
  template <class... Policies>
  auto replicas(Policies const&... policies) const {
    std::vector<decltype(accumulator_of(first, in_process_replicas<>{}, policies...))> all;
    all.push_back(accumulator_of(first, in_process_replicas<>{}, policies...));
    all.push_back(accumulator_of(second, in_process_replicas<>{}, policies...));
    return all;
  }
  [[nodiscard]] model const& operator[](std::size_t r) const { return r == 0 ? first : second; }
};

}  // namespace

TEST_CASE("fitting_microbatches: where one of two replicas runs out, both start the group again") {
  auto const trained = [](std::int64_t m, std::int64_t fits_on_second) {
    two_in_process const models;
    auto replicas = models.replicas(accrue::every{2});
    fitting_microbatches fit(samples{8}, samples{m});
    auto const backward = [&](auto& group, std::int64_t first, std::int64_t last, std::size_t r) {
      if (r == 1 && last - first > fits_on_second && last > 10) runs_out();
      models[r].hand_over(group, first, last);
    };
    CHECK(fit.update(replicas, 0, 16, backward)[1] == outcome::applied);
    CHECK(fit.end_of_data(replicas, 16, 21, backward)[0] == outcome::applied);
    for (auto& each : replicas) {
      CHECK(each.ledger().over_replicas().samples == samples{21});
      CHECK(each.policies().boundary == accrue::every{8 / fits_on_second});
    }
    CHECK(replicas[0].ledger().samples() == samples{8 + 3});
    CHECK(replicas[1].ledger().samples() == samples{8 + 2});
    CHECK(values(models.first.theta) == values(models.second.theta));
    return values(models.first.theta);
  };
  CHECK(trained(8, 2) == trained(2, 2));
  CHECK(trained(4, 1) == trained(1, 1));
}

namespace {

/// Members that are threads: what the transports of processes do, in one.
class thread_replicas {
 public:
  using fills = accrue::slot::replicas;
  using arrival = accrue::local_gradients;
  static constexpr bool alone = false;

  struct common {
    explicit common(int count) : members(count), meeting(count), parts(static_cast<std::size_t>(count)) {}
    int members;
    std::barrier<> meeting;
    std::vector<std::vector<std::byte>> parts;
    int gathers = 0;
  };
  thread_replicas(std::shared_ptr<common> shared, int member) : shared_(std::move(shared)), member_(member) {}

  [[nodiscard]] int members() const { return shared_->members; }
  [[nodiscard]] int member() const { return member_; }
  void gather(std::byte const* mine, std::size_t bytes, std::byte* all) const {
    shared_->parts[static_cast<std::size_t>(member_)].assign(mine, mine + bytes);
    if (member_ == 0) ++shared_->gathers;
    shared_->meeting.arrive_and_wait();
    for (auto const& each : shared_->parts) {
      if (each.size() != bytes) std::terminate();  // they are not in the same place
      std::memcpy(all, each.data(), bytes);
      all += bytes;
    }
    shared_->meeting.arrive_and_wait();
  }
  template <class Exec, class Real>
  void sum(Exec const& exec, Real* first, std::int64_t count) const {
    exec.fence("the sums are there");
    std::vector<Real> all(static_cast<std::size_t>(count) * shared_->parts.size());
    gather(reinterpret_cast<std::byte const*>(first), sizeof(Real) * static_cast<std::size_t>(count),
           reinterpret_cast<std::byte*>(all.data()));
    for (std::int64_t i = 0; i < count; ++i) {
      first[i] = 0;
      for (std::size_t m = 0; m < shared_->parts.size(); ++m)
        first[i] += all[m * static_cast<std::size_t>(count) + static_cast<std::size_t>(i)];
    }
  }
  template <class Exec>
  static void largest(Exec const&, std::uint8_t*, std::int64_t) {}
  bool operator==(thread_replicas const&) const = default;

 private:
  std::shared_ptr<common> shared_;
  int member_;
};

/// Calls `run(transport)` on each member.
template <class Run>
int on_members(int count, Run const& run) {
  auto const shared = std::make_shared<thread_replicas::common>(count);
  std::vector<std::thread> threads;
  for (int m = 0; m < count; ++m) threads.emplace_back([&, m] { run(thread_replicas(shared, m)); });
  for (std::thread& each : threads) each.join();
  return shared->gathers;
}

}  // namespace

TEST_CASE("fitting_microbatches: members whose data end early follow the others, and nobody waits for ever") {
  if constexpr (!Kokkos::SpaceAccessibility<Kokkos::HostSpace, array::memory_space>::accessible) return;
  auto const trained = [](std::int64_t m, std::int64_t fits, int* gathers) {
    std::vector<model> models(3);
    std::vector<std::optional<std::string>> texts(3);
    std::vector<std::int64_t> cuts(3);
    *gathers = on_members(3, [&](thread_replicas const& here) {
      auto const r = static_cast<std::size_t>(here.member());
      auto group = accumulator_of(models[r], here, accrue::every{1});
      fitting_microbatches fit(samples{4}, samples{m});
      auto const backward = [&](auto& filled, std::int64_t first, std::int64_t last) {
        if (here.member() == 2 && last - first > fits && first > 5) runs_out();  // in the second group
        models[r].hand_over(filled, first, last);
      };
      std::int64_t const groups = here.member() + 1;
      for (std::int64_t g = 0; g < groups; ++g) fit.update(group, 4 * g, 4 * g + 4, backward);
      fit.end_of_data(group, 4 * groups, 4 * groups + here.member(), backward);
      cuts[r] = fit.plan().microbatch.value();
      texts[r] = without_restarts(text_of(group.ledger()));
      CHECK(group.ledger().over_replicas().samples == samples{4 + 8 + 12 + 0 + 1 + 2});
    });
    CHECK(values(models[0].theta) == values(models[1].theta));
    CHECK(values(models[0].theta) == values(models[2].theta));
    CHECK(cuts == std::vector<std::int64_t>(3, fits));
    return values(models[0].theta);
  };
  int with_failures = 0, without = 0, by_hand = 0;
  auto const restarted = trained(4, 1, &with_failures);
  auto const oracle = trained(1, 1, &without);
  // The first group was cut otherwise, which rounds otherwise.
  for (std::size_t p = 0; p < 3; ++p) CHECK(restarted[p] == doctest::Approx(oracle[p]).epsilon(1e-12));
  CHECK(with_failures == without + 2);  // from 4 to 2 to 1

  by_hand = on_members(3, [&](thread_replicas const& here) {
    model const of;
    auto group = accumulator_of(of, here, accrue::every{4});
    std::int64_t const groups = here.member() + 1;
    for (std::int64_t g = 0; g < groups; ++g) {
      for (std::int64_t i = 0; i < 4; ++i) of.hand_over(group, 4 * g + i, 4 * g + i + 1);
      group.update();
    }
    for (std::int64_t i = 0; i < here.member(); ++i) of.hand_over(group, i, i + 1);
    group.end_of_data();
  });
  CHECK(without == by_hand);  // no message more
}

TEST_CASE("fitting_microbatches: where a member fails for good all of them say so, and may go on") {
  if constexpr (!Kokkos::SpaceAccessibility<Kokkos::HostSpace, array::memory_space>::accessible) return;
  for (bool const for_lack_of_memory : {true, false}) {
    std::vector<std::string> texts(2);
    std::vector<bool> went_on(2);
    on_members(2, [&](thread_replicas const& here) {
      auto const r = static_cast<std::size_t>(here.member());
      model const of;
      auto group = accumulator_of(of, here);
      fitting_microbatches fit(samples{2}, samples{1});
      texts[r] = message_of([&] {
        fit.update(group, 0, 2, [&](auto& filled, std::int64_t first, std::int64_t last) {
          if (r == 1 && first == 1) for_lack_of_memory ? runs_out() : throw std::logic_error("another reason");
          of.hand_over(filled, first, last);
        });
      });
      bool const is_clear = group.held() == microbatches{0};
      fit.update(group, 0, 2, [&](auto& filled, auto first, auto last) { of.hand_over(filled, first, last); });
      went_on[r] = is_clear && group.ledger().applied() == accrue::updates{1};
    });
    CHECK(texts[0].find("1 of the members could not fill their group") != std::string::npos);
    CHECK(texts[1].find(for_lack_of_memory ? "1 sample runs out of memory" : "another reason") != std::string::npos);
    CHECK((went_on[0] && went_on[1]));
  }
}

TEST_CASE("fitting_microbatches: a replica that fills its groups by hand is told what the others need") {
  if constexpr (!Kokkos::SpaceAccessibility<Kokkos::HostSpace, array::memory_space>::accessible) return;
  std::vector<std::string> texts(2);
  on_members(2, [&](thread_replicas const& here) {
    auto const r = static_cast<std::size_t>(here.member());
    model const of;
    auto group = accumulator_of(of, here);
    fitting_microbatches fit(samples{2}, samples{2});
    auto const backward = [&](auto& filled, std::int64_t first, std::int64_t last) {
      if (last - first > 1) runs_out();
      of.hand_over(filled, first, last);
    };
    if (r == 0) of.hand_over(group, 0, 2);
    texts[r] = message_of(
        [&] { r == 0 ? static_cast<void>(group.update()) : static_cast<void>(fit.update(group, 0, 2, backward)); });
  });
  for (std::string const& each : texts)
    CHECK(each.find("use accrue::fitting_microbatches on every replica") != std::string::npos);
}

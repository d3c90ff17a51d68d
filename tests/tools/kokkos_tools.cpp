// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What accrue does with the machine, seen by the callbacks that profilers use: launches, fences, allocations.
#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#ifdef KOKKOS_ENABLE_OPENMP
#include <omp.h>

#include <chrono>
#include <future>
#include <mutex>
#endif

namespace {

namespace tools = Kokkos::Tools::Experimental;

struct event {
  std::string label;
  std::uint32_t instance;  ///< and device, as Kokkos packs them
};

struct events {
  std::vector<event> launches, fences;
  std::vector<std::string> allocations;
};

events* heard = nullptr;  // the callbacks are plain functions

void hear_launch(char const* label, std::uint32_t instance, std::uint64_t*) {
  heard->launches.push_back({label, instance});
}
void hear_fence(char const* label, std::uint32_t instance, std::uint64_t*) {
  // Kokkos fences on behalf of the callbacks themselves.
  if (std::string_view(label).find("Kokkos Profile Tool Fence") == std::string_view::npos)
    heard->fences.push_back({label, instance});
}
void hear_allocation(Kokkos::Tools::SpaceHandle, char const* label, void const*, std::uint64_t) {
  heard->allocations.emplace_back(label);
}

/// What happens during a call; the callbacks that were there before are put back.
template <class Call>
events during(Call const& call) {
  struct listening {
    tools::EventSet before = tools::get_callbacks();
    events all;
    listening() {
      heard = &all;
      tools::set_begin_parallel_for_callback(hear_launch);
      tools::set_begin_parallel_reduce_callback(hear_launch);
      tools::set_begin_parallel_scan_callback(hear_launch);
      tools::set_begin_fence_callback(hear_fence);
      tools::set_allocate_data_callback(hear_allocation);
    }
    ~listening() {
      tools::set_callbacks(before);
      heard = nullptr;
    }
  };
  listening now;
  call();
  return now.all;
}

std::vector<std::string> labels(std::vector<event> const& all) {
  std::vector<std::string> texts;
  for (event const& each : all) texts.push_back(each.label);
  return texts;
}

bool is_policy_of_a_stage(std::string_view label) {
  for (std::string_view const stage : {"accumulate", "reduce", "finalize", "update", "ledger"}) {
    std::string const start = "accrue::" + std::string(stage) + "::";
    if (!label.starts_with(start) || label.size() == start.size()) continue;
    return label.substr(start.size()).find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == label.npos;
  }
  return false;
}

std::vector<std::string> times(int n, std::string const& label) {
  return std::vector<std::string>(static_cast<std::size_t>(n), label);
}
template <class... Lists>
std::vector<std::string> joined(Lists const&... lists) {
  std::vector<std::string> all;
  (all.insert(all.end(), lists.begin(), lists.end()), ...);
  return all;
}

/// Three parameters of different rank, scalar and layout, and what belongs to them.
struct three_views {
  Kokkos::View<float*> a{"a", 5}, a_gradient{"a_gradient", 5};
  Kokkos::View<double**, Kokkos::LayoutLeft> b{"b", 3, 4}, b_gradient{"b_gradient", 3, 4};
  Kokkos::View<accrue::bfloat16> c{"c"}, c_gradient{"c_gradient"};
  static constexpr int scalar_pairs = 3;

  [[nodiscard]] auto parameters() const { return accrue::parameters(a, b, c); }
  [[nodiscard]] auto mean() const { return accrue::mean_gradient{a_gradient, b_gradient, c_gradient}; }
};

template <class... Exec>
auto adamw_on(three_views const& model, Exec const&... exec) {
  return accrue::accumulator(exec..., model.parameters(), accrue::per_sample{}, accrue::every{2}, accrue::keep_last{},
                             accrue::clip_by_global_norm{.max_norm = 1.0}, accrue::adamw{});
}

/// Groups of two microbatches, and at the end one that is not full.
template <class Group>
void feed(Group& group, three_views const& model, int groups) {
  for (int g = 0; g < groups; ++g) {
    group.accumulate(model.mean(), accrue::samples{3}, accrue::mean_loss{0.5});
    group.accumulate(model.mean(), accrue::samples{1}, accrue::mean_loss{0.25});
    group.update();
  }
  group.accumulate(model.mean(), accrue::samples{3}, accrue::mean_loss{0.5});
  group.end_of_data();
}

struct set_to_one {
  Kokkos::View<float> x;
  KOKKOS_FUNCTION void operator()(int) const { x() = 1; }
};

}  // namespace

TEST_CASE("a group launches its additions, the last of which measures, and one update, per pair of scalars") {
  three_views const model;
  auto group = adamw_on(model);
  events const seen = during([&] {
    group.accumulate(model.mean(), accrue::samples{3});
    group.accumulate(model.mean(), accrue::samples{1});
    group.update();
  });
  int const pairs = three_views::scalar_pairs;
  CHECK(labels(seen.launches) ==
        joined(times(2 * pairs, "accrue::accumulate::sum"), times(pairs, "accrue::update::adamw")));
}

TEST_CASE("where no boundary knows the last microbatch, or somebody looked, the norm is a launch of its own") {
  three_views const model;
  int const pairs = three_views::scalar_pairs;
  auto const last = joined(times(pairs, "accrue::finalize::measure"), times(pairs, "accrue::update::adamw"));
  auto group = adamw_on(model);
  group.accumulate(model.mean(), accrue::samples{3});
  CHECK(labels(during([&] { group.update(); }).launches) == last);
  group.accumulate(model.mean(), accrue::samples{3});
  group.accumulate(model.mean(), accrue::samples{3});
  static_cast<void>(group.measure());
  CHECK(labels(during([&] { group.update(); }).launches) == last);
}

TEST_CASE(
    "last_contribution: the norm is measured on the way where no boundary knows, and anew if it was not the last") {
  three_views const model;
  int const pairs = three_views::scalar_pairs;
  accrue::accumulator group(model.parameters(), accrue::per_sample{}, accrue::adamw{});
  auto const launched = [&](auto... facts) {
    return labels(during([&] {
                    group.accumulate(model.mean(), accrue::samples{1});
                    group.accumulate(model.mean(), accrue::samples{3}, facts...);
                    group.update();
                  }).launches);
  };
  auto const additions = times(2 * pairs, "accrue::accumulate::sum");
  auto const update = times(pairs, "accrue::update::adamw");
  CHECK(launched(accrue::last_contribution) == joined(additions, update));
  CHECK(launched() == joined(joined(additions, times(pairs, "accrue::finalize::measure")), update));

  group.accumulate(model.mean(), accrue::samples{1}, accrue::last_contribution);
  CHECK(launched() == joined(joined(additions, times(pairs, "accrue::finalize::measure")), update));
  CHECK(group.ledger().microbatches() == accrue::microbatches{7});
}

TEST_CASE("the number of views does not change the number of launches, two scalars of gradients do") {
  std::vector<Kokkos::View<float*>> many, gradients;
  for (std::size_t n = 0; n < 20; ++n) {
    many.emplace_back("parameters", 2 * n);  // the first one has no elements
    gradients.emplace_back("gradient", 2 * n);
  }
  Kokkos::View<float**> one("parameters", 3, 3);
  Kokkos::View<accrue::bfloat16**> one_gradient("gradient", 3, 3);
  accrue::accumulator group(accrue::parameters(many, one), accrue::per_sample{}, accrue::sgd{});

  events const alike = during([&] {
    group.accumulate(accrue::mean_gradient{gradients, accrue::no_gradient}, accrue::samples{1});
  });
  CHECK(labels(alike.launches) == times(1, "accrue::accumulate::sum"));
  events const mixed = during([&] {
    group.accumulate(accrue::mean_gradient{gradients, one_gradient}, accrue::samples{1});
  });
  CHECK(labels(mixed.launches) == times(2, "accrue::accumulate::sum"));
  events const update = during([&] { group.update(); });
  CHECK(labels(update.launches) == std::vector<std::string>{"accrue::finalize::measure", "accrue::update::sgd"});
}

TEST_CASE("a microbatch that is ignored and a group that is empty launch nothing") {
  three_views const model;
  auto group = adamw_on(model);
  events const seen = during([&] {
    CHECK(group.update() == accrue::outcome::empty);
    group.accumulate(model.mean(), accrue::samples{0});
    CHECK(group.update() == accrue::outcome::empty);
    group.accumulate(model.mean(), accrue::samples{0});
    group.discard();
  });
  CHECK(labels(seen.launches).empty());
  CHECK(labels(seen.fences).empty());
}

TEST_CASE("a clip on the microbatch reads each once more, a loss on the device costs a launch") {
  Kokkos::View<double*> const theta("theta", 7), gradient("gradient", 7);
  Kokkos::View<float> const loss("loss");
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::sgd{},
                            accrue::on_microbatch(accrue::clip_by_global_norm{.max_norm = 1.0}));
  events const seen =
      during([&] { group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{2}, accrue::mean_loss{loss}); });
  CHECK(labels(seen.launches) == std::vector<std::string>{"accrue::accumulate::microbatch_norm",
                                                          "accrue::accumulate::sum", "accrue::accumulate::loss"});
  CHECK(labels(seen.fences).empty());

  // The looks at an open group are launches too, and fence.
  events const look = during([&] {
    static_cast<void>(group.measure());
    static_cast<void>(group.snapshot<0>());
  });
  CHECK(look.launches.size() == 2);
  CHECK(look.fences.size() >= 2);
  for (std::string const& label : labels(look.launches)) CHECK_MESSAGE(is_policy_of_a_stage(label), label);
}

TEST_CASE("what is allocated at construction is labelled accrue, and nothing is allocated afterwards") {
  three_views const model;
  std::optional<decltype(adamw_on(model))> group;
  events const construction = during([&] { group.emplace(adamw_on(model)); });
  CHECK(construction.allocations.size() >= 3);  // at least buffer and state for each scalar
  for (std::string const& label : construction.allocations) CHECK_MESSAGE(label.starts_with("accrue::"), label);

  feed(*group, model, 1);  // Kokkos may allocate for itself at the first launch
  events const running = during([&] { feed(*group, model, 100); });
  CHECK(running.allocations == std::vector<std::string>{});
  CHECK(running.launches.size() > 100);
  CHECK(group->ledger().applied() == accrue::updates{103});
}

TEST_CASE("a hundred groups run without a fence, whether they are applied or skipped") {
  three_views const model;
  auto group = adamw_on(model);
  CHECK(labels(during([&] { feed(group, model, 100); }).fences) == std::vector<std::string>{});
  Kokkos::deep_copy(model.b_gradient, std::numeric_limits<double>::quiet_NaN());
  CHECK(labels(during([&] { feed(group, model, 100); }).fences) == std::vector<std::string>{});
  CHECK(group.ledger().skipped() == accrue::updates{101});
}

TEST_CASE("comparing a handle fences once, and so does the ledger when groups were closed since") {
  three_views const model;
  auto group = adamw_on(model);
  feed(group, model, 2);
  group.accumulate(model.mean(), accrue::samples{1});
  auto const done = group.update();
  CHECK(during([&] { CHECK(done == accrue::outcome::applied); }).fences.size() == 1);
  CHECK(during([&] { CHECK(group.ledger().applied() == accrue::updates{4}); }).fences.size() == 1);
  CHECK(during([&] { CHECK(group.ledger().applied() == accrue::updates{4}); }).fences.empty());

  auto const nothing = group.update();  // known to the host
  CHECK(during([&] { CHECK(nothing == accrue::outcome::empty); }).fences.empty());
}

TEST_CASE("a rule on the host fences once per group") {
  Kokkos::View<double*> const theta("theta", 7), gradient("gradient", 7);
  int calls = 0;
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{},
                            accrue::with_gradient([&](auto const&) { ++calls; }));
  events const seen = during([&] {
    for (int g = 0; g < 100; ++g) {
      group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{2});
      group.update();
    }
  });
  CHECK(calls == 100);
  CHECK(seen.fences.size() == 100);
  CHECK(seen.allocations == std::vector<std::string>{});
}

TEST_CASE("every kernel and fence of a group runs on the instance that was given") {
  using exec = Kokkos::DefaultExecutionSpace;
  auto const instances = Kokkos::Experimental::partition_space(exec{}, 1, 1);
  std::uint32_t const first = tools::device_id(instances[0]);
  std::uint32_t const second = tools::device_id(instances[1]);
  if (first == second || first == tools::device_id(exec{})) return;  // Serial and OpenMP do not tell theirs apart
  auto const on = [](std::vector<event> const& all, std::uint32_t instance) {
    for (event const& each : all) {
      INFO(each.label);
      CHECK(tools::identifier_from_devid(each.instance).instance_id ==
            tools::identifier_from_devid(instance).instance_id);
    }
    return all.size();
  };

  three_views const model;
  auto group = adamw_on(model, instances[0]);
  decltype(group.snapshot<1>()) copy;  // to free it is the user's, and waits for all instances
  events const seen = during([&] {
    feed(group, model, 10);
    static_cast<void>(group.measure());
    copy = group.snapshot<1>();
    CHECK(group.ledger().applied() == accrue::updates{11});
  });
  CHECK(on(seen.launches, first) > 10 * 13);
  CHECK(on(seen.fences, first) > 0);

  // A call may name another instance; what it launches and its outcome belong to that one.
  events const elsewhere = during([&] {
    group.accumulate(instances[1], model.mean(), accrue::samples{1});
    CHECK(group.update(instances[1]) == accrue::outcome::applied);
    CHECK(group.ledger().applied() == accrue::updates{12});
  });
  CHECK(on(elsewhere.launches, second) == 10);
  CHECK(on(elsewhere.fences, second) == 2);
  decltype(group.snapshot<1>()) another;
  events const looked = during([&] {
    static_cast<void>(group.measure(instances[1]));
    another = group.snapshot<1>(instances[1]);
  });
  CHECK(on(looked.launches, second) > 1);
  CHECK(on(looked.fences, second) > 1);
}

#ifdef KOKKOS_ENABLE_OPENMP
namespace {

struct nested_regions {  // without them Kokkos divides no OpenMP instance
  int before = omp_get_max_active_levels();
  nested_regions() { omp_set_max_active_levels(2); }
  ~nested_regions() { omp_set_max_active_levels(before); }
};

/// Whether a call comes to its end while the default instance of OpenMP is locked, as it is by a kernel that runs
/// there.
template <class Call>
bool does_without_default_instance(Call const& call) {
  std::unique_lock lock(Kokkos::OpenMP{}.impl_internal_space_instance()->m_instance_mutex);
  auto const elsewhere = std::async(std::launch::async, [&] {
    nested_regions const levels;
    call();
  });
  bool const done = elsewhere.wait_for(std::chrono::seconds(5)) == std::future_status::ready;
  lock.unlock();
  elsewhere.wait();
  return done;
}

}  // namespace

TEST_CASE("no call on an accumulator with an OpenMP instance of its own waits for the default instance") {
  nested_regions const levels;
  auto const instances = Kokkos::Experimental::partition_space(Kokkos::OpenMP{}, 1, 1);
  REQUIRE(instances[0] != Kokkos::OpenMP{});
  three_views const model;
  auto group = adamw_on(model, instances[0]);
  Kokkos::View<float> const in_use("in_use");
  auto const in_default = [&] {
    Kokkos::parallel_for("in default", Kokkos::RangePolicy<Kokkos::OpenMP>(0, 1), set_to_one{in_use});
  };
  CHECK_FALSE(does_without_default_instance(in_default));  // the check is seen to fail
  CHECK(does_without_default_instance([&] { feed(group, model, 10); }));
  CHECK(does_without_default_instance([&] { group.accumulate(instances[1], model.mean(), accrue::samples{1}); }));
  CHECK(does_without_default_instance([&] { static_cast<void>(group.measure()); }));
  decltype(group.snapshot<1>()) copy;  // to free it is the user's, and waits for all instances
  CHECK(does_without_default_instance([&] { copy = group.snapshot<1>(); }));
  CHECK(does_without_default_instance([&] { static_cast<void>(group.update(instances[1]).result()); }));
  CHECK(does_without_default_instance([&] { static_cast<void>(group.ledger()); }));
  CHECK(group.ledger().applied() == accrue::updates{12});

  auto in_the_default = adamw_on(model, Kokkos::OpenMP{});
  in_the_default.accumulate(model.mean(), accrue::samples{1});
  CHECK_FALSE(does_without_default_instance([&] { static_cast<void>(in_the_default.measure()); }));
  CHECK(does_without_default_instance([&] { static_cast<void>(in_the_default.measure(instances[1])); }));
  decltype(group.snapshot<1>()) another;
  CHECK(does_without_default_instance([&] { another = in_the_default.snapshot<1>(instances[1]); }));
}
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums, state and update in shards: each test is run by 1, 2, 3 and 4 processes.
#include <accrue/accrue.hpp>
#include <accrue/reduce/mpi_replicas.hpp>
#include <accrue/reduce/sharded.hpp>
#include <accrue/replicas.hpp>
#include <accrue/restart.hpp>

#include "mpi/counted_calls.hpp"
#include "mpi/processes.hpp"
#include "support/host.hpp"
#include "support/message.hpp"

#include <doctest/doctest.h>
#include <mpi.h>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

namespace {

using accrue::mean_gradient;
using accrue::mpi_replicas;
using accrue::outcome;
using accrue::sharded;
using accrue::tokens;
using support::contains;
using support::message_of;
using support::values;

/// A model whose views lie in memory in every way: columns first, apart, none at all, in 16 bits, and more than one
/// round of the exchange of a shard.
struct model {
  Kokkos::View<float**, Kokkos::LayoutLeft> columns{"columns", 5, 7};
  Kokkos::View<double* [3], Kokkos::LayoutRight> wide { "wide", 11 };
  Kokkos::View<double*, Kokkos::LayoutStride> apart = Kokkos::subview(wide, Kokkos::ALL, 1);
  Kokkos::View<float*> none{"none", 0};
  Kokkos::View<float> scalar{"scalar"};
  Kokkos::View<float*> large{"large", 20011};
  Kokkos::View<accrue::bfloat16*> copy{"copy", 20011};
};
auto parameters_of(model const& m) {
  return accrue::parameters(m.columns, m.apart, m.none, m.scalar, accrue::master_weights{m.large, m.copy});
}
void fill_at_random(model const& m, std::mt19937_64& random) {
  auto const fill = [&random](auto const& view) {
    auto numbers = values(view);
    for (auto& each : numbers) each = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 256.0f;
    support::fill(view, numbers);
  };
  fill(m.columns), fill(m.apart), fill(m.scalar), fill(m.large);
}
template <class T>
double distance(std::vector<T> const& a, std::vector<T> const& b) {
  double most = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return most;
}
double distance(model const& a, model const& b) {
  return std::max({distance(values(a.columns), values(b.columns)), distance(values(a.apart), values(b.apart)),
                   distance(values(a.scalar), values(b.scalar)), distance(values(a.large), values(b.large))});
}
bool all_same_everywhere(model const& m) {
  bool const columns = same_everywhere(values(m.columns)), apart = same_everywhere(values(m.apart));
  bool const scalar = same_everywhere(values(m.scalar)), large = same_everywhere(values(m.large));
  return same_everywhere(values(m.copy)) && columns && apart && scalar && large;
}

using vector = Kokkos::View<float*>;
vector vector_of(std::vector<float> const& elements) { return support::make_view<float>(elements); }

}  // namespace

TEST_CASE("sharded: the update is that of one process that sees all microbatches") {
  std::mt19937_64 common(17);
  model const mine, reference, gradient;
  auto const policies = [](auto const& m, auto const&... more) {
    return accrue::accumulator(parameters_of(m), accrue::per_token{}, accrue::clip_by_global_norm{.max_norm = 0.5},
                               accrue::adamw{.learning_rate = 0.25, .weight_decay = 0.125}, more...);
  };
  auto group = policies(mine, sharded{mpi_replicas<>()});
  auto alone = policies(reference);
  for (int g = 0; g < 4; ++g) {
    for (int turn = 0; turn < 3; ++turn)
      for (int who = 0; who < members(); ++who) {
        fill_at_random(gradient, common);  // the same on all, so that one process can repeat it
        auto const count = tokens{static_cast<std::int64_t>(common() % 40)};
        bool const has_scalar = common() % 2 == 0, comes = common() % 4 != 0;
        if (!comes) continue;
        auto const hand_over = [&](auto& to) {
          if (has_scalar)
            to.accumulate(
                mean_gradient{gradient.columns, gradient.apart, gradient.none, gradient.scalar, gradient.large}, count);
          else
            to.accumulate(
                mean_gradient{gradient.columns, gradient.apart, gradient.none, accrue::no_gradient, gradient.large},
                count);
        };
        hand_over(alone);
        if (who == member()) hand_over(group);
      }
    auto const expected = alone.update();
    auto const found = group.update();
    REQUIRE(found.result() == expected.result());
    CHECK(distance(mine, reference) < 1e-5);
    CHECK(distance(values(mine.copy), values(reference.copy)) < 0.01);
    CHECK(all_same_everywhere(mine));
    auto const& record = group.ledger().records().back();
    CHECK(record.weight == alone.ledger().records().back().weight);
    CHECK(record.norm == doctest::Approx(alone.ledger().records().back().norm).epsilon(1e-6));
  }
}

TEST_CASE("sharded: who has fewer microbatches, or none, goes on taking part") {
  vector const theta("theta", 3);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::keep_last{},
                            sharded{mpi_replicas<>()}, accrue::sgd{.learning_rate = 1.0});
  for (int m = 0; m < member(); ++m)  // process d has d of them, the first one none
    group.accumulate(mean_gradient{vector_of({1.0f, 2.0f, static_cast<float>(member())})}, accrue::samples{2});
  auto const done = group.end_of_data();
  if (members() == 1) {
    CHECK(done == outcome::empty);
    return;
  }
  CHECK(done == outcome::applied);
  float microbatches = 0.0f, sum = 0.0f;
  for (int d = 1; d < members(); ++d)
    microbatches += static_cast<float>(d), sum += static_cast<float>(d) * static_cast<float>(d);
  auto const moved = values(theta);
  CHECK(moved[0] == -1.0f);
  CHECK(moved[1] == -2.0f);
  CHECK(moved[2] == doctest::Approx(-sum / microbatches).epsilon(1e-6));
  CHECK(group.ledger().records().back().counts.samples.value() == static_cast<std::int64_t>(2.0f * microbatches));
}

TEST_CASE("sharded: a NaN on one process skips on all, with its state and scale; the next group is whole again") {
  vector const theta("theta", 40);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, sharded{mpi_replicas<>()},
                            accrue::dynamic_scale{.initial = 1024.0}, accrue::momentum{.learning_rate = 1.0});
  std::vector<float> numbers(40, 1024.0f);
  bool const last = member() == members() - 1;
  if (last) numbers[39] = std::numeric_limits<float>::quiet_NaN();
  group.accumulate(mean_gradient{vector_of(numbers)}, accrue::samples{1});
  CHECK(group.update() == outcome::skipped_non_finite);
  CHECK(group.loss_scale().value() == 512.0f);
  CHECK(values(theta) == std::vector<float>(40, 0.0f));
  group.accumulate(mean_gradient{vector_of(std::vector<float>(40, 512.0f))}, accrue::samples{1});
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta) == std::vector<float>(40, -1.0f));
}

TEST_CASE("sharded: a veto of one is a veto of all") {
  vector const theta("theta", 5);
  accrue::accumulator group(
      accrue::parameters(theta), accrue::per_sample{},
      accrue::veto_on_host([](accrue::group_finding const&) { return member() == members() - 1; }),
      sharded{mpi_replicas<>()}, accrue::sgd{.learning_rate = 1.0});
  group.accumulate(mean_gradient{vector_of({1, 2, 3, 4, 5})}, accrue::samples{1});
  CHECK(group.update() == outcome::vetoed);
  CHECK(values(theta) == std::vector<float>(5, 0.0f));
}

TEST_CASE("sharded: messages and bytes are those of the model") {
  constexpr int elements = 3000000;
  vector const theta("theta", elements), gradient("gradient", elements);
  mpi_replicas<> const replicas;
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, sharded{replicas}, accrue::sgd{});
  counted = {};
  group.accumulate(mean_gradient{gradient}, tokens{5});
  CHECK(counted.gathers == 1);
  CHECK(counted.sums_to_owners == 3);  // 12 MB in rounds of 4 MiB
  CHECK(counted.sums + counted.others == 0);
  CHECK(static_cast<double>(counted.summed_bytes) == doctest::Approx(4.0 * elements).epsilon(0.001));
  CHECK(counted.gathered_bytes == 58);
  counted = {};
  group.update();
  CHECK(counted.gathers == 4 + 3);  // who closes, what is held, the norm, the decision, and the parameters in rounds
  CHECK(counted.sums + counted.sums_to_owners + counted.others == 0);
  double const parameters = 4.0 * elements / members();
  CHECK(static_cast<double>(counted.gathered_bytes) == doctest::Approx(parameters + 700).epsilon(0.01));
  CHECK(replicas.spent().calls == 1 + 3 + 4 + 3);
}

namespace {
std::int64_t allocated = 0;
}
TEST_CASE("sharded: buffer and state take a D-th of their memory") {
  constexpr std::int64_t elements = 1 << 20;
  vector const theta("theta", elements);
  allocated = 0;
  auto const before = Kokkos::Tools::Experimental::get_callbacks();
  Kokkos::Tools::Experimental::set_allocate_data_callback(
      [](Kokkos::Tools::SpaceHandle, char const* label, void const*, std::uint64_t bytes) {
        if (std::string(label).find("accrue::buffer_and_state") == 0) allocated += static_cast<std::int64_t>(bytes);
      });
  accrue::accumulator const group(accrue::parameters(theta), accrue::per_sample{}, sharded{mpi_replicas<>()},
                                  accrue::adam{});
  Kokkos::Tools::Experimental::set_callbacks(before);
  double const whole = 4.0 * 3 * static_cast<double>(elements);  // sums and two words of state
  CHECK(static_cast<double>(allocated) == doctest::Approx(whole / members()).epsilon(0.001));
}

TEST_CASE("sharded: whoever does not agree is named on every process, before anything is summed") {
  if (members() == 1) return;
  bool const last = member() == members() - 1;
  vector const theta("theta", last ? 4 : 3);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, sharded{mpi_replicas<>()}, accrue::sgd{});
  vector const gradient("gradient", last ? 4 : 3);
  auto const message = message_of([&] { group.accumulate(mean_gradient{gradient}, accrue::samples{1}); });
  CHECK(contains(message, "replica " + std::to_string(members() - 1) + " has parameters of other shapes"));
  CHECK(group.held() == accrue::microbatches{0});
}

namespace {

/// Groups of the model above, of which every one of so many replicas brings the same microbatches.
template <class Group>
void run_groups(Group& group, int groups, unsigned seed) {
  std::mt19937_64 random(seed);
  model const gradient;
  for (int g = 0; g < groups; ++g) {
    fill_at_random(gradient, random);
    group.accumulate(mean_gradient{gradient.columns, gradient.apart, gradient.none, gradient.scalar, gradient.large},
                     tokens{3});
    REQUIRE(group.update() == outcome::applied);
  }
}
auto adam_on(model const& m, MPI_Comm replicas) {
  return accrue::accumulator(parameters_of(m), accrue::per_token{}, sharded{mpi_replicas<>(replicas)},
                             accrue::adam{.learning_rate = 0.125});
}

}  // namespace

TEST_CASE("sharded: a state of all members is whole, and any number of others goes on with it") {
  model const mine, reference;
  auto group = adam_on(mine, MPI_COMM_WORLD);
  accrue::accumulator whole(parameters_of(reference), accrue::per_token{}, accrue::adam{.learning_rate = 0.125});
  run_groups(group, 3, 5);
  run_groups(whole, 3, 5);
  std::stringstream file;
  accrue::save(group, file);
  auto const bytes = file.str();
  CHECK(same_everywhere(std::vector<char>(bytes.begin(), bytes.end())));

  MPI_Comm fewer = MPI_COMM_NULL;  // two teams: of 4 processes 2 and 2, of 3 processes 2 and 1
  MPI_Comm_split(MPI_COMM_WORLD, member() % 2, member(), &fewer);
  for (MPI_Comm next : {MPI_COMM_WORLD, fewer, MPI_COMM_SELF}) {
    model const other;
    auto resumed = adam_on(other, next);
    std::istringstream in(bytes);
    accrue::load(resumed, in);
    CHECK(distance(other, mine) == 0.0);
    std::ostringstream again;
    accrue::save(resumed, again);
    bool const same_file = again.str() == bytes;
    CHECK(same_file);
    run_groups(resumed, 2, 6);
    CHECK(resumed.ledger().applied() == accrue::updates{5});

    // Adam's second update after a state that was lost would be ten times as far from this one.
    model const expected;
    accrue::accumulator from_whole(parameters_of(expected), accrue::per_token{}, accrue::adam{.learning_rate = 0.125});
    std::stringstream state_of_whole;
    accrue::save(whole, state_of_whole);
    accrue::load(from_whole, state_of_whole);
    run_groups(from_whole, 2, 6);
    CHECK(distance(other, expected) < 1e-4);
  }
  MPI_Comm_free(&fewer);
}

TEST_CASE("sharded: where one member writes, the others take part, of views larger than what goes over at once") {
  std::size_t const elements = (std::size_t{1} << 20) + 77;
  vector const theta("theta", elements), other("other", elements), gradient("gradient", elements);
  auto const make = [](vector const& of) {
    return accrue::accumulator(accrue::parameters(of), accrue::per_sample{}, sharded{mpi_replicas<>()},
                               accrue::momentum{.learning_rate = 0.125, .factor = 0.5});
  };
  auto const one_group = [&](auto& to, double slope) {
    Kokkos::parallel_for(
        elements,
        KOKKOS_LAMBDA(std::size_t i) { gradient(i) = static_cast<float>(slope * static_cast<double>(i % 251)); });
    to.accumulate(mean_gradient{gradient}, accrue::samples{1});
    REQUIRE(to.update() == outcome::applied);
  };
  auto group = make(theta);
  one_group(group, 1.0);
  one_group(group, -0.25);
  std::stringstream file;
  if (member() == 0)
    accrue::save(group, file);
  else
    accrue::take_part_in_save(group);
  std::string bytes = file.str();
  std::size_t size = bytes.size();
  PMPI_Bcast(&size, sizeof size, MPI_BYTE, 0, MPI_COMM_WORLD);
  bytes.resize(size);
  PMPI_Bcast(bytes.data(), static_cast<int>(size), MPI_BYTE, 0, MPI_COMM_WORLD);

  auto resumed = make(other);
  std::istringstream in(bytes);
  accrue::load(resumed, in);
  one_group(group, 0.5);
  one_group(resumed, 0.5);
  CHECK(values(other) == values(theta));
  CHECK(same_everywhere(values(other)));
}

namespace {
/// A disk that is full after so many bytes; or throws then.
class full_disk : public std::streambuf {
 public:
  full_disk(std::streamsize bytes, bool throws) : left_(bytes), throws_(throws) {}

 protected:
  std::streamsize xsputn(char const*, std::streamsize size) override {
    if (size > left_ && throws_) throw std::runtime_error("the disk is full");
    std::streamsize const taken = std::min(size, left_);
    left_ -= taken;
    return taken;
  }

 private:
  std::streamsize left_;
  bool throws_;
};
}  // namespace

TEST_CASE("sharded: a file that cannot be opened, or ends in the middle, leaves no other member waiting") {
  model const mine;
  auto group = adam_on(mine, MPI_COMM_WORLD);
  run_groups(group, 1, 9);
  std::ostringstream good;
  accrue::save(group, good);
  auto const whole = static_cast<std::streamsize>(good.str().size());
  bool const last = member() == members() - 1;
  for (std::streamsize const room : {std::streamsize{0}, std::streamsize{700}, whole / 2, whole - 1})
    for (bool const throws : {false, true}) {
      full_disk disk(room, throws);
      std::ostream full(&disk);
      std::string const message = [&]() -> std::string {
        try {
          accrue::save(group, last ? full : static_cast<std::ostream&>(good));
        } catch (std::exception const& e) {
          return e.what();
        }
        return "no error";
      }();
      CHECK(contains(message, !last ? "no error" : throws ? "the disk is full" : "the stream does not take the state"));
    }
  std::ostream nowhere(nullptr);
  CHECK(contains(message_of([&] { accrue::save(group, last ? nowhere : static_cast<std::ostream&>(good)); }),
                 last ? "the stream does not take the state" : "no error"));
  CHECK(contains(message_of([&] {
                   if (last)
                     accrue::save_file(group, "/no such folder/state");
                   else
                     accrue::save(group, good);
                 }),
                 last ? "cannot be opened" : "no error"));
  run_groups(group, 1, 9);
}

namespace {
struct broken_observer {
  bool throws;
  void group_recorded(accrue::record const&) const {
    if (throws) throw std::runtime_error("no room for a record");
  }
};
}  // namespace

TEST_CASE("sharded: an observer that throws when the state is asked for does so before others wait for it") {
  model const mine;
  auto group = adam_on(mine, MPI_COMM_WORLD);
  bool const last = member() == members() - 1;
  group.observe(broken_observer{last});
  run_groups(group, 1, 9);
  std::ostringstream file;
  if (last) CHECK_THROWS_WITH(accrue::save(group, file), "no room for a record");
  accrue::save(group, file);  // the record was shown
  CHECK(!file.str().empty());
}

namespace {
/// Name and content of each section of a state but the last.
std::vector<std::pair<std::string, std::string>> sections_of(std::string const& state) {
  std::vector<std::pair<std::string, std::string>> all;
  std::size_t at = 12;  // magic and version
  auto const number = [&](std::size_t bytes) {
    std::size_t value = 0;
    for (std::size_t b = bytes; b > 0; --b) value = value << 8 | static_cast<unsigned char>(state[at + b - 1]);
    at += bytes;
    return value;
  };
  auto const text = [&](std::size_t bytes) {
    at += bytes;
    return state.substr(at - bytes, bytes);
  };
  for (;;) {
    std::string const name = text(number(4));
    if (name == accrue::end_of_state) return all;
    all.emplace_back(name, text(number(8)));
  }
}
}  // namespace

TEST_CASE("sharded: a whole file of an open group, which no member writes, is refused and nothing is changed") {
  std::vector<float> const ones(1000, 1.0f);
  vector const theta = vector_of(ones), other("other", 1000);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, sharded{mpi_replicas<>()}, accrue::sgd{});
  accrue::accumulator plain(accrue::parameters(other), accrue::per_sample{}, mpi_replicas<>(MPI_COMM_SELF),
                            accrue::sgd{});
  plain.accumulate(mean_gradient{theta}, accrue::samples{1});
  std::ostringstream own, open;
  accrue::save(group, own);
  accrue::save(plain, open);

  std::stringstream crafted;
  accrue::state_writer write(crafted);
  for (auto const& [name, content] : sections_of(open.str())) {
    std::string const bytes = name == "recipe" ? sections_of(own.str())[1].second : content;
    write.begin(name, bytes.size());
    write.bytes(reinterpret_cast<unsigned char const*>(bytes.data()), bytes.size());
  }
  write.end();
  REQUIRE(sections_of(own.str())[1].first == "recipe");
  CHECK(contains(message_of([&] { accrue::load(group, crafted); }), "is of an open group"));
  CHECK(values(theta) == ones);
  CHECK(group.held() == accrue::microbatches{0});
}

TEST_CASE("sharded: members of which not all save are named on all of them, and nothing is lost") {
  if (members() == 1) return;
  vector const theta("theta", 30);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, sharded{mpi_replicas<>()},
                            accrue::sgd{.learning_rate = 1.0});
  std::ostringstream file;
  auto const bring = [&] {
    group.accumulate(mean_gradient{vector_of(std::vector<float>(30, 1.0f))}, accrue::samples{1});
  };
  auto const message = message_of([&] {
    if (member() == 0)
      accrue::save(group, file);
    else
      bring();
  });
  CHECK(contains(message, "replica 1 does not save its state, and replica 0 does"));
  CHECK(contains(message, "take_part_in_save()"));
  CHECK(contains(message_of([&] {
                   if (member() == 0)
                     group.update();
                   else
                     accrue::save(group, file);
                 }),
                 "replica 1 saves its state, and replica 0 does not"));
  bring();
  CHECK(contains(message_of([&] { accrue::save(group, file); }), "save between groups"));
  CHECK(contains(message_of([&] { accrue::take_part_in_save(group); }), "save between groups"));
  CHECK(contains(message_of([&] { group.discard(); }), "its sums are those of all"));
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta) == std::vector<float>(30, -1.0f));
}

TEST_CASE("sharded: a state is not read into a group of others, of which this one has nothing") {
  vector const theta("theta", 30);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::every{2}, accrue::refuse_last{},
                            sharded{mpi_replicas<>()}, accrue::sgd{.learning_rate = 1.0});
  std::stringstream file;
  accrue::save(group, file);
  if (member() == 0) group.accumulate(mean_gradient{vector_of(std::vector<float>(30, 1.0f))}, accrue::samples{1});
  CHECK(contains(message_of([&] { group.end_of_data(); }),
                 "a group of 1 microbatches that is not full; the recipe says refuse_last; update(), or feed what"));
  CHECK(contains(message_of([&] { accrue::load(group, file); }),
                 member() == 0 ? "holds 1 microbatches of an open group" : "sharded over replicas is open"));
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta) == std::vector<float>(30, -1.0f));
  CHECK(message_of([&] { accrue::load(group, file); }) == "no error");
  CHECK(values(theta) == std::vector<float>(30, 0.0f));
}

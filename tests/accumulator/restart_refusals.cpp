// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What `load` refuses: it names the difference, and the accumulator is as it was.
#include "support/host.hpp"

#include <accrue/accrue.hpp>
#include <accrue/restart.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace accrue;
using support::fill;
using support::make_view;
using support::values;

namespace {

using array = Kokkos::View<float*>;

auto made(array const& theta, double learning_rate = 0.5, int size = 3) {
  return accumulator(parameters(theta), per_token{}, every{size}, keep_last{}, clip_by_global_norm{.max_norm = 1.0},
                     momentum{.learning_rate = learning_rate});
}
auto filled() { return make_view<float>({1, 2, 3, 4}); }

void add(auto& group, float value) {
  group.accumulate(mean_gradient{make_view<float>({value, -value, 2 * value, 0})}, tokens{7});
  if (group.full()) group.update();
}
std::string bytes_of(auto& group, restart parts = restart::with_parameters) {
  std::ostringstream out;
  save(group, out, parts);
  return out.str();
}
/// One group closed, one microbatch in the next.
std::string saved() {
  auto group = made(filled());
  for (float value : {1.0f, 2.0f, 3.0f, 4.0f}) add(group, value);
  return bytes_of(group);
}

/// What `load` says, after a check that nothing has changed.
std::string refusal(auto& group, std::string const& file, restart parts = restart::with_parameters) {
  std::string const before = bytes_of(group);
  std::istringstream in(file);
  std::string text = "accepted";
  try {
    load(group, in, parts);
  } catch (error const& refused) {
    text = refused.what();
  }
  CHECK((bytes_of(group) == before));
  return text;
}
std::string refusal(std::string const& file) {
  auto group = made(filled());
  add(group, 9), group.update();
  return refusal(group, file);
}
bool says(std::string const& text, std::string const& part) {
  bool const found = text.find(part) != std::string::npos && text.find("nothing was changed") != std::string::npos;
  if (!found) MESSAGE(text);
  return found;
}

/// The same file with other bytes somewhere, and the checksum that fits them.
std::string forged(std::string file, std::size_t at, std::string const& bytes) {
  file.replace(at, bytes.size(), bytes);
  checksum sum;
  sum.add(reinterpret_cast<unsigned char const*>(file.data()), file.size() - 8);
  for (unsigned b = 0; b < 8; ++b) file[file.size() - 8 + b] = static_cast<char>(sum.value() >> 8 * b);
  return file;
}
/// Where the bytes of a section begin.
std::size_t begin_of(std::string const& file, std::string const& section) {
  std::string const name = std::string{static_cast<char>(section.size()), '\0', '\0', '\0'} + section;
  return file.find(name) + name.size() + 8;
}

}  // namespace

TEST_CASE("load refuses what is no state, is cut short or damaged") {
  std::string const file = saved();
  CHECK(says(refusal(""), "cut short, in its first bytes"));
  CHECK(says(refusal("# Two microbatches of unequal size"), "not the state of an accumulator"));
  CHECK(says(refusal(file.substr(0, 10)), "cut short, in its version"));
  CHECK(says(refusal(file.substr(0, begin_of(file, "sums") + 5)), "cut short, in sums"));
  CHECK(says(refusal(file.substr(0, file.size() - 1)), "cut short, in end"));

  std::string flipped = file;
  flipped[begin_of(file, "sums") + 5] ^= 1;
  CHECK(says(refusal(flipped), "its checksum is another"));
  CHECK(says(refusal(forged(file, 8, "\2")), "the file has form 2, this version of accrue reads form 1"));
  CHECK(says(refusal(forged(file, begin_of(file, "sums") - 8, std::string(8, '\x7F'))), "cut short, in sums"));
}

TEST_CASE("load names what the file says and what the accumulator has") {
  std::string const file = saved();
  auto const theta = filled();
  auto const refused_by = [&](auto... policies) {
    accumulator group(parameters(theta), policies...);
    return refusal(group, file);
  };
  clip_by_global_norm const clip{.max_norm = 1.0};
  CHECK(says(refused_by(per_sample{}, every{3}, keep_last{}, clip, momentum{}),
             "the recipe in the file says per_token, that of the accumulator per_sample"));
  CHECK(says(refused_by(per_token{}, every{3}, keep_last{}, clip_by_global_norm{.max_norm = 1.0 + 1e-15}, momentum{}),
             "clip_by_global_norm{max_norm=1, order=2, epsilon=0}, that of the accumulator "
             "clip_by_global_norm{max_norm=1.000000000000001, order=2, epsilon=0}"));
  CHECK(says(refused_by(per_token{}, every{3}, keep_last{}, clip, sgd{}),
             "says momentum learning_rate factor dampening weight_decay nesterov, that of the accumulator sgd"));
  CHECK(says(refused_by(per_token{}, keep_last{}, clip, momentum{}),
             "says every microbatches, that of the accumulator user_closes"));

  accumulator other_size(parameters(make_view<float>({1, 2, 3})), per_token{}, every{3}, keep_last{}, clip, momentum{});
  CHECK(says(refusal(other_size, file),
             "is float (4), summed in float, in group 0 in the file, float (3), summed in float, in group 0 in the"));
  accumulator other_type(parameters(make_view<bfloat16>({1, 2, 3, 4})), per_token{}, every{3}, keep_last{}, clip,
                         momentum{});
  CHECK(says(refusal(other_type, file),
             "is float (4), summed in float, in group 0 in the file, bfloat16 (4), summed in float, in group"));
  accumulator more(parameters(theta, filled()), per_token{}, every{3}, keep_last{}, clip, momentum{});
  CHECK(says(refusal(more, file), "the file has 1 parameters, the accumulator 2"));

  auto group = made(filled());
  CHECK(says(refusal(group, file, restart::without_parameters), "the file holds the parameters as well"));
  CHECK(says(refusal(group, bytes_of(group, restart::without_parameters)), "saved without the parameters"));
}

TEST_CASE("load refuses forged numbers that no run can have") {
  std::string const file = saved();
  std::string const minus_one(8, '\xFF');
  CHECK(says(refusal(forged(file, begin_of(file, "group"), minus_one)), "none of its type"));  // microbatches
  CHECK(says(refusal(forged(file, begin_of(file, "updates"), minus_one)), "negative"));
  CHECK(says(refusal(forged(file, begin_of(file, "touched"), "\2")), "none of its type"));
  CHECK(says(refusal(forged(file, begin_of(file, "touched"), std::string(1, '\0'))), "the accumulator needs 0"));
  CHECK(says(refusal(forged(file, begin_of(file, "touched") + 1, std::string(8, '\0'))), "weight that no group has"));
  CHECK(says(refusal(forged(file, begin_of(file, "ledger") + 12 * 8, "\5")), "numbers that no ledger has"));
  CHECK(says(refusal(forged(file, begin_of(file, "recipe"), "\7")),
             "the recipe in the file has 7 policies, the accumulator 12"));
  CHECK(says(refusal(forged(file, file.find("sums"), "sumz")), "the file has no section 'sums'"));
  CHECK(says(refusal(forged(file, begin_of(file, "settings"), std::string(8, '\0'))), "make no group"));
}

TEST_CASE("load refuses while a group is open, and settings that need more state than there is") {
  auto group = made(filled());
  add(group, 1);
  std::string const before = bytes_of(group);
  std::istringstream in(saved());
  CHECK_THROWS_WITH(load(group, in), doctest::Contains("holds 1 microbatches of an open group"));
  CHECK((bytes_of(group) == before));
  group.discard();
  load(group, in);
  CHECK(group.held() == microbatches{1});
  CHECK(group.ledger().dropped_groups() == 0);  // what was here is gone

  auto const theta = filled();
  accumulator small(parameters(theta), per_token{}, adam{});
  accumulator large(parameters(theta), per_token{}, adam{.amsgrad = true});
  CHECK(says(refusal(small, bytes_of(large)), "3 words of rule state for each element, the accumulator 2"));
  std::string file = bytes_of(small);
  file = forged(file, begin_of(file, "settings") + 5 * 8, "\1");  // amsgrad
  CHECK(says(refusal(small, file), "the new rule keeps more state per element"));
  large.change_rule(adam{});
  CHECK(says(refusal(small, bytes_of(large)), "3 words of rule state for each element, the accumulator 2"));
}

TEST_CASE("load brings back settings that were changed, and a state without parameters leaves these alone") {
  auto saving = made(filled());
  add(saving, 1);
  saving.change_boundary(every{2});
  saving.change_rule(momentum{.learning_rate = 0.125});
  auto const theta = make_view<float>({5, 6, 7, 8});
  auto group = made(theta, 0.7, 5);
  std::istringstream in(bytes_of(saving, restart::without_parameters));
  load(group, in, restart::without_parameters);
  CHECK(group.policies().boundary == every{2});
  CHECK(group.policies().update == momentum{.learning_rate = 0.125});
  CHECK(values(theta) == std::vector<float>{5, 6, 7, 8});
  CHECK(group.held() == microbatches{1});
}

TEST_CASE("a stream may hold more than one state, a file only one") {
  std::stringstream both;
  auto first = made(filled()), second = made(make_view<float>({5, 6, 7, 8}));
  both << "mine";
  save(first, both), save(second, both);
  both << "rest";
  auto const theta = filled();
  auto group = made(theta);
  std::string word(4, ' ');
  both.read(word.data(), 4);
  load(group, both), load(group, both);
  CHECK(values(theta) == std::vector<float>{5, 6, 7, 8});
  both.read(word.data(), 4);
  CHECK(word == "rest");
}

TEST_CASE("a file is replaced as a whole, or is as it was") {
  std::filesystem::path const folder = std::filesystem::temp_directory_path() / "accrue_restart_test";
  std::filesystem::create_directories(folder);
  std::filesystem::path const path = folder / "run.state";
  auto const theta = filled();
  auto group = made(theta);
  add(group, 1);
  save_file(group, path);
  auto again = made(filled());
  load_file(again, path);
  CHECK((bytes_of(again) == bytes_of(group)));

  auto const content = [&] {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  std::string const before = content();
  CHECK_THROWS_WITH(replace_file(path, [](std::ostream& out) { out << "half", throw error("no more", "a", "b"); }),
                    doctest::Contains("no more"));
  CHECK((content() == before));
  CHECK_FALSE(std::filesystem::exists(path.string() + ".partial"));

  again.discard();
  std::ofstream(path, std::ios::app) << 'x';
  CHECK_THROWS_WITH(load_file(again, path), doctest::Contains("more bytes behind the end"));
  CHECK_THROWS_WITH(load_file(again, folder / "none"), doctest::Contains("cannot be opened"));
  CHECK_THROWS_WITH(save_file(again, folder / "none" / "run.state"), doctest::Contains("No such file or directory"));
  std::filesystem::create_directories(folder / "taken" / "inside");
  CHECK_THROWS_WITH(save_file(again, folder / "taken"), doctest::Contains("cannot be renamed"));
  CHECK_FALSE(std::filesystem::exists(folder / "taken.partial"));
  if (std::ofstream full("/dev/full"); full) CHECK_THROWS_AS(save(again, full), error);
  std::filesystem::remove_all(folder);
}

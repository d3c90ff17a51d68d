// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes for the reader of states: refused with a message and nothing changed, or taken over as they say.
#include "faults/training.hpp"
#include "fuzz/target.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

namespace {

using namespace accrue;

/// An accumulator, and the states of two moments of it.
struct subject {
  faults::tensors theta;
  decltype(faults::accumulator_of(theta)) group = faults::accumulator_of(theta);
  std::string early, late;

  subject() {
    faults::feeder const feed;
    for (std::int64_t m = 0; m < 7; ++m) feed(group, m);
    early = faults::bytes_of(group);
    for (std::int64_t m = 7; m < 14; ++m) feed(group, m);
    late = faults::bytes_of(group);
    group.discard();
  }
};

/// The early state, edited as the input says: so inputs stay useful when the form of a state changes.
std::string edited(fuzz::input& in, subject const& it) {
  std::string file = it.early;
  while (!in.empty() && !file.empty()) {
    std::uint64_t const what = in.number(1);
    std::size_t const at = in.number(2) % file.size(), there = file.size() - at;
    switch (what % 8) {
      case 0:
        file[at] = static_cast<char>(in.number(1));
        break;
      case 1:
        file[at] = static_cast<char>(file[at] ^ (1 << in.number(1) % 8));
        break;
      case 2:
        file.erase(at, 1 + in.number(1));
        break;
      case 3: {
        std::size_t const count = 1 + in.number(1);
        file.insert(at, count, static_cast<char>(in.number(1)));
        break;
      }
      case 4: {  // the bytes of another moment
        std::size_t const from = std::min(at, it.late.size());
        file.replace(at, std::min<std::size_t>(there, in.number(2)), it.late, from, there);
        break;
      }
      case 5:
        file.resize(at);
        break;
      case 6:
        for (std::size_t i = 0; i < std::min<std::size_t>(there, 8); ++i) file[at + i] = '\xFF';
        break;
      default: {  // a whole section of another moment
        faults::layout const mine(it.early), theirs(it.late);
        auto const& s = theirs.sections[in.number(1) % theirs.sections.size()];
        file.insert(std::min(mine.sections[in.number(1) % mine.sections.size()].begin, file.size()), it.late, s.begin,
                    s.end - s.begin);
      }
    }
  }
  return file;
}

}  // namespace

/// The first byte says whether the rest is the file or edits of one, and whether the checksum is made right, so that
/// inputs get behind it.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static subject& it = *new subject;  // lives as long as Kokkos
  fuzz::input in(data, size);
  std::uint64_t const mode = in.number(1);
  std::string file = mode % 4 < 2 ? edited(in, it) : in.rest();
  if (mode % 2 == 0 && file.size() > faults::layout::head + faults::layout::tail) file = faults::sealed(file);

  std::string const before = faults::bytes_of(it.group);
  try {
    std::istringstream stream(file);
    restart_access::of(it.group).load(it.group.exec(), stream, true, true);
  } catch (error const& refused) {
    fuzz::require(std::string(refused.what()).starts_with("accrue::load: "), "a refusal says who refuses");
    fuzz::require(faults::bytes_of(it.group) == before, "a refusal changes nothing");
    return 0;
  }
  fuzz::require(faults::sections_of(faults::bytes_of(it.group)) == faults::sections_of(file), "what was read is there");
  it.group.discard();
  return 0;
}

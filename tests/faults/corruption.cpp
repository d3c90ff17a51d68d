// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// States with bytes that were changed: refused with a message and nothing changed; or, where the checksum was made to
// fit, taken over as the file says, and written again as it was.
#include "faults/training.hpp"

#include <algorithm>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <utility>

namespace faults {

namespace {

class corruptor {
 public:
  corruptor(std::string one, std::string other, unsigned seed)
      : one_(std::move(one)), other_(std::move(other)), random_(seed) {}

  /// A changed state, and whether its checksum was made to fit.
  std::pair<std::string, bool> next() {
    std::string file = one_;
    switch (below(8)) {
      case 0:  // bits
        for (std::size_t n = 1 + below(8); n > 0; --n) flip(file);
        break;
      case 1:  // cut short
        file.resize(below(file.size()));
        break;
      case 2: {  // random bytes in a row
        std::size_t const at = below(file.size()), n = std::min(file.size() - at, 1 + below(40));
        for (std::size_t i = 0; i < n; ++i) file[at + i] = letter();
        break;
      }
      case 3:  // bytes more or less
        if (below(2) == 0)
          file.insert(below(file.size()), 1 + below(9), letter());
        else
          file.erase(below(file.size()), 1 + below(9));
        break;
      case 4: {  // nothing but noise, with or without the magic
        std::size_t const keep = below(2) * layout::head;
        for (std::size_t i = keep; i < file.size(); ++i) file[i] = letter();
        break;
      }
      default:
        splice(file);
    }
    bool const fits = file.size() > layout::head + layout::tail && below(2) == 0;
    return {fits ? sealed(file) : file, fits};
  }
  [[nodiscard]] std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

 private:
  [[nodiscard]] char letter() { return static_cast<char>(below(256)); }
  void flip(std::string& file) {
    std::size_t const at = below(file.size());
    file[at] = static_cast<char>(file[at] ^ (1 << below(8)));
  }
  /// Changes one section: another moment's content, a field, its place, its size, its name; or takes it out, or twice.
  void splice(std::string& file) {
    layout const mine(one_), theirs(other_);
    auto const& s = mine.sections[below(mine.sections.size())];
    auto const& t = theirs.sections[below(theirs.sections.size())];
    std::string const same = other_.substr(t.begin, t.end - t.begin);
    std::string const content = one_.substr(s.begin, s.end - s.begin);
    switch (below(7)) {
      case 0:
        file.replace(s.begin, s.end - s.begin, same);
        break;
      case 1:
        file.insert(s.begin, same);
        break;
      case 2:
        file.erase(s.begin, s.end - s.begin);
        break;
      case 3:
        file.erase(s.begin, s.end - s.begin).insert(layout::head, content);
        break;
      case 4:  // a number of eight bytes
        if (s.end - s.content >= 8) {
          std::size_t const at = s.content + below((s.end - s.content) / 8) * 8;
          for (std::size_t i = 0; i < 8; ++i) file[at + i] = below(3) == 0 ? '\xFF' : letter();
        }
        break;
      case 5:  // a byte of the content
        if (s.end > s.content) file[s.content + below(s.end - s.content)] = letter();
        break;
      default:  // of its name or size
        file[s.begin + below(s.content - s.begin)] = letter();
    }
  }

  std::string one_, other_;
  std::mt19937 random_;
};

}  // namespace

bool corruption(int count, unsigned seed) {
  tensors const theta;
  theta.fill(0);
  feeder const feed;
  auto group = accumulator_of(theta);
  for (std::int64_t m = 0; m < 62; ++m) feed(group, m);
  std::string const early = bytes_of(group);
  for (std::int64_t m = 62; m < 148; ++m) feed(group, m);
  std::string const late = bytes_of(group);
  group.discard();

  corruptor next(late, early, seed);
  int refused = 0, without_message = 0, changed_though_refused = 0, accepted = 0, wrongly_accepted = 0;
  for (int n = 0; n < count;) {
    auto const [file, fits] = next.next();
    if (file == late) continue;
    ++n;
    std::string const before = bytes_of(group);
    try {
      std::istringstream in(file);
      restart_access::of(group).load(group.exec(), in, true, true);  // as load_file does
      ++accepted;
      // What was forged well is the state now, whole, as the file says, but for labels; and one can go on from it.
      auto is = sections_of(bytes_of(group)), should = sections_of(file);
      is.erase("labels"), should.erase("labels");
      wrongly_accepted += fits && is == should ? 0 : 1;
      for (std::int64_t m = 0; m < 3 && !group.full(); ++m) feed(group, m);
      if (group.held().value() > 0) group.update();
      group.discard();
    } catch (error const& why) {
      ++refused;
      without_message += std::string(why.what()).starts_with("accrue::load: ") ? 0 : 1;
      changed_though_refused += bytes_of(group) == before ? 0 : 1;
    }
  }
  std::cout << "corruption: " << count << " states, " << refused << " refused, " << accepted
            << " forged with a checksum that fits and taken over as they say; " << wrongly_accepted
            << " wrongly accepted, " << without_message << " refused without a message, " << changed_though_refused
            << " changed something though refused\n";
  return wrongly_accepted + without_message + changed_though_refused == 0 && refused > 0;
}

}  // namespace faults

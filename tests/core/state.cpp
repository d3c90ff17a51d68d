// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The form of a saved state: its checksum, its values, and what a reader refuses before anybody looks at the content.
#include <accrue/core/checksum.hpp>
#include <accrue/core/error.hpp>
#include <accrue/core/outcome.hpp>
#include <accrue/core/state_reader.hpp>
#include <accrue/core/state_writer.hpp>

#include <doctest/doctest.h>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

using namespace accrue;

namespace {

std::uint64_t crc(std::string_view text, std::size_t cut = 0) {
  checksum sum;
  auto const* const bytes = reinterpret_cast<unsigned char const*>(text.data());
  sum.add(bytes, cut);
  sum.add(bytes + cut, text.size() - cut);
  return sum.value();
}

struct values {
  std::int64_t integer = std::numeric_limits<std::int64_t>::min();
  std::int32_t small = -7;
  bool yes = true;
  double real = -0.0;
  tokens count{512};
  outcome result = outcome::vetoed;
  std::optional<double> some = 0.25;
  std::optional<double> none;
  std::string text = "recipe";
  template <class Visit>
  void state(Visit&& visit) {
    visit(integer, small, yes, real, count, result, some, none, text);
  }
  friend bool operator==(values const&, values const&) = default;
};

/// A stream that cannot be wound back, as a one_way is.
class one_way : public std::streambuf {
 public:
  explicit one_way(std::string text) : text_(std::move(text)) {
    setg(text_.data(), text_.data(), text_.data() + text_.size());
  }

 private:
  std::string text_;
};

template <class T>
T read_as(std::vector<unsigned char> const& bytes) {
  T value{};
  field_reader read("part", bytes);
  read(value);
  read.require_end();
  return value;
}
template <class T>
std::vector<unsigned char> written(T value) {
  field_writer write;
  write(value);
  return write.bytes();
}

}  // namespace

TEST_CASE("checksum: known vectors of CRC-64/XZ, in pieces of any size") {
  CHECK(crc("123456789") == 0x995DC9BBDF1939FAU);
  CHECK(crc("") == 0);
  CHECK(crc("This is a test of the emergency broadcast system.") == 0x27DB187FC15BBC72U);
  std::string const text(100, 'x');
  for (std::size_t cut = 0; cut <= 20; ++cut) CHECK(crc(text, cut) == crc(text));
  static_assert([] {
    unsigned char const nothing[8]{};
    checksum sum;
    sum.add(nothing, 8);
    return sum.value() != 0;
  }());
}

TEST_CASE("fields come back as they were, little-endian") {
  values changed;
  changed.integer = 1, changed.text = "another", changed.some.reset();
  auto const bytes = written(values{});
  field_reader read("part", bytes);
  read(changed);
  CHECK(changed == values{});
  CHECK(std::signbit(changed.real));
  CHECK(written(std::int64_t{0x0102}) == std::vector<unsigned char>{2, 1, 0, 0, 0, 0, 0, 0});
  CHECK(written(1.0) == std::vector<unsigned char>{0, 0, 0, 0, 0, 0, 0xF0, 0x3F});
}

TEST_CASE("fields that their type does not hold are refused") {
  CHECK_THROWS_AS(read_as<tokens>(written(std::int64_t{-1})), error);
  CHECK_THROWS_AS(read_as<bool>({2}), error);
  CHECK_THROWS_AS(read_as<std::int32_t>(written(std::int64_t{1} << 31)), error);
  CHECK_THROWS_AS(read_as<outcome>(written(std::int64_t{99})), error);
  CHECK_THROWS_AS(read_as<double>({1, 2, 3}), error);
  CHECK_THROWS_AS(read_as<bool>({1, 1}), error);
  CHECK_THROWS_AS(read_as<std::string>(written(std::int64_t{-1})), error);  // a text of 2^64 - 1 letters
}

TEST_CASE("a state is read from a stream that cannot be wound back, and no further than it goes") {
  values original;
  std::vector<unsigned char> const large(3'000'000, 7);
  std::ostringstream out;
  state_writer write(out);
  write.section("values", original);
  write.begin("large", large.size());
  write.bytes(large.data(), large.size());
  write.end();

  one_way buffer(out.str() + "rest");
  std::istream in(&buffer);
  state_reader read(in);
  values found;
  found.integer = 0;
  read.section("values", found);
  CHECK(found == original);
  CHECK_THROWS_WITH(read.require_all_read(), doctest::Contains("'large', of which this accumulator has nothing"));
  CHECK_THROWS_WITH(static_cast<void>(read.bytes("large", 5)),
                    doctest::Contains("has 3000000 bytes, the accumulator needs 5"));
  CHECK(read.bytes("large", large.size()).back() == 7);
  read.require_all_read();
  CHECK_THROWS_WITH(read.require_end(), doctest::Contains("more bytes"));
  CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == "rest");
}

TEST_CASE("every bit that is flipped, and every byte that is missing, is found") {
  values original;
  std::ostringstream out;
  state_writer write(out);
  write.section("values", original);
  write.end();
  std::string const file = out.str();
  auto const refuses = [](std::string const& text) {
    std::istringstream in(text);
    CHECK_THROWS_AS(state_reader{in}, error);
  };
  for (std::size_t size = 0; size < file.size(); ++size) refuses(file.substr(0, size));
  for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
    std::string flipped = file;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    refuses(flipped);
  }
}

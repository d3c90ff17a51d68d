// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_STATE_READER_HPP
#define ACCRUE_CORE_STATE_READER_HPP

#include <accrue/core/checksum.hpp>
#include <accrue/core/state_fields.hpp>
#include <accrue/core/state_writer.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <istream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace accrue {

/// Reads a whole state into memory, see `state_writer`, and hands out its sections once the checksum is right.
///
/// Guarantee: reads as far as the state goes; memory grows with the bytes that are there, whatever sizes they claim.
/// Failure: `accrue::error` that says what is wrong: foreign, of another version, cut short, damaged.
class state_reader {
 public:
  explicit state_reader(std::istream& in) : in_(in) {
    if (!in || in.rdbuf() == nullptr) refuse_damage({"the stream cannot be read"});
    read_head();
    while (read_section()) {
    }
  }

  /// Reads a section of plain values.
  template <class... Fields>
  void section(std::string_view name, Fields&... fields) {
    field_reader read(name, find(name));
    read(fields...);
    read.require_end();
  }

  /// The bytes of a section, as many as `size`; they may be written on.
  [[nodiscard]] std::span<unsigned char> bytes(std::string_view name, std::uint64_t size) {
    auto const found = find(name);
    if (found.size() != size)
      refuse_difference({"section '", name, "' has ", std::to_string(found.size()), " bytes, the accumulator needs ",
                         std::to_string(size)});
    return found;
  }

  /// Failure: `accrue::error` for sections that nobody asked for.
  void require_all_read() const {
    for (part const& each : parts_)
      if (!each.read)
        refuse_difference(
            {"the file has a section '", printable(each.name), "', of which this accumulator has nothing"});
  }
  /// Failure: `accrue::error` where something follows.
  void require_end() const {
    if (in_.rdbuf()->sgetc() != std::istream::traits_type::eof())
      refuse_damage({"the file has more bytes behind the end of the state"});
  }

 private:
  struct part {
    std::string name;
    state_bytes content;
    bool read = false;
  };

  void read_head() {
    state_bytes const magic = take(state_magic.size(), "its first bytes");
    if (!std::equal(magic.begin(), magic.end(), state_magic.begin()))
      refuse_damage({"this is not the state of an accumulator, or it was changed by a transfer as text"});
    std::uint64_t const version = number(4, "its version");
    if (version != state_version)
      refuse_state({"the file has form ", std::to_string(version), ", this version of accrue reads form ",
                    std::to_string(state_version)},
                   "read it with the version of accrue that wrote it");
  }

  /// Returns false at the end.
  bool read_section() {
    std::uint64_t const length = number(4, "the name of a section");
    if (length > longest_section_name) refuse_damage({"the file is damaged: a section has a name of no length"});
    state_bytes const letters = take(length, "the name of a section");
    part next{std::string(letters.begin(), letters.end()), {}, false};
    std::uint64_t const size = number(8, next.name);
    if (next.name == end_of_state) {
      if (size != 8) refuse_damage({"the file is damaged: its end has another size"});
      next.content = take(size, next.name);
      if (detail::little(next.content.data(), 8) != sum_before_end_)
        refuse_damage({"the file is damaged: its checksum is another"});
      return false;
    }
    next.content = take(size, next.name);
    if (parts_.size() >= most_sections) refuse_damage({"the file has more sections than any state"});
    for (part const& each : parts_)
      if (each.name == next.name) refuse_damage({"the file has two sections '", printable(next.name), "'"});
    parts_.push_back(std::move(next));
    return true;
  }

  [[nodiscard]] std::span<unsigned char> find(std::string_view name) {
    for (part& each : parts_)
      if (each.name == name) {
        each.read = true;
        return each.content;
      }
    refuse_difference({"the file has no section '", name, "', which this accumulator needs"});
  }

  [[nodiscard]] std::uint64_t number(unsigned bytes, std::string_view of) {
    return detail::little(take(bytes, of).data(), bytes);
  }
  [[nodiscard]] state_bytes take(std::uint64_t size, std::string_view of) {
    constexpr std::uint64_t piece = std::uint64_t{1} << 20;
    sum_before_end_ = sum_.value();
    state_bytes bytes;
    if (size > piece && size <= left()) bytes.reserve(static_cast<std::size_t>(size));
    while (bytes.size() < size) {
      std::size_t const begin = bytes.size();
      auto const wanted = static_cast<std::size_t>(std::min(piece, size - begin));
      bytes.resize(begin + wanted);
      std::streamsize const got = get(bytes.data() + begin, wanted);
      if (got != static_cast<std::streamsize>(wanted)) refuse_damage({"the file is cut short, in ", printable(of)});
    }
    sum_.add(bytes.data(), bytes.size());
    return bytes;
  }

  [[nodiscard]] std::streamsize get(unsigned char* to, std::size_t size) {
    try {
      return in_.rdbuf()->sgetn(reinterpret_cast<char*>(to), static_cast<std::streamsize>(size));
    } catch (std::exception const& failed) {  // a folder, a disk that does not answer
      refuse_damage({"the file cannot be read: ", failed.what()});
    }
  }

  /// How many bytes are there, of a stream that can tell; else 0.
  [[nodiscard]] std::uint64_t left() const {
    auto* const buffer = in_.rdbuf();
    auto const here = buffer->pubseekoff(0, std::ios_base::cur, std::ios_base::in);
    if (here == std::streampos(-1)) return 0;
    auto const end = buffer->pubseekoff(0, std::ios_base::end, std::ios_base::in);
    buffer->pubseekpos(here, std::ios_base::in);
    return end > here ? static_cast<std::uint64_t>(end - here) : 0;
  }

  static constexpr std::size_t most_sections = 256;

  std::istream& in_;
  checksum sum_;
  std::uint64_t sum_before_end_ = 0;  ///< of everything before the bytes that were read last
  std::vector<part> parts_;
};

}  // namespace accrue
#endif

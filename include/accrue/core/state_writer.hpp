// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_STATE_WRITER_HPP
#define ACCRUE_CORE_STATE_WRITER_HPP

#include <accrue/core/checksum.hpp>
#include <accrue/core/state_fields.hpp>

#include <array>
#include <cstdint>
#include <exception>
#include <ostream>
#include <streambuf>
#include <string_view>

namespace accrue {

/// What a state begins with, and the version of its form. The first byte is no text, and line ends that a transfer
/// translates are found.
inline constexpr std::array<unsigned char, 8> state_magic{0x89, 'a', 'c', 'c', 'r', 'u', '\r', '\n'};
inline constexpr std::uint32_t state_version = 1;
inline constexpr std::string_view end_of_state = "end";
inline constexpr std::size_t longest_section_name = 64;

/// Writes a state: magic and version; sections, each with the length of its name, its name, its size and its bytes; at
/// last the section `end`, which holds the checksum of everything before it. Numbers are little-endian.
///
/// Failure: at the `end`, `accrue::error` where the stream did not take all of it, or what the stream threw: until then
/// everything goes on, for other processes may take part.
class state_writer {
 public:
  explicit state_writer(std::ostream& out) : to_(out ? out.rdbuf() : nullptr) {
    bytes(state_magic.data(), state_magic.size());
    numbers({{state_version, 4}});
  }

  /// A section of plain values, see `field_writer`.
  template <class... Fields>
  void section(std::string_view name, Fields&... fields) {
    field_writer write;
    write(fields...);
    begin(name, write.bytes().size());
    bytes(write.bytes().data(), write.bytes().size());
  }

  /// Begins a section whose bytes follow.
  void begin(std::string_view name, std::uint64_t size) {
    numbers({{name.size(), 4}});
    bytes(reinterpret_cast<unsigned char const*>(name.data()), name.size());
    numbers({{size, 8}});
  }
  void bytes(unsigned char const* from, std::size_t size) {
    sum_.add(from, size);
    auto const wanted = static_cast<std::streamsize>(size);
    on_stream([&](std::streambuf& to) { return to.sputn(reinterpret_cast<char const*>(from), wanted) == wanted; });
  }

  /// Order: last.
  void end() {
    begin(end_of_state, 8);
    numbers({{sum_.value(), 8}});
    on_stream([](std::streambuf& to) { return to.pubsync() == 0; });
    if (thrown_) std::rethrow_exception(thrown_);
    if (to_ == nullptr)
      throw error("accrue::save: the stream does not take the state", "what was written cannot be read",
                  "check the path and the space on the disk");
  }

 private:
  struct number {
    std::uint64_t value;
    unsigned bytes;
  };
  void numbers(std::initializer_list<number> list) {
    state_bytes little;
    for (number const& each : list) detail::put_little(little, each.value, each.bytes);
    bytes(little.data(), little.size());
  }

  /// Calls `write(stream)`, which says whether that went well, until it has failed once.
  template <class Write>
  void on_stream(Write const& write) {
    if (to_ == nullptr) return;
    try {
      if (write(*to_)) return;
    } catch (...) {
      thrown_ = std::current_exception();
    }
    to_ = nullptr;
  }

  std::streambuf* to_;         ///< null once it has failed
  std::exception_ptr thrown_;  ///< by the stream
  checksum sum_;
};

}  // namespace accrue
#endif

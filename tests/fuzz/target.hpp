// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_TESTS_FUZZ_TARGET_HPP
#define ACCRUE_TESTS_FUZZ_TARGET_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

/// One input, of libFuzzer's or of `driver.cpp`.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
/// Before the first one.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);

namespace fuzz {

/// Ends the process where something is not as it must be: the finding.
inline void require(bool holds, char const* claim) {
  if (holds) return;
  std::fprintf(stderr, "finding: not so: %s\n", claim);
  std::abort();
}

/// The bytes of an input, taken from the front; behind their end there are zeros.
class input {
 public:
  input(std::uint8_t const* data, std::size_t size) : at_(data), end_(data + size) {}
  [[nodiscard]] bool empty() const { return at_ == end_; }
  [[nodiscard]] std::uint64_t number(unsigned bytes) {
    std::uint64_t value = 0;
    for (unsigned b = 0; b < bytes && !empty(); ++b) value = value << 8 | *at_++;
    return value;
  }
  [[nodiscard]] std::string rest() const { return std::string(at_, end_); }

 private:
  std::uint8_t const* at_;
  std::uint8_t const* end_;
};

}  // namespace fuzz

#endif

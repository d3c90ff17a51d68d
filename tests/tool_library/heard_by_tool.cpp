// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A tool as Kokkos loads it: it notes what is allocated and freed.
#include <cstdint>
#include <string>

namespace {

struct space_handle {
  char name[64];
};
std::string heard;

void note(char sign, char const* label, std::uint64_t bytes) {
  heard += sign + std::string(label) + ' ' + std::to_string(bytes) + '\n';
}

}  // namespace

extern "C" {
void kokkosp_allocate_data(space_handle, char const* label, void const*, std::uint64_t bytes) {
  note('+', label, bytes);
}
void kokkosp_deallocate_data(space_handle, char const* label, void const*, std::uint64_t bytes) {
  note('-', label, bytes);
}
char const* heard_by_tool() { return heard.c_str(); }
}

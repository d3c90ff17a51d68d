// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What docs/batch_plan.md shows of the program against what it writes.
#include "batch_plan/run.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

TEST_CASE("batch_plan: its page shows what it writes, to the letter") {
  char const* const path = std::getenv("BATCH_PLAN_PAGE");
  REQUIRE_MESSAGE(path != nullptr, "BATCH_PLAN_PAGE names the page");
  std::stringstream page;
  page << std::ifstream(path).rdbuf();
  std::string const text = page.str(), begin = "```text\n$ batch_plan ", end = "```\n";
  int compared = 0;
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1), ++compared) {
    std::size_t const options = at + begin.size(), line_end = text.find('\n', options);
    std::size_t const shown = line_end + 1;
    std::string written = run(text.substr(options, line_end - options), "2>&1").text;
    if (written.ends_with("\n\n")) written.pop_back();  // after the last table
    CHECK(text.substr(shown, text.find(end, shown) - shown) == written);
  }
  CHECK(compared == 7);
}

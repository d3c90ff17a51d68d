// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_TESTS_BATCH_PLAN_RUN_HPP
#define ACCRUE_TESTS_BATCH_PLAN_RUN_HPP

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

using nlohmann::json;

struct answer {
  int exit_code = -1;
  std::string text;

  [[nodiscard]] json read() const { return json::parse(text); }
};

/// What the program prints, to standard error too if need be, and how it ends.
inline answer run(std::string const& options, char const* errors = "2>/dev/null") {
  char const* const program = std::getenv("BATCH_PLAN");
  REQUIRE_MESSAGE(program != nullptr, "BATCH_PLAN names the program");
  std::string const command = "'" + std::string(program) + "' " + options + " " + errors;
  std::FILE* const pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  answer result;
  std::array<char, 4096> part{};
  while (std::size_t const got = std::fread(part.data(), 1, part.size(), pipe)) result.text.append(part.data(), got);
  int const status = pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

inline json read(std::string const& options) {
  answer const got = run(options + " --json");
  CAPTURE(options);
  CAPTURE(got.text);
  CHECK(got.exit_code == 0);
  return got.read();
}

/// The plan is refused, and the first error names this option.
inline void check_refused(std::string const& options, std::string const& name) {
  answer const got = run(options + " --json");
  CAPTURE(options);
  CAPTURE(got.text);
  CHECK(got.exit_code == 1);
  REQUIRE(got.read().contains("errors"));
  CHECK(got.read()["errors"][0]["option"] == name);
}

inline std::string option(char const* name, std::int64_t value) {
  return " --" + std::string(name) + " " + std::to_string(value);
}

#endif

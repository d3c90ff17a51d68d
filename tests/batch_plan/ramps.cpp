// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batch_plan/run.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace {

std::string const plan = "--micro 8 --replicas 4 --accumulate 32 ";  // 32 samples a microbatch of each, 1024 in all

}  // namespace

TEST_CASE("batch_plan: a warm-up of A is interpolated from 1, whatever it goes by") {
  for (char const* by : {"updates", "samples", "tokens"}) {
    json const rows = read(plan + "--ramp 1k --ramp-by " + by)["ramp"];
    REQUIRE(rows.size() == 5);
    for (json const& row : rows) {
      std::int64_t const count = row[by], group = row["group"];
      CHECK(group == std::llrint(1.0 + 31.0 * static_cast<double>(count) / 1000.0));
      CHECK(row["samples_per_update"] == 32 * group);
    }
    CHECK(rows[0][by] == 0);
    CHECK(rows[4][by] == 1000);
  }
}

TEST_CASE("batch_plan: a straight line goes from one given end to the other, upwards or downwards") {
  json const down = read(plan + "--ramp 4 --ramp-from 9 --ramp-to 1")["ramp"];
  CHECK(down == json::parse(R"([{"updates": 0, "group": 9, "samples_per_update": 288},
                                {"updates": 1, "group": 7, "samples_per_update": 224},
                                {"updates": 2, "group": 5, "samples_per_update": 160},
                                {"updates": 3, "group": 3, "samples_per_update": 96},
                                {"updates": 4, "group": 1, "samples_per_update": 32}])"));
  CHECK(read(plan + "--ramp 1")["ramp"].size() == 2);  // no count twice
}

TEST_CASE("batch_plan: a batch between two groups closes with the larger, and has its true effective batch") {
  json const rows = read(plan + "--ramp 1M --ramp-of batch --ramp-by tokens --ramp-from 64")["ramp"];
  REQUIRE(rows.size() == 5);
  CHECK(rows[0] == json::parse(R"({"tokens": 0, "target": 64, "group": 2, "samples_per_update": 64})"));
  CHECK(rows[1] == json::parse(R"({"tokens": 250000, "target": 304, "group": 10, "samples_per_update": 320})"));
  CHECK(rows[4] == json::parse(R"({"tokens": 1000000, "target": 1024, "group": 32, "samples_per_update": 1024})"));
  CHECK(read(plan + "--ramp 8 --ramp-of batch")["ramp"][0]["target"] == 32);  // begins at an A of 1
}

TEST_CASE("batch_plan: stages of A and of the batch, one row for each") {
  CHECK(read(plan + "--ramp-stages 0:1,100:2,1k:32")["ramp"] ==
        json::parse(R"([{"updates": 0, "group": 1, "samples_per_update": 32},
                        {"updates": 100, "group": 2, "samples_per_update": 64},
                        {"updates": 1000, "group": 32, "samples_per_update": 1024}])"));
  CHECK(read(plan + "--ramp-stages 0:256,1M:512 --ramp-of batch --ramp-by samples")["ramp"] ==
        json::parse(R"([{"samples": 0, "target": 256, "group": 8, "samples_per_update": 256},
                        {"samples": 1000000, "target": 512, "group": 16, "samples_per_update": 512}])"));
}

TEST_CASE("batch_plan: a ramp is a table for people") {
  answer const table = run(plan + "--ramp-stages 0:256,3M:1024 --ramp-of batch --ramp-by samples");
  CHECK(table.exit_code == 0);
  CHECK(table.text.find("ramp\n"
                        "    samples  target [samples]  group [microbatches]  samples per update\n"
                        "          0               256                     8                 256\n"
                        "  3 000 000             1 024                    32               1 024\n") !=
        std::string::npos);
}

TEST_CASE("batch_plan: what is wrong with a ramp names the option and the number") {
  struct wrong {
    char const* options;
    char const* option;
    char const* says;
  };
  for (auto const& each : {
           wrong{"--ramp-stages 0:256,1M:500 --ramp-of batch", "--ramp-stages",
                 "stage 2, 1000000:500: no whole number of microbatches gives 500 samples an update; 15 give 480; "
                 "16 give 512"},
           wrong{"--ramp-stages 5:1", "--ramp-stages", "stage 1, 5:1: the first one begins at 0"},
           wrong{"--ramp-stages 0:1,9:2,9:4", "--ramp-stages", "stage 3, 9:4: it does not begin after the one before"},
           wrong{"--ramp-stages 0:1,9:0", "--ramp-stages", "stage 2, 9:0: a group of 0 microbatches"},
           wrong{"--ramp-stages 0:0 --ramp-of batch", "--ramp-stages", "stage 1, 0:0: a target of 0"},
           wrong{"--ramp-stages 0:9223372036854775807", "--ramp-stages", "stage 1, 0:9223372036854775807: a number ex"},
           wrong{"--ramp 9 --ramp-of batch --ramp-from 33", "--ramp-from", "1 give 32; 2 give 64"},
           wrong{"--ramp 9 --ramp-of batch --ramp-to 31", "--ramp-to", "gives 31 samples an update; 1 give 32"},
           wrong{"--ramp 9 --ramp-to 9223372036854775807", "--ramp-to", "a number exceeds 63 bits"},
           wrong{"--ramp 9223372036854775807", "--ramp", "a number exceeds 63 bits"},
           wrong{"--ramp-from 2", "--ramp-from", "give its length as ramp"},
           wrong{"--ramp-stages 0:1 --ramp-to 2", "--ramp-to", "give its length as ramp"},
           wrong{"--ramp-stages 0:1 --ramp 2", "--ramp-stages", "leave out this or ramp"},
       }) {
    answer const got = run(plan + each.options + " --json");
    CAPTURE(each.options);
    CAPTURE(got.text);
    CHECK(got.exit_code == 1);
    REQUIRE(got.read().contains("errors"));
    CHECK(got.read()["errors"].size() == 1);
    CHECK(got.read()["errors"][0]["option"] == each.option);
    CHECK(got.read()["errors"][0]["message"].get<std::string>().find(each.says) != std::string::npos);
  }
}

TEST_CASE("batch_plan: a ramp that cannot be read ends with exit code 2") {
  struct wrong {
    char const* options;
    char const* says;
  };
  std::string many = "0:1";
  for (int s = 1; s <= 64; ++s) many += "," + std::to_string(s) + ":1";
  std::string const too_many = "--ramp-stages " + many;
  for (auto const& each : {
           wrong{"--ramp 0", "--ramp: '0' is nothing"},
           wrong{"--ramp-stages 0:1,x:2", "--ramp-stages: 'x' is no number"},
           wrong{"--ramp-stages 0:1,2", "--ramp-stages: '2' is no pair; give them as 0:1,1000:2,3000:4"},
           wrong{"--ramp-by epochs", "--ramp-by: 'epochs' is none of: updates samples tokens"},
           wrong{"--ramp-of rate", "--ramp-of: 'rate' is none of: group batch"},
           wrong{too_many.c_str(), "--ramp-stages: more than 64 ramp-stages; put neighbours together"},
       }) {
    answer const got = run(plan + each.options, "2>&1 >/dev/null");
    CAPTURE(each.options);
    CAPTURE(got.text);
    CHECK(got.exit_code == 2);
    CHECK(got.text.find(each.says) != std::string::npos);
  }
}

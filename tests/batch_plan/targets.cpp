// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batch_plan/run.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

TEST_CASE("batch_plan: whichever of m, A and D is missing is found again for positions and for tokens") {
  std::mt19937 random(11);
  std::uniform_int_distribution<std::int64_t> any(1, 200);
  for (int round = 0; round < 20; ++round) {
    std::int64_t const m = any(random), a = any(random), d = any(random), each = any(random);
    std::string const micro = option("micro", m), group = option("accumulate", a), across = option("replicas", d);
    std::string const in_positions = option("target-positions", m * a * d * each) + option("length", each);
    std::string const in_tokens = option("target-tokens", m * a * d * each) + option("tokens-per-sample", each);
    for (auto const& given : {micro + group, micro + across, group + across, micro + group + across}) {
      json const by_positions = read(given + in_positions)["batch"], by_tokens = read(given + in_tokens)["batch"];
      for (json const& batch : {by_positions, by_tokens}) {
        CHECK(batch["microbatch"] == m);
        CHECK(batch["group"] == a);
        CHECK(batch["replicas"] == d);
        CHECK(batch["samples_per_update"] == m * a * d);
      }
      CHECK(by_positions["positions_per_update"] == m * a * d * each);
      CHECK(by_tokens["tokens_per_update"] == m * a * d * each);
    }
  }
}

TEST_CASE("batch_plan: a target in positions that is missed has both neighbours, with batch and positions") {
  answer const missed = run("--target-positions 8M --length 4096 --micro 8 --replicas 64 --json");
  CHECK(missed.exit_code == 1);
  CHECK(missed.read()["neighbours"] ==
        json::parse(R"([{"microbatches": 3, "samples_per_update": 1536, "positions_per_update": 6291456},
                        {"microbatches": 4, "samples_per_update": 2048, "positions_per_update": 8388608}])"));
  CHECK(missed.read()["errors"][0]["option"] == "--target-positions");
  CHECK(missed.read()["errors"][0]["message"] ==
        "no whole number of microbatches gives 8000000 positions an update; 3 give 1536 samples, 6291456 positions; "
        "4 give 2048 samples, 8388608 positions");
  CHECK(!missed.read().contains("batch"));

  json const of_replicas = run("--target-positions 100 --length 3 --micro 2 --accumulate 5 --json").read();
  CHECK(of_replicas["neighbours"][0] ==
        json::parse(R"({"replicas": 3, "samples_per_update": 30, "positions_per_update": 90})"));
  json const of_samples = run("--target-positions 100 --length 3 --accumulate 5 --json").read();
  CHECK(of_samples["neighbours"][1] ==
        json::parse(R"({"microbatch": 7, "samples_per_update": 35, "positions_per_update": 105})"));
  CHECK(run("--target-positions 9 --length 3 --micro 2 --json").read()["uneven_group"]["last_microbatch"] == 1);
}

TEST_CASE("batch_plan: an average is met to its last digit, and its neighbours have what they have on average") {
  json const exact = read("--target-tokens 1M --tokens-per-sample 781.25 --micro 8 --replicas 16")["batch"];
  CHECK(exact["group"] == 10);
  CHECK(exact["tokens_per_update"] == 1e6);

  // 1300 samples of 1 126 400 tokens in all: an average that has no last digit.
  json const from_lengths = run("--target-tokens 50k --lengths 512:1000,2048:300 --micro 8 --json").read();
  CHECK(from_lengths["neighbours"].size() == 2);
  CHECK(from_lengths["neighbours"][0]["microbatches"] == 7);
  CHECK(from_lengths["neighbours"][0]["samples_per_update"] == 56);
  CHECK(from_lengths["neighbours"][0]["tokens_per_update"].get<double>() == doctest::Approx(56 * 1126400.0 / 1300));
  CHECK(from_lengths["neighbours"][1]["samples_per_update"] == 64);
  CHECK(read("--target-tokens 11264 --lengths 512:1000,2048:300 --micro 1")["batch"]["group"] == 13);
  CHECK(read("--micro 4 --tokens-per-sample 0.5k")["batch"]["tokens_per_update"] == 2000.0);
}

TEST_CASE("batch_plan: without m and A, the largest microbatch that fits has the target in positions") {
  std::string const memory = " --length 10 --replicas 2 --peaks 4:1400,8:1800 --memory 5000B";
  json const all = read("--target-positions 7200" + memory);
  CHECK(all == read("--target 720" + memory));
  CHECK(all["batch"]["microbatch"] == 40);
  answer const none = run("--target-positions 7205 --json" + memory);  // 720.5 samples
  CHECK(none.exit_code == 1);
  CHECK(none.read()["errors"][0]["option"] == "--target-positions");
  CHECK(none.read()["neighbours"][0]["positions_per_update"] == 7200);
  CHECK(none.read()["neighbours"][1]["positions_per_update"] == 7220);
}

TEST_CASE("batch_plan: what is wrong with a target names its option") {
  struct wrong {
    char const* options;
    char const* option;
  };
  for (auto const& each : {
           wrong{"--target-positions 64 --micro 2", "--length"},
           wrong{"--target-tokens 64 --micro 2", "--tokens-per-sample"},
           wrong{"--target-tokens 64 --micro 2 --lengths 8:0", "--lengths"},
           wrong{"--target-tokens 64 --micro 2 --lengths 0:8", "--target-tokens"},
           wrong{"--target 8 --target-positions 64 --length 8 --micro 2", "--target-positions"},
           wrong{"--target-positions 64 --length 8 --target-tokens 9 --micro 2", "--target-tokens"},
           wrong{"--target-positions 64 --length 8", "--micro"},
           wrong{"--target-positions 64 --length 8 --micro 2 --accumulate 2 --replicas 1", "--target-positions"},
           wrong{"--target-positions 9223372036854775807 --length 9223372036854775807 --micro 2", "--target-positions"},
           wrong{"--target-tokens 9223372036854775807 --tokens-per-sample 1.5 --micro 2", "--target-tokens"},
       })
    check_refused(each.options, each.option);
  answer const unreadable = run("--micro 2 --tokens-per-sample 0.0000001", "2>&1 >/dev/null");
  CHECK(unreadable.exit_code == 2);
  CHECK(unreadable.text.find("--tokens-per-sample: '0.0000001' is nothing") != std::string::npos);
}

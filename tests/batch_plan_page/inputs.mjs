// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random inputs, what the command line answers to them, and where the page answers something else.
import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { promisify } from "node:util";

// Marsaglia's xorshift of 32 bits: the same inputs at each run.
function dice(seed) {
  let state = seed;
  const below = (n) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % n;
  };
  return { below, one: (...of) => of[below(of.length)], perhaps: (percent) => below(100) < percent };
}

const targets = ["target", "target-positions", "target-tokens"];
const count = (roll, most = 64) => String(1 + roll.below(most));
const even = (roll, most) => String(2 ** roll.below(most));
const unreadable = ["0", "-3", "1.5x", "two", "9223372036854775808", "7.25", "8 GiB", "1e3", "<b>4</b>", "4:", "3,5"];

// The text of each field, in the order of the form; half of the numbers divide well, so that many inputs have a plan.
const texts = {
  micro: (roll) => roll.one(even(roll, 7), count(roll)),
  accumulate: (roll) => roll.one(even(roll, 6), count(roll)),
  replicas: (roll) => roll.one(even(roll, 7), count(roll)),
  target: (roll) => roll.one(even(roll, 14), count(roll, 5000), "1M", "7560", "3000000000000"),
  "target-positions": (roll) => roll.one(`${even(roll, 8)}0485760`, "8M", count(roll, 100000)),
  "target-tokens": (roll) => roll.one("500k", "1M", count(roll, 100000)),
  length: (roll) => roll.one("512", "2048", "4096", "131072"),
  "tokens-per-sample": (roll) => roll.one("781.25", "500", "0.4k", "1333.3333333"),
  world: (roll) => roll.one(even(roll, 10), count(roll, 200)),
  tensor: (roll) => even(roll, 4),
  pipeline: (roll) => even(roll, 3),
  context: (roll) => even(roll, 2),
  expert: (roll) => even(roll, 4),
  memory: (roll) => `${count(roll, 100)}${roll.one("GiB", "GB", " GiB")}`,
  peaks: (roll) => `4:${20 + roll.below(20)}GiB,8:${roll.one(42, 30)}${roll.one("GiB", ".5GiB")}`,
  parameters: (roll) => roll.one("1.3B", "7B", "350M", "25000000"),
  "parameter-bytes": (roll) => roll.one("2", "4", "0"),
  "gradient-bytes": (roll) => roll.one("2", "4", "0"),
  "copy-bytes": (roll) => roll.one("2", "0"),
  "optimizer-words": (roll) => roll.one("0", "1", "2"),
  summation: (roll) => roll.one("widened", "compensated", "order_independent", "narrowed"),
  division: (roll) => roll.one("late", "early", "running"),
  terms: (roll) => roll.one("1", "2", "3"),
  activation: (roll) => roll.one("6GB", "350MB", "0"),
  checkpoint: (roll) => count(roll, 12),
  other: (roll) => roll.one("2GB", "0", "1048576"),
  shard: (roll) => roll.one("nothing", "optimizer_state", "gradients", "parameters"),
  timings: (roll) => `4:${20 + roll.below(15)}ms,8:${roll.one("50ms", "0.05s", "30000us")}`,
  overhead: (roll) => roll.one("10", "2.5", "0.5%", "100"),
  bandwidth: (roll) => roll.one("25GB", "1GiB", "12.5MB"),
  latency: (roll) => roll.one("10us", "0s", "1.5ms"),
  compute: (roll) => `${count(roll, 500)}ms`,
  buffer: (roll) => roll.one("5.2GB", "100MB"),
  "in-pass": (roll) => roll.one("0", "27484", count(roll, 5000)),
  passes: (roll) => roll.one("0", "1", "3", "9223372036854775807"),
  done: (roll) => String(roll.below(3000)),
  lengths: (roll) => `512:${count(roll, 1000)},2048:${count(roll, 300)},${roll.one(4096, 8192)}:${count(roll, 90)}`,
  "base-batch": (roll) => even(roll, 12),
  nominal: (roll) => roll.one("64", count(roll, 512)),
  "new-replicas": (roll) => count(roll, 100),
  band: (roll) => roll.one("0", "5", "12.5"),
  ramp: (roll) => count(roll, 2000),
  "ramp-of": (roll) => roll.one("group", "batch"),
  "ramp-by": (roll) => roll.one("updates", "samples", "tokens", "epochs"),
  "ramp-from": (roll) => count(roll, 8),
  "ramp-to": (roll) => even(roll, 12),
  "ramp-stages": (roll) => `0:1,${count(roll, 1000)}:${even(roll, 6)}${roll.one("", ",1M:64", ",500:256")}`,
};

// One target of the three, which many a microbatch meets.
function agreeOnTarget(input, roll) {
  const name = roll.one("target", "target-positions", "target-tokens");
  const given = targets.some((each) => input[each]);
  for (const each of targets) if (each !== name) delete input[each];
  if (!given) return;
  const [known, solved] = roll.one(["micro", "accumulate"], ["accumulate", "micro"]);
  input[known] = even(roll, 4);
  delete input[solved];
  if (input.memory && roll.perhaps(50)) delete input[known];  // the largest microbatch that fits
  if (name === "target") input.target = even(roll, 4) + "0080";
  if (name === "target-positions") Object.assign(input, { [name]: String(2 ** (17 + roll.below(6))), length: "512" });
  if (name === "target-tokens") Object.assign(input, { [name]: roll.one("1M", "2M"), "tokens-per-sample": "781.25" });
}

// Takes out what most often contradicts the rest.
function agree(input, roll) {
  delete input[roll.one("target", "micro", "accumulate")];
  if (!input.target && !input.micro) input.micro = "8";
  if (!input.micro && !input.accumulate) input.micro = "4";
  agreeOnTarget(input, roll);
  if (input.ramp) delete input["ramp-stages"];
  else for (const name of ["ramp-from", "ramp-to"]) delete input[name];
  if (!input.ramp && !input["ramp-stages"]) for (const name of ["ramp-of", "ramp-by"]) delete input[name];
  if (input.ramp || input["ramp-stages"]) delete input["in-pass"];
  if (!input["in-pass"]) for (const name of ["passes", "done"]) delete input[name];
  if (!input["new-replicas"]) delete input.band;
  if (input["ramp-of"] === "batch" && input["ramp-stages"]) input["ramp-stages"] = "0:128,10k:4096";
  if (!input.peaks && !input.parameters) delete input.memory;
  if (input.parameters && !input["gradient-bytes"]) delete input.terms;
  if (input.division) delete input.terms;
  if (roll.perhaps(50)) delete input.replicas;
  if (!input.replicas && input.world) input.world = "64";
  else for (const name of ["world", "tensor", "pipeline", "context", "expert"]) delete input[name];
}

/// So many inputs, each a text for some of the fields; about one in eight has a text that cannot be read.
export function inputs(many) {
  const roll = dice(20261201);
  return Array.from({ length: many }, () => {
    const usual = roll.one(15, 35, 60);
    const input = {};
    for (const [name, text] of Object.entries(texts))
      if (roll.perhaps(name === "micro" || name === "target" ? 65 : usual)) input[name] = text(roll);
    if (roll.perhaps(75)) agree(input, roll);
    if (roll.perhaps(12)) input[roll.one(...Object.keys(texts))] = roll.one(...unreadable);
    return input;
  });
}

export const fieldNames = Object.keys(texts);

/// What the command line answers: { sections: { name: [{ answer: text }] }, complaints: [[field, text]] }.
async function answered(program, input) {
  const options = Object.entries(input).map(([name, text]) => `--${name}=${text}`);
  const { stdout } = await promisify(execFile)(program, ["--json", ...options]).catch((exit) => exit);
  // A number of 63 bits is none for JavaScript; as a text it keeps its digits.
  const { errors = [], ...sections } = JSON.parse(stdout.replace(/^(.*": )(-?\d[\d.e+-]*)(,?)$/gm, '$1"$2"$3'));
  for (const [name, found] of Object.entries(sections)) sections[name] = [found].flat();
  return { sections, complaints: errors.map(({ option, message }) => [option.slice(2), message]) };
}

export async function answeredAll(program, all) {
  const found = [];
  for (let i = 0; i < all.length; i += availableParallelism())
    found.push(...(await Promise.all(all.slice(i, i + availableParallelism()).map((input) => answered(program, input)))));
  return found;
}

// To the letter; a real number to a few units in its last place, since a compiler may fuse a product and a sum.
function same(expected, found) {
  if (expected === found) return true;
  const [a, b] = [Number(expected), Number(found)];
  return /[.e]/.test(expected) && Math.abs(a - b) <= 1e-14 * Math.abs(a);
}

/// The first place where two answers differ, or nothing.
export function difference(expected, found) {
  const [a, b] = [expected, found].map(({ complaints }) => JSON.stringify(complaints));
  if (a !== b) return `complaints ${b}, expected ${a}`;
  const [names, others] = [expected, found].map(({ sections }) => Object.keys(sections).sort().join());
  if (names !== others) return `sections ${others}, expected ${names}`;
  for (const [name, rows] of Object.entries(expected.sections)) {
    if (rows.length !== found.sections[name].length) return `${name}: ${found.sections[name].length} rows, not ${rows.length}`;
    for (const [i, row] of rows.entries()) {
      const other = found.sections[name][i];
      const keys = Object.keys(row).join();
      if (keys !== Object.keys(other).join()) return `${name} ${i}: ${Object.keys(other)}, expected ${keys}`;
      for (const [key, value] of Object.entries(row))
        if (!same(value, other[key])) return `${name} ${i} ${key}: ${other[key]}, expected ${value}`;
    }
  }
}

/// Says where they differ, and that the inputs are worth the name: most have a plan, some have none, some are unreadable.
export function compare(all, expected, found) {
  let wrong = 0;
  all.forEach((input, i) => {
    const where = difference(expected[i], found[i]);
    if (where && ++wrong <= 5) console.log(`${JSON.stringify(input)}\n  ${where}`);
  });
  const planned = expected.filter(({ sections }) => sections.batch).length;
  const sections = new Set(expected.flatMap(({ sections }) => Object.keys(sections)));
  const met = targets.filter((name) => expected.some(({ sections }, i) => name in all[i] && sections.batch));
  console.log(`${all.length} inputs, ${planned} with a plan, ${sections.size} sections: ${wrong} answers differ`);
  return wrong === 0 && met.length === targets.length && planned > all.length / 4 && planned < (7 * all.length) / 8 && sections.size === 15;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// node program.mjs PAGE BATCH_PLAN: the program in the page against the command line.
import { readFileSync, statSync } from "node:fs";
import { answeredAll, compare, fieldNames, inputs } from "./inputs.mjs";

const [page, program] = process.argv.slice(2);
const [, script] = readFileSync(page, "utf8").match(/<script>(.*)<\/script>/s);
const calculator = await new Function(`${script}\nreturn load();`)();

function found(input) {
  const { sections, complaints } = calculator.answer(calculator.fields.map(({ name }) => input[name] ?? ""));
  const rows = ([name, { rows }]) => [name, rows.map((row) => Object.fromEntries(row.map(({ name, value }) => [name, value])))];
  return { sections: Object.fromEntries([...sections].map(rows)), complaints: complaints.map(({ field, text }) => [field, text]) };
}

const claims = [];
const claim = (text, holds) => claims.push([text, holds]);

const all = inputs(200);
claim("the answers of 200 inputs are those of the command line", compare(all, await answeredAll(program, all), all.map(found)));
claim("every field is among the inputs", fieldNames.join() === calculator.fields.map(({ name }) => name).join());
claim("a tab or a line end in a text is a blank", found({ micro: "8\t\n", accumulate: "\n4" }).sections.batch[0].samples_per_update === "32");
claim("the page is smaller than 100 kB", statSync(page).size < 100_000);

for (const [text, holds] of claims) console.log(`${holds ? "ok  " : "FAIL"} ${text}`);
process.exitCode = claims.every(([, holds]) => holds) ? 0 : 1;

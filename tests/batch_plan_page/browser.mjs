// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// node browser.mjs PAGE BATCH_PLAN CHROMIUM FOLDER: the page as its users have it, from a file; screenshots into FOLDER.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { opened } from "./chromium.mjs";
import { answeredAll, compare, inputs } from "./inputs.mjs";

const [page, program, chromium, folder] = process.argv.slice(2);
const address = pathToFileURL(page).href;
const browser = await opened(chromium);
const { evaluate, press, send } = browser;
mkdirSync(folder, { recursive: true });
await send("Emulation.setScrollbarsHidden", { hidden: true });  // a screenshot has none either

const claims = [];
const claim = (text, holds) => claims.push([text, holds]);
const linkTo = (input) => `#${new URLSearchParams(input)}`;
const plan = { target: "2048", world: "1024", tensor: "8", pipeline: "2", length: "4096", micro: "4", parameters: "1.3B", activation: "1GB", memory: "80GiB",
  timings: "4:30ms,8:50ms", bandwidth: "25GB", shard: "optimizer_state" };

async function ready(link) {
  await browser.load("about:blank");
  await browser.load(address + link);
  await evaluate(`new Promise((done) => {
    const look = () => document.getElementById("headline").textContent ? done() : setTimeout(look, 10);
    look();
  })`);
}

// What people read: the tables of all tabs, and what stands beside the fields.
const read = `({
  sections: Object.fromEntries([...document.querySelectorAll("[data-section]")].map((section) => [section.dataset.section,
    [...section.querySelectorAll(section.querySelector("tbody") ? "tbody tr" : ".list")].map((row) =>
      Object.fromEntries([...row.querySelectorAll("td")].map((cell) => [cell.dataset.name, cell.dataset.value])))])),
  beside: [...document.querySelectorAll(".field")].map((field) =>
    [field.querySelector("input, select").name, field.querySelector(".wrong").textContent]).filter(([, text]) => text),
})`;

const headline = () => evaluate(`document.getElementById("headline").textContent`);
const focused = () => evaluate(`document.activeElement.id || document.activeElement.textContent`);

// ---- the answers ---------------------------------------------------------------------------------------------------

await ready("#micro=8");
const all = inputs(200);
const shown = await evaluate(`${JSON.stringify(all.map(linkTo))}.map((link) => {
  history.replaceState(null, "", link);
  dispatchEvent(new Event("hashchange"));
  return ${read};
})`);
// An unknown choice cannot be picked in the page, and two complaints about a field stand in one place.
const besides = ({ complaints }) => {
  const texts = new Map();
  for (const [field, text] of complaints) texts.set(field, texts.has(field) ? `${texts.get(field)}. ${text}` : text);
  return [...texts].sort();
};
const choosable = all.map((input) => ({ ...input }));
const words = { summation: ["widened", "compensated", "order_independent"], division: ["late", "early", "running"],
  shard: ["nothing", "optimizer_state", "gradients", "parameters"], "ramp-of": ["group", "batch"],
  "ramp-by": ["updates", "samples", "tokens"] };
for (const input of choosable)
  for (const [name, choices] of Object.entries(words)) if (name in input && !choices.includes(input[name])) delete input[name];
const expected = (await answeredAll(program, choosable)).map((answer) => ({ ...answer, complaints: besides(answer) }));
claim("the tables and complaints of 200 links are those of the command line",
  compare(all, expected, shown.map(({ sections, beside }) => ({ sections, complaints: beside.sort() }))));

// ---- by keyboard ---------------------------------------------------------------------------------------------------

await ready("#micro=8");
const first = await headline();
await press("Tab");
await press("Tab");
claim("the second stop of the tabulator is m", (await focused()) === "micro");
await press("Tab");
await send("Input.insertText", { text: "25" });
claim("results change as A is typed", first.startsWith("8 ") && (await headline()).startsWith("200 "));
const soon = `new Promise((done) => setTimeout(() => done(location.hash), 600))`;
claim("the address is a link to what was typed", (await evaluate(soon)) === "#micro=8&accumulate=25");
await send("Input.insertText", { text: "x" });
claim("bad input says what is wrong beside its field, to a reader of screens as well", await evaluate(`(() => {
  const input = document.getElementById("accumulate");
  const beside = input.getAttribute("aria-describedby").split(" ").map((id) => document.getElementById(id).textContent);
  return input.ariaInvalid === "true" && beside.some((text) => text.includes("'25x' is of an unknown unit"));
})()`));
claim("and no plan is shown for it", await evaluate(`document.querySelector("[data-section=batch], #picture svg") === null &&
  document.getElementById("panel-Batch").textContent === "Nothing, as long as a field is wrong."`));
await ready(linkTo(plan));
await evaluate(`document.querySelector("[data-group=Advice] summary").focus()`);
await press("Enter");
claim("a closed group opens", await evaluate(`document.querySelector("[data-group=Advice]").open`));
await evaluate(`document.getElementById("tab-Batch").focus()`);
await press("ArrowRight");
claim("an arrow leads to the next tab", (await focused()) === "tab-Plans" &&
  (await evaluate(`[...document.querySelectorAll("[role=tabpanel]:not([hidden])")].map((panel) => panel.id).join()`)) === "panel-Plans");
await press("ArrowLeft");
await press("ArrowLeft");
claim("and from the first one to the last", (await focused()) === "tab-Advice");

// ---- as it looks ---------------------------------------------------------------------------------------------------

const looks = `(() => {
  const shade = (color) => {
    const [r, g, b] = color.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;  // relative luminance of WCAG 2, as its contrasts take it
  };
  const back = shade(getComputedStyle(document.body).backgroundColor);
  const texts = ["body", "header p", "small", "#microbatch-wrong, .wrong", "a", "th"].map((which) =>
    shade(getComputedStyle(document.querySelector(which)).color));
  const view = document.documentElement;
  return {
    back,
    contrast: Math.min(...texts.map((text) => Math.max(text, back) / Math.min(text, back))),
    overflows: view.scrollWidth > view.clientWidth || document.querySelector("#picture svg").getBoundingClientRect().right > innerWidth,
  };
})()`;
for (const width of [360, 800, 1440])
  for (const scheme of ["light", "dark"]) {
    await send("Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: false });
    await send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
    await ready(linkTo(plan));
    const { back, contrast, overflows } = await evaluate(looks);
    claim(`${width} pixels, ${scheme}: nothing is cut off`, !overflows);
    claim(`${width} pixels, ${scheme}: ${scheme}, and each text has a contrast of 4.5 or more`,
      contrast >= 4.5 && (scheme === "dark" ? back < 0.1 : back > 0.5));
    const shoot = async (name) => {
      const { data } = await send("Page.captureScreenshot", { captureBeyondViewport: true });
      writeFileSync(join(folder, `${width}-${scheme}-${name}.png`), Buffer.from(data, "base64"));
    };
    for (const tab of ["Batch", "Plans", "Memory", "Scaling"]) {
      await evaluate(`document.getElementById("tab-${tab}").click()`);
      await shoot(tab);
      claim(`${width} pixels, ${scheme}, ${tab}: nothing is cut off`, !(await evaluate(looks)).overflows);
    }
    await ready(linkTo({ ...plan, target: "2049", memory: "80 gigs" }));
    await shoot("wrong");
    claim(`${width} pixels, ${scheme}: what is wrong is seen`, await evaluate(`(() => {
      const { width, height } = document.getElementById("memory-wrong").getBoundingClientRect();
      return width > 0 && height > 0 && document.documentElement.scrollWidth <= document.documentElement.clientWidth;
    })()`));
  }

claim("the console stays empty", browser.said.length === 0 || console.log(browser.said.join("\n")));
claim("nothing is asked of a network", browser.asked.length === 0 || console.log(browser.asked.join("\n")));
await browser.close();
for (const [text, holds] of claims) console.log(`${holds ? "ok  " : "FAIL"} ${text}`);
process.exitCode = claims.every(([, holds]) => holds) ? 0 : 1;

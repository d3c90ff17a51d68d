// Shows what the compiled plan/ headers answer. Nothing about batches is computed here.
"use strict";

const tabs = {
  Batch: { sections: ["batch", "neighbours", "uneven_group", "ranks"], needs: "m, or a target" },
  Plans: { sections: ["plans"], needs: "timings, or what a microbatch takes: parameters or two peaks" },
  Memory: { sections: ["memory", "model"], needs: "parameters, or two peaks" },
  Time: { sections: ["time"], needs: "timings" },
  Scaling: { sections: ["scaling"], needs: "bandwidth, and timings or compute" },
  Run: { sections: ["run"], needs: "in-pass" },
  Lengths: { sections: ["lengths"], needs: "lengths" },
  Advice: { sections: ["learning_rate", "nominal_batch", "elastic", "ramp"],
            needs: "base-batch, nominal, new-replicas, ramp or ramp-stages" },
};

const bars = {
  memory: ["fixed", "of_its_samples", "left"],
  model: ["parameters", "gradients", "buffer", "optimizer_state", "other"],
};

// ---- the compiled calculator ---------------------------------------------------------------------------------------

async function load() {
  const packed = Uint8Array.from(atob(packedWasm), (letter) => letter.charCodeAt(0));
  const gzip = new DecompressionStream("gzip"), writer = gzip.writable.getWriter();
  writer.write(packed);
  writer.close();
  const { instance } = await WebAssembly.instantiate(await new Response(gzip.readable).arrayBuffer());
  const { memory, _initialize, fields, room, answers } = instance.exports;
  _initialize();

  const lines = (at) => {
    const bytes = new Uint8Array(memory.buffer, at);
    const text = new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
    return text.split("\n").slice(0, -1).map((line) => line.split("\t"));
  };
  return {
    fields: lines(fields()).map(([name, group, help, example, choices]) =>
      ({ name, group, help, example, choices: choices ? choices.split(" ") : [] })),
    answer(texts) {
      const bytes = new TextEncoder().encode(texts.map((text) => text.replace(/[\n\t\0]/g, " ")).join("\n"));
      const at = room(bytes.length);
      new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
      return reportOf(lines(answers()));
    },
  };
}

// A real number comes as its bits.
function realOf(bits) {
  return new Float64Array(new BigInt64Array([BigInt(bits)]).buffer)[0];
}

function reportOf(lines) {
  const report = { sections: new Map(), complaints: [] };
  let row;
  for (const [what, name, value, unit] of lines) {
    if (what === "complaint") {
      report.complaints.push({ field: name, text: value });
    } else if (what === "row") {
      if (!report.sections.has(name)) report.sections.set(name, { isTable: value === "table", rows: [] });
      report.sections.get(name).rows.push((row = []));
    } else {
      row.push({ name, what, unit, value: what === "real" ? String(realOf(value)) : value });
    }
  }
  return report;
}

// ---- small helpers -------------------------------------------------------------------------------------------------

function element(tag, attributes = {}, ...children) {
  const made = tag === "svg" || tag === "rect" || tag === "text" || tag === "circle"
    ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const words = (name) => name.replaceAll("_", " ");
const grouped = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, "\u202f");
const many = (count, one, more = `${one}s`) => `${grouped(count)} ${count === "1" ? one : more}`;

function textOf({ what, value, unit }) {
  if (what === "word") return value;
  if (unit === "bytes") {
    const size = Number(value);
    const power = Math.min(4, Math.floor(Math.log2(Math.max(1, size)) / 10));
    if (power > 0) return `${+(size / 1024 ** power).toPrecision(4)} ${["", "KiB", "MiB", "GiB", "TiB"][power]}`;
  }
  if (what === "whole") return grouped(value);
  return String(+Number(value).toPrecision(6));
}

// ---- the form ------------------------------------------------------------------------------------------------------

function fieldOf({ name, help, example, choices }) {
  const input = choices.length
    ? element("select", {}, ...choices.map((choice) => element("option", { value: choice }, words(choice))))
    : element("input", { placeholder: example, "data-example": example, spellcheck: "false" });
  input.id = input.name = name;
  input.setAttribute("aria-describedby", `${name}-help ${name}-wrong`);
  return element("div", { class: "field" },
    element("label", { for: name }, name), input,
    element("small", { id: `${name}-help` }, help), element("div", { id: `${name}-wrong`, class: "wrong" }));
}

function makeForm(fields) {
  const form = document.getElementById("form");
  for (const group of new Set(fields.map((field) => field.group))) {
    const details = element("details", { "data-group": group },
      element("summary", {}, group, element("span", { class: "count" })),
      ...fields.filter((field) => field.group === group).map(fieldOf));
    details.open = group === "Batch";
    form.append(details);
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  return fields.map((field) => document.getElementById(field.name));
}

// Where form and answers stand side by side; below each other, a long form would hide the answers.
const hasRoom = () => matchMedia("(min-width: 56rem)").matches;

function fill(inputs, parameters) {
  for (const input of inputs) {
    if (input.tagName === "SELECT") {
      const wanted = parameters.get(input.name);
      input.selectedIndex = Math.max(0, [...input.options].findIndex((option) => option.value === wanted));
    } else {
      input.value = parameters.get(input.name) ?? "";
    }
    if (parameters.has(input.name) && hasRoom()) input.closest("details").open = true;
  }
}

function given(inputs) {
  const parameters = new URLSearchParams();
  for (const input of inputs)
    if (input.value && !(input.tagName === "SELECT" && input.selectedIndex === 0)) parameters.set(input.name, input.value);
  return parameters;
}

// ---- the answers ---------------------------------------------------------------------------------------------------

function cell(answer) {
  const td = element("td", { "data-name": answer.name, "data-value": answer.value }, textOf(answer));
  if (answer.unit === "bytes") td.title = `${grouped(answer.value)} bytes`;
  return td;
}

/// A cell of a table, shaded as far as a percentage goes.
function shaded(answer) {
  const td = cell(answer);
  if (answer.unit !== "%") return td;
  td.className = "share";
  td.style.setProperty("--part", `${Math.min(100, Number(answer.value))}%`);
  return td;
}

function listOf([row]) {
  const unitOf = ({ unit, name }) => (unit && unit !== "bytes" && unit !== name ? ` ${unit}` : "");
  return element("table", { class: "list" }, ...row.map((answer) => {
    const td = cell(answer);
    td.append(unitOf(answer));
    return element("tr", {}, element("th", { scope: "row" }, words(answer.name)), td);
  }));
}

function tableOf(rows, chosen) {
  const widest = rows.reduce((a, b) => (b.length > a.length ? b : a));
  const heading = ({ name, unit }) =>
    [words(name), ...(unit && unit !== name && unit !== "bytes" ? [element("br"), `[${unit}]`] : [])];
  return element("div", { class: "scroll", tabindex: "0" }, element("table", {},
    element("thead", {}, element("tr", {}, ...widest.map((answer) => element("th", { scope: "col" }, ...heading(answer))))),
    element("tbody", {}, ...rows.map((row) =>
      element("tr", chosen && row[0].value === chosen ? { class: "chosen" } : {}, ...row.map(shaded))))));
}

/// Those of the answers as one bar: widths are shares of their sum.
function barOf([row], names) {
  const parts = row.map(({ name, value }) => ({ name, bytes: Number(value) }))
    .filter(({ name, bytes }) => names.includes(name) && bytes > 0);
  const all = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  const bar = element("div", { class: "bar", "aria-hidden": "true" }), legend = element("ul", { class: "legend" });
  parts.forEach(({ name, bytes }, i) => {
    const color = `background: var(--${name === "left" ? "field" : `part-${i + 1}`})`;
    bar.append(element("div", { style: `${color}; width: ${(100 * bytes) / all}%` }));
    legend.append(element("li", {}, element("span", { style: color }),
      `${words(name)} ${((100 * bytes) / all).toFixed(1)} %`));
  });
  return [bar, legend];
}

function valueOf(report, section, name) {
  return report.sections.get(section)?.rows[0].find((answer) => answer.name === name)?.value;
}

function showTabs(report) {
  for (const [name, { sections, needs }] of Object.entries(tabs)) {
    const panel = document.getElementById(`panel-${name}`);
    panel.replaceChildren();
    for (const section of sections) {
      const found = report.sections.get(section);
      if (!found) continue;
      const part = element("section", { "data-section": section }, element("h2", {}, words(section)));
      const microbatch = valueOf(report, "batch", "microbatch");
      part.append(found.isTable ? tableOf(found.rows, section === "plans" && microbatch) : listOf(found.rows));
      if (bars[section]) part.append(...barOf(found.rows, bars[section]));
      panel.append(part);
    }
    const empty = panel.childElementCount === 0;
    const lacks = report.complaints.length ? "Nothing, as long as a field is wrong." : `Needs ${needs}.`;
    if (empty) panel.append(element("p", {}, lacks));
    document.getElementById(`tab-${name}`).classList.toggle("empty", empty);
  }
}

function makeTabs() {
  const list = document.getElementById("tabs"), panels = document.getElementById("panels");
  const select = (name) => {
    for (const tab of list.children) {
      const chosen = tab.id === `tab-${name}`;
      tab.setAttribute("aria-selected", chosen);
      tab.tabIndex = chosen ? 0 : -1;
      document.getElementById(tab.getAttribute("aria-controls")).hidden = !chosen;
    }
  };
  for (const name of Object.keys(tabs)) {
    const tab = element("button", { role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, type: "button" }, name);
    tab.addEventListener("click", () => select(name));
    list.append(tab);
    panels.append(element("div", { role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}` }));
  }
  list.addEventListener("keydown", (event) => {
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!move) return;
    const all = [...list.children];
    const next = all[(all.indexOf(document.activeElement) + move + all.length) % all.length];
    next.focus();
    next.click();
  });
  select(Object.keys(tabs)[0]);
}

/// Replicas below each other, the microbatches of a group beside each other, a few of them where there are many.
function picture(microbatch, group, replicas, ranks, room) {
  const most = Math.max(2, Math.min(8, Math.floor((room - 200) / 60)));
  const across = Math.min(Number(group), most), down = Math.min(Number(replicas), 6);
  const more = (all, shown) => (Number(all) > shown ? ` + ${grouped(String(BigInt(all) - BigInt(shown)))} more` : "");
  const left = 92, width = 54, height = 34, gap = 6, top = 30;
  const total = Math.max(300, left + across * (width + gap) + (more(group, across) ? 100 : 0));
  const whole = top + down * (height + 12) + 28;
  const svg = element("svg", { viewBox: `0 0 ${total} ${whole}`, width: total, height: whole, role: "img",
    "aria-label": `${many(replicas, "replica")}, each with a group of ${many(group, "microbatch", "microbatches")} of ` +
      `${many(microbatch, "sample")}${ranks ? ` on ${many(ranks, "rank")}` : ""}` });
  const text = (x, y, words, more = {}) => svg.append(element("text", { x, y, ...more }, words));
  text(left, 18, `a group of ${many(group, "microbatch", "microbatches")} of ${grouped(microbatch)}`);
  for (let d = 0; d < down; ++d) {
    const y = top + d * (height + 12);
    text(0, y + (ranks ? 14 : 22), `replica ${d + 1}`);
    if (ranks) text(0, y + 30, many(ranks, "rank"), { class: "quiet" });
    svg.append(element("rect", { class: "replica", x: left - 5, y: y - 4, rx: 5, width: across * (width + gap) + 4,
      height: height + 8 }));
    for (let a = 0; a < across; ++a) {
      const x = left + a * (width + gap);
      svg.append(element("rect", { class: "microbatch", x, y, rx: 3, width, height }));
      text(x + width / 2, y + 22, microbatch.length > 6 ? "m" : grouped(microbatch), { "text-anchor": "middle" });
    }
    const rest = more(group, across);
    if (rest) text(left + across * (width + gap) + 8, y + 22, rest.slice(1), { class: "quiet" });
  }
  const rest = more(replicas, down);
  if (rest) text(0, top + down * (height + 12) + 16, `${rest.slice(1)} replicas`, { class: "quiet" });
  return svg;
}

const picturesRoom = () => document.getElementById("picture").clientWidth;

function headline(report) {
  const at = document.getElementById("headline");
  const samples = valueOf(report, "batch", "samples_per_update");
  const positions = valueOf(report, "batch", "positions_per_update");
  at.classList.toggle("wrong", !samples);
  if (!samples) return at.replaceChildren(report.complaints.map(({ field, text }) => `${field}: ${text}`).join(". "));
  at.replaceChildren(element("b", {}, grouped(samples)), " samples an update",
    ...(positions ? [", ", element("b", {}, grouped(positions)), " positions"] : []));
}

function show(report, inputs) {
  headline(report);
  for (const input of inputs) {
    const wrong = report.complaints.filter(({ field }) => field === input.name).map(({ text }) => text).join(". ");
    document.getElementById(`${input.name}-wrong`).textContent = wrong;
    input.setAttribute("aria-invalid", wrong !== "");
    if (wrong) input.closest("details").open = true;
  }
  for (const details of document.querySelectorAll("details")) {
    const count = [...given(inputs).keys()].filter((name) => details.querySelector(`[name="${name}"]`)).length;
    details.querySelector(".count").textContent = count ? ` ${count} given` : "";
  }
  const of = (name) => valueOf(report, "batch", name);
  for (const [name, solved] of Object.entries({ micro: "microbatch", accumulate: "group", replicas: "replicas" })) {
    const input = inputs.find((each) => each.name === name);
    input.placeholder = of(solved) ?? input.dataset.example;
    input.classList.toggle("solved", of(solved) !== undefined);
  }
  const ranks = valueOf(report, "ranks", "ranks_of_a_replica");
  document.getElementById("picture").replaceChildren(
    ...(of("microbatch") ? [picture(of("microbatch"), of("group"), of("replicas"), ranks, picturesRoom())] : []));
  showTabs(report);
}

// ---- begin ---------------------------------------------------------------------------------------------------------

async function begin() {
  const calculator = await load();
  const inputs = makeForm(calculator.fields);
  makeTabs();
  let pause;
  const update = () => {
    show(calculator.answer(inputs.map((input) => input.value)), inputs);
    const address = `#${given(inputs)}`;
    document.getElementById("link").href = address;
    clearTimeout(pause);  // browsers complain of an address that changes with each key
    pause = setTimeout(() => history.replaceState(null, "", address), 300);
  };
  const fromAddress = () => {
    fill(inputs, new URLSearchParams(location.hash.slice(1) || "micro=8&accumulate=4&replicas=64&length=4096"));
    update();
  };
  document.getElementById("form").addEventListener("input", update);
  window.addEventListener("hashchange", fromAddress);
  window.addEventListener("resize", update);
  fromAddress();
}

if (globalThis.document) {  // a test has none, and calls load() alone
  begin().catch((error) => {
    document.getElementById("headline").textContent = `This browser cannot run the calculator: ${error.message}`;
  });
}

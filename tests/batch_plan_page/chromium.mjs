// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A page in headless Chromium, driven over the pipe of its DevTools protocol; no package is needed for it.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
  "--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe",
  "--disable-ipc-flooding-protection"];  // 200 links in a second

/// Opens an empty page. `said` collects what the console shows, `asked` what is asked of a network.
export async function opened(chromium) {
  const profile = mkdtempSync(join(tmpdir(), "accrue-chromium-"));
  const browser = spawn(chromium, [...flags, `--user-data-dir=${profile}`, "about:blank"],
    { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  const [, , , to, from] = browser.stdio;
  const ended = new Promise((done) => browser.on("exit", done));
  const waiting = new Map(), said = [], asked = [];
  let last = 0, session, whenLoaded = () => {};

  const hear = ({ id, method, params, result, error }) => {
    if (id) {
      const [resolve, reject] = waiting.get(id);
      waiting.delete(id);
      error ? reject(new Error(error.message)) : resolve(result);
    }
    if (method === "Runtime.consoleAPICalled") said.push(params.args.map(({ value, description }) => value ?? description).join(" "));
    if (method === "Runtime.exceptionThrown") said.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    if (method === "Log.entryAdded") said.push(params.entry.text);
    if (method === "Network.requestWillBeSent" && !/^(file|data):/.test(params.request.url)) asked.push(params.request.url);
    if (method === "Page.loadEventFired") whenLoaded();
  };
  let rest = "";
  from.setEncoding("utf8").on("data", (text) => {
    const messages = (rest + text).split("\0");
    rest = messages.pop();
    messages.map((message) => JSON.parse(message)).forEach(hear);
  });
  ended.then(() => waiting.forEach(([, reject]) => reject(new Error("Chromium ended"))));

  const send = (method, params = {}) => new Promise((resolve, reject) => {
    waiting.set(++last, [resolve, reject]);
    to.write(`${JSON.stringify({ id: last, method, params, ...(session && { sessionId: session }) })}\0`);
  });
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  session = (await send("Target.attachToTarget", { targetId, flatten: true })).sessionId;
  for (const domain of ["Runtime", "Log", "Network", "Page"]) await send(`${domain}.enable`);

  return {
    said, asked, send,
    async load(url) {
      const loaded = new Promise((resolve) => (whenLoaded = resolve));
      await send("Page.navigate", { url });
      await loaded;
    },
    /// The value of an expression in the page, awaited if it is a promise.
    async evaluate(expression) {
      const { result, exceptionDetails } =
        await send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
      if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
      return result.value;
    },
    async press(key, code = key) {
      const windowsVirtualKeyCode = { Tab: 9, Enter: 13, ArrowLeft: 37, ArrowRight: 39 }[key];
      const text = key === "Enter" ? { text: "\r" } : {};
      await send("Input.dispatchKeyEvent", { type: "keyDown", key, code, windowsVirtualKeyCode, ...text });
      await send("Input.dispatchKeyEvent", { type: "keyUp", key, code, windowsVirtualKeyCode });
    },
    async close() {
      await send("Browser.close").catch(() => {});
      await ended;
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

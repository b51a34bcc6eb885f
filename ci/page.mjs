// Runs a program for wasm32-unknown-unknown, which ends with 0 if its `main` does not panic. A
// program without imports runs in node. One that imports functions of wasm-bindgen runs in node,
// and then in Chromium if that is there, until it calls `runner.done`.
import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [file] = process.argv.slice(2);
const bytes = await readFile(file);
const module = await WebAssembly.compile(bytes);
const fail = (why) => {
  console.error(`page: failed: ${why}`);
  process.exit(1);
};
if (bytes.includes("time not implemented on this platform")) fail("it asks the standard library for the time");
if (WebAssembly.Module.imports(module).length === 0) {
  const { exports } = await WebAssembly.instantiate(module, {});
  process.exit(exports.main(0, 0));
}

// What the program imports beside what a host has. It stands in front of the host's time-outs.
const runner = `
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  const left = new Set();
  let least = Infinity, longest = 0;
  globalThis.setTimeout = (run, wait) => {
    longest = Math.max(longest, wait);
    const id = set(() => { left.delete(id); run(); }, Math.min(wait, least));
    left.add(id);
    return id;
  };
  globalThis.clearTimeout = (id) => { left.delete(id); clear(id); };
  globalThis.runner = { done, pending: () => left.size, longest: () => longest, hasten: (wait) => { least = wait; } };
`;
const folder = await mkdtemp(join(tmpdir(), "page-"));
const bound = spawnSync("wasm-bindgen", [file, "--target", "web", "--no-typescript", "--out-name", "page", "--out-dir", folder], { stdio: "inherit" });
if (bound.status !== 0) fail("wasm-bindgen");
await writeFile(join(folder, "package.json"), `{ "type": "module" }`);

// What ends with an error, or hangs, fails. The program in node changes the time-outs of this one.
const { setTimeout: wait, clearTimeout: end } = globalThis;
// What the browser has loaded.
const asked = [];
const ended = (where, start) =>
  new Promise((resolve) => {
    const late = wait(() => resolve(`nothing within a minute${asked.map((url) => `, ${url}`).join("")}`), 60_000);
    start((why) => {
      end(late);
      resolve(why);
    });
  }).then((why) => (why ? fail(`${where}: ${why}`) : console.log(`page: passed in ${where}`)));

await ended("node", async (done) => {
  process.on("uncaughtException", (error) => done(String(error.stack)));
  new Function("done", runner)(done);
  const { default: start } = await import(join(folder, "page.js"));
  await start({ module_or_path: await readFile(join(folder, "page_bg.wasm")) });
});

if (spawnSync("chromium", ["--version"]).status !== 0) {
  console.log("page: skipped: no chromium (Debian: chromium)");
} else {
  await ended("chromium", async (done) => {
    const page = `<script>
      const done = (why) => fetch("done", { method: "POST", body: why ?? "" });
      onerror = onunhandledrejection = (event) => done(String(event.reason ?? event));
      ${runner}
    </script><script type="module">import start from "./page.js"; await start();</script>`;
    const types = { js: "text/javascript", wasm: "application/wasm" };
    const server = createServer(async (request, response) => {
      asked.push(request.url);
      if (request.method === "POST") {
        let why = "";
        for await (const part of request) why += part;
        response.end();
        browser.kill();
        server.close();
        return done(why);
      }
      const name = request.url === "/" ? "" : request.url.slice(1);
      response.setHeader("Content-Type", types[name.split(".").pop()] ?? "text/html");
      response.end(name ? await readFile(join(folder, name)).catch(() => "") : page);
    });
    await new Promise((listens) => server.listen(0, "127.0.0.1", listens));
    const flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";
    const browser = spawn("chromium", [...flags.split(" "), `--user-data-dir=${join(folder, "user")}`, `http://127.0.0.1:${server.address().port}/`]);
    process.on("exit", () => browser.kill());
    browser.on("error", (error) => done(String(error)));
  });
}
// What a browser that is about to end still writes may stay.
await rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
process.exit(0);

// Opens a report in Chromium, does what a reader does, and prints what it saw as JSON.
// node report.mjs MODULES CHROMIUM PAGE WORD [SCREENSHOT]
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [modules, chromium, file, word, screenshot] = process.argv.slice(2);
const require = createRequire(join(modules, "node_modules", "x.js"));
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const browser = await require("playwright-core").chromium.launch({
  executablePath: chromium,
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
const seen = { console: [], requests: [], dialogs: 0, axe: [], widths: {} };

async function open(options) {
  const page = await (await browser.newContext(options)).newPage();
  page.setDefaultTimeout(60_000);
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && seen.console.push(message.text()));
  page.on("pageerror", (error) => seen.console.push(error.message));
  page.on("dialog", (dialog) => (seen.dialogs++, dialog.dismiss()));
  page.on("request", (request) => seen.requests.push(request.url()));
  await page.goto(`file://${file}`);
  return page;
}

const page = await open({ viewport: { width: 1200, height: 900 } });
if (screenshot) await page.screenshot({ path: screenshot });

// Findings
seen.count = await page.textContent("#f-count");
await page.selectOption("#f-severity", "error");
await page.waitForTimeout(400);
seen.errors = await page.textContent("#f-count");
seen.rows = await page.$$eval("#f-rows tbody tr", (rows) => rows.filter((row) => row.checkVisibility()).length);
await page.selectOption("#f-severity", "");
await page.fill("#f-text", "no such finding");
await page.waitForTimeout(400);
seen.none = await page.textContent("#f-count");
await page.fill("#f-text", "");

// Search
await page.fill("#q", word);
await page.waitForTimeout(400);
await page.press("#q", "Enter");
seen.found = await page.textContent("#q-count");
seen.hit = await page.evaluate(() => {
  const [range] = CSS.highlights.get("here");
  const { top, bottom } = range.getBoundingClientRect();
  return { text: range.toString(), visible: range.startContainer.parentElement.checkVisibility(), inside: top >= 0 && bottom <= innerHeight };
});
await page.fill("#q", "");
await page.waitForTimeout(400);

// Keys alone: from the top of the page each element that can be reached is, in both directions of its fold.
await page.evaluate(() => {
  for (const fold of document.querySelectorAll("details")) fold.open = false;
  scrollTo(0, 0);
  document.activeElement.blur();
});
const reachable = await page.evaluate(() => {
  const all = [...document.querySelectorAll("a[href], button, input, select, summary")];
  return all.filter((each) => each.checkVisibility()).map((each, at) => ((each.dataset.at = at), at)).length;
});
const reached = new Set();
for (let at = 0; at < reachable + 20; at++) {
  await page.keyboard.press("Tab");
  reached.add(await page.evaluate(() => document.activeElement?.dataset.at));
}
reached.delete(undefined);
seen.keyboard = { reachable, reached: reached.size };
await page.focus("body");
await page.keyboard.press("j");
seen.summary = await page.evaluate(() => document.activeElement.matches("details.session > summary"));
await page.keyboard.press("Enter");
seen.opened = await page.evaluate(() => document.activeElement.closest("details").open);
await page.keyboard.press("u");
seen.unfolded = await page.evaluate(() => [...document.activeElement.closest("details").querySelectorAll("details")].every((fold) => fold.open));
await page.keyboard.press("/");
seen.focused = await page.evaluate(() => document.activeElement.id);

// A link to a folded place opens it.
seen.link = await page.evaluate(async () => {
  const last = [...document.querySelectorAll("details.session")].at(-1);
  last.open = false;
  location.hash = last.querySelector("article")?.id ?? last.id;
  await new Promise((resolve) => setTimeout(resolve, 200));
  return last.open;
});

// What helps people who do not see well, in both schemes and at all widths
for (const colorScheme of ["light", "dark"]) {
  for (const width of [360, 800, 1600]) {
    const other = await open({ viewport: { width, height: 900 }, colorScheme });
    await other.evaluate(() => {
      for (const fold of [...document.querySelectorAll("details.session")].slice(0, 2)) {
        for (const each of [fold, ...fold.querySelectorAll("details")]) each.open = true;
      }
      for (const fold of document.querySelectorAll("figure details")) fold.open = true;
    });
    seen.widths[`${colorScheme} ${width}`] = await other.evaluate("document.documentElement.scrollWidth");
    if (width === 800) {
      await other.evaluate(axe);
      const { violations } = await other.evaluate("axe.run({ resultTypes: ['violations'] })");
      const told = violations.map(({ id, impact, nodes }) => ({ id, impact, target: nodes[0].target.join(" ") }));
      seen.axe.push(...told.filter((each) => ["serious", "critical"].includes(each.impact)));
    }
    await other.close();
  }
}

seen.hacked = await page.evaluate("String(window.hacked)");
seen.title = await page.title();
seen.scripts = await page.evaluate("document.scripts.length");
await browser.close();
console.log(JSON.stringify(seen));

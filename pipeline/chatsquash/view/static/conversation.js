// A conversation: keyboard shortcuts, expanding and collapsing, find, and log lines that are loaded when expanded.

const main = document.getElementById("main");
const bar = document.getElementById("find");
const told = document.getElementById("find-told");
const numbers = (name) => (main.dataset[name] ? main.dataset[name].split(" ").map(Number) : []);
const first = Number(main.dataset.from ?? 0);
const last = Number(main.dataset.to ?? -1);

// What is gone to stands below the bar that stays, however high that is.

const toolbar = document.querySelector(".toolbar");

function clear() {
  const stays = getComputedStyle(toolbar).position === "sticky";
  document.documentElement.style.scrollPaddingTop = stays ? `${toolbar.offsetHeight + 8}px` : "";
}

if (toolbar) {
  clear();
  new ResizeObserver(clear).observe(toolbar);
}

// Places

main.classList.add("led"); // what is outlined from now on is the message that was gone to last

let current = Number.NaN; // its number, also where it is not drawn

function article(number) {
  return document.getElementById(`m${number}`);
}

function hashed() {
  return /^#m\d+$/.test(location.hash) ? Number(location.hash.slice(2)) : Number.NaN;
}

// The URL of a message; what is not changed of the query stays.
function address(number, changes) {
  const asked = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) asked.set(name, value);
  return `${location.pathname}${asked.size ? "?" : ""}${asked}#m${number}`;
}

// Where the reader is: the message that was gone to last, as long as it is in sight, else the first one that is.
function here() {
  const gone = article(current);
  const box = gone?.getBoundingClientRect();
  if (!Number.isNaN(current) && (!box || (box.bottom > 0 && box.top < innerHeight))) return current;
  for (const each of document.querySelectorAll(".message[id]")) {
    if (each.getBoundingClientRect().bottom > 120) return Number(each.id.slice(1)) - 1;
  }
  return first - 1;
}

function outline(number) {
  current = number;
  for (const each of document.querySelectorAll(".now")) each.classList.remove("now");
  const found = article(number);
  found?.classList.add("now");
  return found;
}

// Go to a message, on another page where it is not on this one; "Back" leads to the place before.
function goTo(number, changes = {}, focus = true) {
  const found = article(number);
  if (!found && (number < first || number > last)) {
    location.assign(address(number, { m: number, ...changes }));
    return false;
  }
  const to = address(number, changes);
  if (to !== location.pathname + location.search + location.hash) history.pushState(null, "", to);
  arrive(number, focus);
  found?.scrollIntoView({ block: "start" });
  return true;
}

function arrive(number, focus) {
  const found = outline(number);
  if (!found || !focus) return;
  found.tabIndex = -1; // only now, since a browser moves the focus to what the URL names where that can have it
  found.focus({ preventScroll: true });
}

function step(name, what, way) {
  const places = numbers(name);
  const at = here();
  const next = way > 0 ? places.findIndex((each) => each > at) : places.findLastIndex((each) => each < at);
  if (next < 0) say(places.length ? `no ${way > 0 ? "later" : "earlier"} ${what}` : `no ${what}`);
  else if (goTo(places[next])) say(`${what} ${(next + 1).toLocaleString("en")} of ${places.length.toLocaleString("en")}`);
}

function say(text) {
  const said = document.getElementById("keys-told");
  if (said) said.textContent = text;
}

// Expanding and collapsing

function foldAll(open) {
  for (const each of document.querySelectorAll(".conversation details")) each.open = open;
}

document.getElementById("fold")?.addEventListener("click", () => foldAll(false));
document.getElementById("unfold")?.addEventListener("click", () => foldAll(true));

function unfold(node) {
  for (let each = node.parentElement; each; each = each.parentElement) {
    if (each.tagName === "DETAILS") each.open = true;
  }
}

// A find of its own: the server counts in all of the record, this marks what is drawn.

let hits = [];
let total = 0;
let at = -1;
let spellings = [];
let asked = "";

function message(hit) {
  let left = hit;
  for (const [number, count] of hits) {
    if (left < count) return [number, left];
    left -= count;
  }
  return null;
}

function unmark() {
  const parents = new Set();
  for (const each of document.querySelectorAll("mark.found")) {
    parents.add(each.parentNode);
    each.replaceWith(...each.childNodes);
  }
  for (const each of parents) each.normalize();
}

function texts(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const found = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement.closest(TEXTS)) found.push(node);
  }
  return found;
}

// What is said of a message: not the diff that is made of a call, which has its texts once more.
const TEXTS = "pre:not(.edit), .markdown";

// The texts of one element are one, since colours divide them.
function mark(root) {
  const marked = [];
  for (const each of root.querySelectorAll(TEXTS)) {
    if (each.parentElement.closest(".markdown")) continue;
    const nodes = texts(each);
    marked.push(...wrap(nodes, places(nodes.map((node) => node.data).join(""))));
  }
  return marked;
}

// Each spelling is looked for once from where it was found last, so that the time is linear in the text.
function places(text) {
  const found = [];
  const ahead = spellings.map((each) => [text.indexOf(each), each.length, each]);
  for (;;) {
    const next = ahead.filter(([place]) => place >= 0).sort(([a, m], [b, n]) => a - b || n - m)[0];
    if (!next) return found;
    const end = next[0] + next[1];
    found.push([next[0], end]);
    for (const each of ahead) {
      if (each[0] >= 0 && each[0] < end) each[0] = text.indexOf(each[2], end);
    }
  }
}

// Marks places, in order, in nodes that follow each other; tells the first mark of each.
function wrap(nodes, found) {
  const made = [];
  let at = 0;
  let start = 0;
  for (const node of nodes) {
    const { data } = node;
    const parts = [];
    let told = 0;
    for (; at < found.length && found[at][0] < start + data.length; at++) {
      const from = Math.max(found[at][0] - start, 0);
      const to = Math.min(found[at][1] - start, data.length);
      const around = document.createElement("mark");
      around.className = "found";
      around.textContent = data.slice(from, to);
      parts.push(data.slice(told, from), around);
      made[at] ??= around;
      told = to;
      if (found[at][1] - start > data.length) break; // it goes on in the next node
    }
    start += data.length;
    if (parts.length) node.replaceWith(...[...parts, data.slice(told)].filter((each) => each !== ""));
  }
  return made;
}

function tell(note = "") {
  told.textContent = asked ? `${total ? (at + 1).toLocaleString("en") : 0} of ${total.toLocaleString("en")}${note}` : "";
  document.getElementById("find-previous").disabled = !total;
}

function show() {
  const place = message(at);
  if (!place) { tell(); return; }
  const [number, inside] = place;
  unmark();
  if (!goTo(number, { find: asked, hit: at + 1 }, false)) return;
  const drawn = article(number);
  const found = drawn ? mark(drawn) : [];
  const own = found[Math.min(inside, found.length - 1)];
  if (own) {
    unfold(own);
    own.scrollIntoView({ block: "center" });
  }
  tell(own ? "" : " (in what is cut here)");
}

async function find(text, hit = null, from = null) {
  asked = text;
  if (!text.trim()) { forget(); return; }
  const base = main.dataset.base.replace(/\/log$/, "");
  const answer = await fetch(`${base}/find?${new URLSearchParams({ q: text })}`);
  if (!answer.ok || asked !== text) return;
  ({ hits, total, spellings } = await answer.json());
  at = hit === null ? nearest(from ?? here()) : Math.min(hit, total - 1);
  show();
}

function forget() {
  unmark();
  asked = "";
  hits = [];
  total = 0;
  tell();
}

// The first hit in a message or behind it, else the very first.
function nearest(number) {
  let count = 0;
  for (const [each, times] of hits) {
    if (each >= number) return count;
    count += times;
  }
  return 0;
}

function go(way) {
  if (bar.value !== asked) { find(bar.value); return; }
  if (!total) return;
  at = (at + way + total) % total;
  show();
}

bar?.form.addEventListener("submit", (event) => { event.preventDefault(); go(1); });
bar?.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.shiftKey) { event.preventDefault(); go(-1); }
});
document.getElementById("find-previous")?.addEventListener("click", () => go(-1));

// Keys

const keys = {
  j: () => step("prompts", "prompt", 1),
  k: () => step("prompts", "prompt", -1),
  n: () => step("errors", "error", 1),
  f: () => step("findings", "finding", 1),
  u: () => foldAll(true),
  z: () => foldAll(false),
  "/": () => bar?.focus(),
  "[": () => document.getElementById("prev-session")?.click(),
  "]": () => document.getElementById("next-session")?.click(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) {
    if (event.key === "Escape") event.target.blur?.();
    return;
  }
  const act = keys[event.key.toLowerCase()];
  if (act) { event.preventDefault(); act(); }
});

// What the log says of replies, which is read once the page is there.

async function tellFacts() {
  if (!document.querySelector(".message.assistant")) return;
  const answer = await fetch(`${main.dataset.base.replace(/\/log$/, "")}/facts`);
  if (!answer.ok) return;
  for (const [number, text] of Object.entries(await answer.json())) {
    const told = document.createElement("span");
    told.className = "name logged";
    told.dir = "auto";
    told.textContent = text;
    article(number)?.querySelector("header")?.append(told);
  }
}

if (main.dataset.base) tellFacts();

// Lines of the log

document.addEventListener("toggle", async (event) => {
  const entry = event.target;
  if (!entry.open || !entry.dataset?.raw || entry.querySelector("pre")) return;
  const shown = document.createElement("pre");
  shown.textContent = "…";
  shown.tabIndex = 0; // so that keys can scroll it
  entry.append(shown);
  const answer = await fetch(entry.dataset.raw);
  shown.textContent = answer.ok ? await answer.text() : `The server answers ${answer.status}.`;
}, true);

// What the URL asks for, on load and when "Back" or a link within the page leads to it

function look() {
  const number = hashed();
  const query = new URLSearchParams(location.search);
  const text = query.get("find") ?? "";
  const hit = Number(query.get("hit"));
  say("");
  arrive(number, !bar || !text);
  if (bar && text) {
    bar.value = text;
    findOn();
    find(text, hit > 0 ? hit - 1 : null, Number.isNaN(number) ? null : number);
  } else {
    if (bar && asked) { bar.value = ""; forget(); }
    const found = article(number);
    if (found) unfold(found);
  }
}

// Enter goes on with the find; what a browser does about the message that the URL names takes the focus from the field.
function findOn() {
  if (!asked && !bar?.value) return;
  const { activeElement } = document;
  if (activeElement === document.body || activeElement.matches(".message, .answer")) bar.focus({ preventScroll: true });
}

addEventListener("load", () => setTimeout(findOn));
addEventListener("popstate", look);
look();
article(current)?.scrollIntoView();

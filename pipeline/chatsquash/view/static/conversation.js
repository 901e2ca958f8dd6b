// A conversation: keys, folding, its own find, and lines of the log that are read when they are unfolded.

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

function article(number) {
  return document.getElementById(`m${number}`);
}

function address(query, number) {
  const asked = new URLSearchParams(query).toString();
  return `${main.dataset.base}${asked ? "?" : ""}${asked}#m${number}`;
}

// Where the reader is: the message that was gone to last, else the first one in sight.
function here() {
  const now = document.querySelector(".now");
  if (now) return Number(now.id.slice(1));
  for (const each of document.querySelectorAll(".message[id]")) {
    if (each.getBoundingClientRect().bottom > 120) return Number(each.id.slice(1)) - 1;
  }
  return first - 1;
}

function goTo(number, query = {}, focus = true) {
  const found = article(number);
  if (!found) {
    location.assign(address({ m: number, ...query }, number));
    return false;
  }
  for (const each of document.querySelectorAll(".now")) each.classList.remove("now");
  found.classList.add("now");
  found.tabIndex = -1;
  if (focus) found.focus({ preventScroll: true });
  found.scrollIntoView({ block: "start" });
  return true;
}

function step(places, way) {
  const at = here();
  const next = way > 0 ? places.find((each) => each > at) : places.findLast((each) => each < at);
  if (next === undefined) return;
  const window = new URLSearchParams(location.search).get("m");
  if (goTo(next)) history.replaceState(null, "", address(window === null ? {} : { m: window }, next));
}

// Folding

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
  for (const each of document.querySelectorAll("mark.found")) {
    const parent = each.parentNode;
    each.replaceWith(...each.childNodes);
    parent.normalize();
  }
}

function texts(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const found = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement.closest("pre")) found.push(node);
  }
  return found;
}

// The texts of one <pre> are one, since colours divide them.
function mark(root) {
  const marked = [];
  for (const pre of root.querySelectorAll("pre")) {
    const nodes = texts(pre);
    const whole = nodes.map((node) => node.data).join("");
    const places = [];
    for (let from = 0; from <= whole.length;) {
      let begin = -1;
      let length = 0;
      for (const each of spellings) {
        const place = whole.indexOf(each, from);
        if (place >= 0 && (begin < 0 || place < begin || (place === begin && each.length > length))) {
          begin = place;
          length = each.length;
        }
      }
      if (begin < 0) break;
      places.push([begin, begin + length]);
      from = begin + length;
    }
    marked.push(...places.map(([begin, end]) => wrap(nodes, begin, end)).filter(Boolean));
  }
  return marked;
}

function wrap(nodes, begin, end) {
  let start = 0;
  let made = null;
  for (let index = 0; index < nodes.length; index++) {
    const node = nodes[index];
    const length = node.data.length;
    const from = Math.max(begin - start, 0);
    const to = Math.min(end - start, length);
    if (from < to) {
      const range = document.createRange();
      range.setStart(node, from);
      range.setEnd(node, to);
      const around = document.createElement("mark");
      around.className = "found";
      range.surroundContents(around);
      made ??= around;
      const behind = around.nextSibling;
      const held = around.firstChild;
      nodes.splice(index, 1, ...[from ? node : null, held, to < length ? behind : null].filter(Boolean));
      if (from) { start += from; index++; }
      start += to - from;
      continue;
    }
    start += length;
    if (start >= end) break;
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
  const found = mark(article(number));
  const own = found[Math.min(inside, found.length - 1)];
  if (own) {
    unfold(own);
    own.scrollIntoView({ block: "center" });
  }
  const window = new URLSearchParams(location.search).get("m");
  const query = { ...(window === null ? {} : { m: window }), find: asked, hit: at + 1 };
  history.replaceState(null, "", address(query, number));
  tell(own ? "" : " (in what is cut here)");
}

async function find(text, hit = null, from = null) {
  asked = text;
  if (!text.trim()) { unmark(); hits = []; total = 0; tell(); return; }
  const base = main.dataset.base.replace(/\/log$/, "");
  const answer = await fetch(`${base}/find?${new URLSearchParams({ q: text })}`);
  if (!answer.ok || asked !== text) return;
  ({ hits, total, spellings } = await answer.json());
  at = hit === null ? nearest(from ?? here()) : Math.min(hit, total - 1);
  show();
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
document.getElementById("find-previous")?.addEventListener("click", () => go(-1));

// Keys

const keys = {
  j: () => step(numbers("prompts"), 1),
  k: () => step(numbers("prompts"), -1),
  n: () => step(numbers("errors"), 1),
  f: () => step(numbers("findings"), 1),
  u: () => foldAll(true),
  z: () => foldAll(false),
  "/": () => bar?.focus(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) {
    if (event.key === "Escape") event.target.blur?.();
    return;
  }
  const act = keys[event.key.toLowerCase()];
  if (act) { event.preventDefault(); act(); }
});

// Lines of the log

const SHOWN = 200000;

document.addEventListener("toggle", async (event) => {
  const entry = event.target;
  if (!entry.open || !entry.dataset?.raw || entry.querySelector("pre")) return;
  const shown = document.createElement("pre");
  shown.textContent = "…";
  shown.tabIndex = 0; // so that keys can scroll it
  entry.append(shown);
  const answer = await fetch(entry.dataset.raw);
  const text = answer.ok ? await answer.text() : `The server answers ${answer.status}.`;
  let readable = text;
  try { readable = JSON.stringify(JSON.parse(text), null, 2); } catch { /* It is shown as it stands. */ }
  const more = readable.length > SHOWN ? `\n… ${(readable.length - SHOWN).toLocaleString("en")} characters more (raw)` : "";
  shown.textContent = visible(readable.slice(0, SHOWN)) + more;
}, true);

// What controls, hides or reorders text is shown as an escape.
function visible(text) {
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

// What the URL asks for

const query = new URLSearchParams(location.search);
if (bar && query.get("find")) {
  bar.value = query.get("find");
  const hit = Number(query.get("hit"));
  const number = Number(location.hash.slice(2));
  find(bar.value, hit > 0 ? hit - 1 : null, location.hash ? number : null);
} else if (location.hash.startsWith("#m")) {
  const found = document.getElementById(location.hash.slice(1));
  if (found) {
    unfold(found);
    found.scrollIntoView();
  }
}

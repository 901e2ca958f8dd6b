// Filters findings, searches, expands and collapses sessions, and handles keyboard shortcuts.
const by = (id) => document.getElementById(id);
const later = (act) => {
  let waiting;
  return () => {
    clearTimeout(waiting);
    waiting = setTimeout(act, 150);
  };
};
const count = (number) => number.toLocaleString("en");

// Findings

const groups = [...document.querySelectorAll("#f-rows > details")];
const rows = groups.flatMap((group) =>
  [...group.querySelectorAll("tbody tr")].map((row) => ({
    row,
    severity: group.dataset.severity,
    code: group.dataset.code,
    text: `${group.dataset.severity} ${group.dataset.code} ${row.textContent}`.toLowerCase(),
  })),
);

// Return how many findings of the complete result match; the page may contain only some of them.
function inResult(text, severity, code) {
  const chosen = (id) => Number(by(id).selectedOptions[0].dataset.all);
  if (text || (severity && code)) return null;
  return code ? chosen("f-code") : severity ? chosen("f-severity") : Number(by("f-count").dataset.all);
}

function filter() {
  const text = by("f-text").value.trim().toLowerCase();
  const severity = by("f-severity").value;
  const code = by("f-code").value;
  let shown = 0;
  for (const each of rows) {
    const fits = (!severity || each.severity === severity) && (!code || each.code === code) && each.text.includes(text);
    each.row.hidden = !fits;
    shown += fits;
  }
  for (const chunk of by("f-rows").querySelectorAll("tbody")) {
    chunk.hidden = [...chunk.rows].every((row) => row.hidden);
  }
  const isFiltered = text !== "" || severity !== "" || code !== "";
  for (const group of groups) {
    group.hidden = isFiltered && group.querySelector("tbody tr:not([hidden])") === null;
    group.open = isFiltered && !group.hidden;
  }
  const all = Number(by("f-count").dataset.all);
  const total = inResult(text, severity, code);
  const isComplete = rows.length === all;
  const of = isComplete ? all : total ?? rows.length;
  const where = isComplete ? "findings" : total === null ? "findings on this page" : "findings are on this page";
  by("f-count").textContent = `${count(shown)} of ${count(of)} ${where}`;
}

if (rows.length) {
  by("filters").hidden = false;
  by("filters").addEventListener("input", later(filter));
  by("filters").addEventListener("submit", (event) => event.preventDefault());
}

// Sessions

const sessions = [...document.querySelectorAll("details.session")];
const texts = new Map();
const MOST = 5000;
let hits = [];
let here = -1;

function textOf(session) {
  if (!texts.has(session)) texts.set(session, session.textContent.toLowerCase());
  return texts.get(session);
}

function matchesIn(session, query) {
  const ranges = [];
  const walk = document.createTreeWalker(session, NodeFilter.SHOW_TEXT);
  while (walk.nextNode() && hits.length + ranges.length < MOST) {
    const lower = walk.currentNode.data.toLowerCase();
    const text = lower.length === walk.currentNode.data.length ? lower : walk.currentNode.data;
    for (let at = text.indexOf(query); at >= 0; at = text.indexOf(query, at + query.length)) {
      const range = new Range();
      range.setStart(walk.currentNode, at);
      range.setEnd(walk.currentNode, at + query.length);
      ranges.push(range);
    }
  }
  return ranges;
}

function mark(name, ranges) {
  if (typeof Highlight === "undefined") return;
  CSS.highlights.set(name, new Highlight(...ranges));
}

function showCount() {
  const shown = sessions.filter((each) => !each.hidden).length;
  const sessionCount = `${count(shown)} of ${count(sessions.length)} sessions`;
  const many = hits.length < MOST ? count(hits.length) : `${count(MOST)} or more`;
  const matches = hits.length === 1 ? "1 match" : `${many} matches`;
  const place = here < 0 ? matches : `match ${count(here + 1)} of ${many}`;
  by("q-count").textContent = hits.length ? `${sessionCount}, ${place}` : sessionCount;
}

function search() {
  const query = by("q").value.trim().toLowerCase();
  hits = [];
  here = -1;
  for (const session of sessions) {
    session.hidden = query !== "" && !textOf(session).includes(query);
    if (query && !session.hidden) hits.push(...matchesIn(session, query));
  }
  mark("found", hits);
  mark("here", []);
  showCount();
}

function go(step) {
  if (!hits.length) return;
  here = here < 0 && step < 0 ? hits.length - 1 : (here + step + hits.length) % hits.length;
  const node = hits[here].startContainer.parentElement;
  for (let fold = node.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  node.scrollIntoView({ block: "center" });
  const { top, bottom } = hits[here].getBoundingClientRect();
  if (top < 0 || bottom > innerHeight) scrollBy(0, (top + bottom - innerHeight) / 2);
  mark("here", [hits[here]]);
  showCount();
}

function unfold(inside, open) {
  for (const fold of inside.querySelectorAll("details")) fold.open = open;
}

let lately;
function step(by) {
  const shown = sessions.filter((each) => !each.hidden);
  const focused = document.activeElement?.closest("details.session") ?? lately;
  const at = shown.indexOf(focused);
  const next = shown[at < 0 ? 0 : Math.min(Math.max(at + by, 0), shown.length - 1)];
  if (!next) return;
  lately = next;
  next.querySelector("summary").focus();
  next.scrollIntoView({ block: "start" });
}

// Expand the elements that contain the target of a link.
function arrive() {
  const target = location.hash.length > 1 && by(location.hash.slice(1));
  if (!target) return;
  for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  target.scrollIntoView();
}

by("search").hidden = false;
by("keys-told").hidden = false;
by("q").addEventListener("input", later(search));
by("search").addEventListener("submit", (event) => {
  event.preventDefault();
  go(1);
});
by("q-next").addEventListener("click", () => go(1));
by("q-previous").addEventListener("click", () => go(-1));
by("unfold").addEventListener("click", () => {
  for (const each of sessions) if (!each.hidden) each.open = true;
  unfold(by("all"), true);
});
by("fold").addEventListener("click", () => unfold(by("all"), false));
addEventListener("hashchange", arrive);
arrive();

const acts = {
  "/": () => by("q").focus(),
  f: () => by("f-text")?.focus(),
  n: () => go(1),
  p: () => go(-1),
  j: () => step(1),
  k: () => step(-1),
  u: () => {
    const session = document.activeElement?.closest("details.session") ?? lately;
    if (!session) return;
    const open = [...session.querySelectorAll("details")].some((fold) => !fold.open) || !session.open;
    session.open = true;
    unfold(session, open);
  },
};

addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target.matches("input")) event.target.blur();
  if (event.ctrlKey || event.metaKey || event.altKey || !by("keys").checked) return;
  if (event.target.matches("input[type=search], select, textarea") || !Object.hasOwn(acts, event.key)) return;
  event.preventDefault();
  acts[event.key]();
});

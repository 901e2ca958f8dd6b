// The search over all texts: shows what is found while the server goes on, and can stop it.

const main = document.getElementById("main");
const list = document.getElementById("hits");
const told = document.getElementById("told");
const progress = document.getElementById("progress");
const stop = document.getElementById("stop");
let running = null;

function element(name, text, className) {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

function add(hit) {
  const item = document.createElement("li");
  const link = element("a", hit.title, "title");
  link.dir = "auto";
  if (hit.href) link.href = hit.href;
  const around = element("div", "", "around");
  around.dir = "auto";
  around.append(hit.before, element("mark", hit.hit), hit.after);
  const times = hit.count === 1 ? "" : `, ${hit.count.toLocaleString("en")} times`;
  item.append(link, element("div", `${hit.title === hit.session ? "" : `${hit.session}, `}message ${hit.message}${times}`, "quiet"), around);
  list.append(item);
}

function take(line) {
  if (line.problem) told.textContent = line.problem;
  else if (line.end) told.textContent = line.end === "all" ? sum(line.found) : `The first ${line.found} records; look for more of the text.`;
  else if (line.total !== undefined) {
    progress.max = line.total || 1;
    progress.value = line.done;
    told.textContent = `${line.found} found, ${Math.floor(100 * line.done / (line.total || 1))} % searched`;
  } else add(line);
}

function sum(found) {
  if (!found) return "No record says this.";
  return found === 1 ? "One record says this." : `${found} records say this.`;
}

async function run(asked) {
  running?.abort();
  const own = new AbortController();
  running = own;
  list.replaceChildren();
  progress.hidden = false;
  stop.disabled = false;
  try {
    const answer = await fetch(`${main.dataset.stream}?${new URLSearchParams({ q: asked })}`, { signal: own.signal });
    if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const lines = (rest + part.value).split("\n");
      rest = lines.pop();
      for (const line of lines) take(JSON.parse(line));
    }
  } catch (problem) {
    if (running !== own) return;
    told.textContent = own.signal.aborted ? `Stopped; ${list.children.length} found so far.` : `The search ended: ${problem.message}`;
  }
  if (running !== own) return;
  progress.hidden = true;
  stop.disabled = true;
  running = null;
}

stop.addEventListener("click", () => running?.abort());
addEventListener("pagehide", () => running?.abort());
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") running?.abort();
});

const asked = new URLSearchParams(location.search).get("q");
if (asked?.trim()) run(asked);

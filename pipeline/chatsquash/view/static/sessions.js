// The list: filters apply as somebody types, are in the URL, and "/" goes to the first one.

const form = document.querySelector("form.filters");
const PAUSE = 200;
let waiting = 0;
let latest = null;

function query() {
  const asked = new URLSearchParams(new FormData(form));
  for (const [name, value] of [...asked]) if (value === "") asked.delete(name, value);
  return asked.size ? `/?${asked}` : "/";
}

// Shows what the server leaves of the list; "Back" leads to the page before the list, as the URL of this one changes.
async function filter() {
  const url = query();
  latest?.abort();
  latest = new AbortController();
  try {
    const answer = await fetch(url, { signal: latest.signal });
    if (!answer.ok) throw new Error(String(answer.status));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (page.body.dataset.result !== document.body.dataset.result) throw new Error("the result was replaced");
    document.getElementById("list").replaceChildren(...page.getElementById("list").children);
    document.getElementById("found").textContent = page.getElementById("found").textContent;
    history.replaceState(null, "", url);
  } catch (problem) {
    if (problem.name !== "AbortError") location.assign(url);
  }
}

form.addEventListener("input", (event) => {
  if (!event.target.matches("input")) return;
  clearTimeout(waiting);
  waiting = setTimeout(filter, PAUSE);
});

form.addEventListener("change", (event) => {
  if (event.target.matches("select")) form.requestSubmit();
});

// Empty fields stay out of the URL.
form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(waiting);
  if (query() !== location.pathname + location.search) location.assign(query());
});

document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.target.closest("input, select, textarea")) {
    event.preventDefault();
    form.elements.text.focus();
  }
});

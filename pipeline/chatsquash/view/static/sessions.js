// The list: a choice takes effect at once, and "/" goes to the filter.

const form = document.querySelector("form.filters");

form.addEventListener("change", (event) => {
  if (event.target.matches("select")) form.requestSubmit();
});

// Empty fields stay out of the URL.
form.addEventListener("submit", () => {
  for (const field of form.elements) {
    if (field.name && field.value === "") field.disabled = true;
  }
});

addEventListener("pageshow", () => {
  for (const field of form.elements) field.disabled = false;
});

document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.target.closest("input, select, textarea")) {
    event.preventDefault();
    form.elements.text.focus();
  }
});

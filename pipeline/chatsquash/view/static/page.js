// What all pages have: a word when the result was replaced, and copying.

const AGAIN = 5000;

async function look() {
  const banner = document.getElementById("replaced");
  const shown = document.body.dataset.result;
  if (!shown) return;
  try {
    const answer = await fetch("/state");
    if (!answer.ok) return;
    const state = await answer.json();
    if (state.replaced || state.result !== shown) {
      if (banner.hidden) {
        const link = document.createElement("a");
        link.href = "/";
        link.textContent = "see what is there now";
        banner.replaceChildren("The output folder was replaced since this page was made: ", link, ".");
        banner.hidden = false;
      }
      return;
    }
  } catch {
    if (banner.hidden) {
      banner.textContent = "chatsquash view does not answer any more.";
      banner.hidden = false;
    }
    return;
  }
  setTimeout(look, AGAIN);
}

async function copy(button) {
  const told = button.textContent;
  try {
    const answer = await fetch(button.dataset.copy);
    if (!answer.ok) throw new Error(String(answer.status));
    await navigator.clipboard.writeText(await answer.text());
    button.textContent = "Copied";
  } catch {
    button.textContent = "Cannot copy: use the link beside";
  }
  setTimeout(() => { button.textContent = told; }, 2000);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-copy]");
  if (button) copy(button);
});

setTimeout(look, AGAIN);

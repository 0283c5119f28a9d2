// Keeps the estimate beside the form of a campaign up to date while somebody types, and shows matches without a reload.
"use strict";

(() => {
  const form = document.getElementById("edit");
  const summary = document.querySelector(".summary");
  if (summary) summary.focus();
  if (!form || form.querySelector("fieldset:disabled")) return;
  const PAUSE = 600; // milliseconds without a key
  const busy = { quote: false, preview: false };
  const again = { quote: false, preview: false };
  let timer = 0;

  // One request of each sort at a time: what changed meanwhile is asked afterwards.
  const load = async (what) => {
    if (busy[what]) {
      again[what] = true;
      return;
    }
    busy[what] = true;
    const place = document.getElementById(what);
    place.setAttribute("aria-busy", "true");
    try {
      const body = new URLSearchParams(new FormData(form));
      body.set("-do", what);
      const answer = await fetch(form.action, {
        method: "POST", body, headers: { "x-part": "1" }, credentials: "same-origin", redirect: "error",
      });
      const text = await answer.text();
      if ((answer.headers.get("content-type") || "").startsWith("text/html") && answer.ok) {
        place.innerHTML = text; // made by the server's templates, which escape
      } else {
        place.textContent = answer.status === 413 ? "This form is too large: put seeds into a file." : "This did not work. Reload the page.";
      }
    } catch {
      place.textContent = "The connection is lost.";
    } finally {
      place.removeAttribute("aria-busy");
      busy[what] = false;
      if (again[what]) {
        again[what] = false;
        load(what);
      }
    }
  };

  form.addEventListener("input", (event) => {
    if (!event.target.name || event.target.name.startsWith("-")) return;
    clearTimeout(timer);
    timer = setTimeout(() => load("quote"), PAUSE);
  });
  form.addEventListener("submit", (event) => {
    const what = event.submitter && event.submitter.value;
    if (what === "quote" || what === "preview") {
      event.preventDefault();
      load(what);
    }
  });
  // A link to a field opens the part in which it is.
  const reveal = () => {
    const target = location.hash.startsWith("#f-") && document.getElementById(location.hash.slice(1));
    if (!target) return;
    const part = target.closest("details");
    if (part) part.open = true;
    target.focus();
  };
  addEventListener("hashchange", reveal);
  if (document.querySelector("[data-wait]")) load("quote");
})();

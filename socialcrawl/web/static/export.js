// Says how far exports are. Without this script, the page has to be reloaded, or the browser shows that it waits.
"use strict";

(() => {
  const form = document.getElementById("export");
  const note = document.getElementById("export-state");
  const kept = document.getElementById("kept");
  const WAIT = 700; // milliseconds
  let looking = false;

  // A choice of files or options means that no ready choice is meant.
  const own = form.querySelector('[name="preset"][value=""]');
  for (const one of form.querySelectorAll('[name="format"], [name="safe_csv"]')) {
    one.addEventListener("change", () => { own.checked = true; });
  }
  own.addEventListener("change", () => { form.querySelector("details").open = true; });

  // The list of exports changes while one is written; a button that is pressed stays.
  const follow = async () => {
    try {
      const answer = await fetch(kept.dataset.fragment, { credentials: "same-origin" });
      const fragment = await answer.text(); // made by the server's templates, which escape
      if (answer.ok && !kept.matches(":active")) kept.innerHTML = fragment;
    } catch {
      // The next look may reach the server again.
    }
    if (kept.querySelector("[data-writing]")) setTimeout(follow, WAIT);
  };
  if (kept && kept.querySelector("[data-writing]")) setTimeout(follow, WAIT);

  const look = async (seen) => {
    let said = null;
    try {
      said = await (await fetch(form.dataset.progress, { credentials: "same-origin" })).json();
    } catch {
      // The next look may reach the server again.
    }
    if (said && said.writing) {
      const rows = said.rows ? `: ${said.rows.toLocaleString("en")} so far` : "";
      note.textContent = `Writing ${said.writing}${rows}. Keep this page open until the download begins.`;
    } else if (said && seen) {
      note.textContent = "The files are written: the download begins.";
      looking = false;
      return;
    }
    setTimeout(look, WAIT, seen || (said && said.writing !== null));
  };

  if (note) form.addEventListener("submit", () => {
    note.hidden = false;
    note.textContent = "The export is at work. Keep this page open until the download begins.";
    if (!looking) look(false);
    looking = true;
  });
})();

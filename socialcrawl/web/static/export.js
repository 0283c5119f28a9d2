// Says how far an export is, until its download begins. Without this script, the browser shows that it waits.
"use strict";

(() => {
  const form = document.getElementById("export");
  const note = document.getElementById("export-state");
  const WAIT = 700; // milliseconds
  let looking = false;

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

  form.addEventListener("submit", () => {
    note.hidden = false;
    note.textContent = "The export is at work. Keep this page open until the download begins.";
    if (!looking) look(false);
    looking = true;
  });
})();

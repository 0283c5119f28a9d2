// Keeps pages up to date by server-sent events, and logs in by the address that `socialcrawl ui` shows.
"use strict";

(() => {
  // The token stands behind the # of an address, so it reaches no server and no log; the form sends it.
  const login = document.getElementById("login");
  if (login && location.hash.startsWith("#token=")) {
    login.elements.token.value = decodeURIComponent(location.hash.slice("#token=".length));
    history.replaceState(null, "", location.pathname);
    login.submit();
  }

  // What takes long to read is shown when it is there.
  const later = document.querySelector("[data-later]");
  if (later) {
    later.textContent = "This campaign is large, so its report takes a while. It appears here by itself.";
    fetch(later.dataset.later, { credentials: "same-origin" }).then(async (answer) => {
      if (answer.ok) location.reload();
      else later.textContent = (await answer.json()).detail;
    });
  }

  const note = document.querySelector("[data-live-note]");
  for (const place of document.querySelectorAll("[data-events]")) {
    const source = new EventSource(place.dataset.events);
    source.addEventListener("open", () => {
      if (note) note.textContent = "Live: changes appear by themselves.";
    });
    source.addEventListener("error", () => {
      if (note) note.textContent = "The connection is lost; this page tries to connect again.";
    });
    source.addEventListener("fragment", (event) => {
      // Whoever is in the middle of a form or list keeps the place.
      const focused = place.contains(document.activeElement) ? document.activeElement : null;
      const target = focused && (focused.getAttribute("href") || (focused.form && focused.form.action));
      place.innerHTML = event.data; // made by the server's templates, which escape
      if (target) {
        const again = [...place.querySelectorAll("a, button")].find(
          (one) => (one.getAttribute("href") || (one.form && one.form.action)) === target,
        );
        if (again) again.focus();
      }
      place.dispatchEvent(new CustomEvent("changed"));
    });
    addEventListener("pagehide", () => source.close());
  }
})();

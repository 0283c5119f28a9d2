// Keeps pages up to date by server-sent events, and logs in by the address that `socialcrawl ui` shows.
"use strict";

(() => {
  // The token stands behind the # of an address, so it reaches no server and no log; the form sends it.
  const login = document.getElementById("login");
  const logIn = () => {
    if (!login || !location.hash.startsWith("#token=")) return;
    login.elements.token.value = decodeURIComponent(location.hash.slice("#token=".length));
    history.replaceState(null, "", location.pathname);
    login.submit();
  };
  addEventListener("hashchange", logIn); // the address was pasted where this page is open
  logIn();

  // A form that somebody fills in is worth more than a newer page.
  const isFilling = () => [...document.querySelectorAll("main input, main textarea")].some(
    (one) => one === document.activeElement || one.value !== one.defaultValue,
  );
  // What somebody presses now, or has followed or sent already, is not taken back by a reload.
  let pressed = false;
  let leaving = false;
  addEventListener("pointerdown", () => { pressed = true; });
  addEventListener("beforeunload", () => { leaving = true; });
  const reload = () => {
    if (!pressed && !leaving && !isFilling()) location.reload();
  };

  // What takes long to read is shown when it is there.
  const later = document.querySelector("[data-later]");
  if (later) {
    later.textContent = "It takes a while for a large campaign. It appears here by itself.";
    fetch(later.dataset.later, { credentials: "same-origin" }).then(async (answer) => {
      if (answer.ok || answer.status === 404) reload(); // of an unknown account, the page says more
      later.textContent = answer.ok ? "It is ready. Reload this page to see it." : (await answer.json()).detail;
    });
  }

  // The report of a campaign is as old as the page, which says so once the campaign is further.
  const age = document.querySelector("[data-report-steps]");
  const tellAge = (state) => {
    if (!age || !state) return;
    age.hidden = state.dataset.steps === age.dataset.reportSteps;
    age.querySelector("span").textContent = Number(state.dataset.steps).toLocaleString("en");
  };

  const note = document.querySelector("[data-live-note]");
  for (const place of document.querySelectorAll("[data-events]")) {
    const put = (fragment) => {
      // Whoever is in the middle of a form or list keeps the place.
      const focused = place.contains(document.activeElement) ? document.activeElement : null;
      const target = focused && (focused.getAttribute("href") || (focused.form && focused.form.action));
      place.innerHTML = fragment; // made by the server's templates, which escape
      if (target) {
        const again = [...place.querySelectorAll("a, button")].find(
          (one) => (one.getAttribute("href") || (one.form && one.form.action)) === target,
        );
        if (again) again.focus();
      }
      place.dispatchEvent(new CustomEvent("changed"));
      tellAge(place.querySelector("[data-steps]"));
      if (document.querySelector("[data-empty]") && !place.querySelector('[data-steps="0"]')) reload();
    };
    // A button that is replaced while it is pressed would never be clicked: what comes meanwhile is shown afterwards.
    let waiting = null;
    let source = null;
    const listen = () => {
      source = new EventSource(place.dataset.events);
      source.addEventListener("open", () => {
        if (note) note.textContent = "Live: changes appear by themselves.";
      });
      source.addEventListener("error", () => {
        if (note) note.textContent = "The connection is lost; this page tries to connect again.";
      });
      source.addEventListener("fragment", (event) => {
        if (pressed) waiting = event.data;
        else put(event.data);
      });
    };
    // Browsers open six connections to a server, for all tabs together: one that nobody sees gives its own back.
    const follow = () => {
      if (source !== null) source.close();
      source = null;
      if (!document.hidden) listen();
    };
    document.addEventListener("visibilitychange", follow);
    addEventListener("pageshow", (event) => {
      leaving = false;
      if (event.persisted) follow();
    });
    follow();
    const release = () => setTimeout(() => {
      pressed = false;
      if (waiting !== null) put(waiting);
      waiting = null;
    });
    addEventListener("pointerup", release);
    addEventListener("pointercancel", release);
    place.addEventListener("outgrown", reload);
    addEventListener("pagehide", () => source !== null && source.close());
  }
})();

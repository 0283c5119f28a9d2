// Labels posts by keys, without loading the page again. Without this script, the buttons do the same.
"use strict";

(() => {
  const place = document.getElementById("label");
  let busy = false;

  const look = () => {
    const post = document.getElementById("post");
    if (post) post.focus({ preventScroll: true });
  };

  const send = async (form, button) => {
    if (busy) return;
    busy = true;
    const fields = new URLSearchParams(new FormData(form));
    fields.set(button.name, button.value);
    try {
      const answer = await fetch(form.getAttribute("action"), {
        method: "POST", body: fields, credentials: "same-origin", headers: { "x-part": "post" },
      });
      if (answer.ok || answer.status === 409) {
        place.innerHTML = await answer.text(); // made by the server's templates, which escape
        look();
      } else {
        location.reload(); // the session has ended, say
      }
    } catch {
      place.querySelector(".counts")?.replaceChildren("The connection is lost: this label was not stored. Try again.");
    } finally {
      busy = false;
    }
  };

  place.addEventListener("submit", (event) => {
    event.preventDefault();
    send(event.target, event.submitter);
  });
  // Keys count while the post or its buttons have the focus, so they are in the way of no other tool.
  place.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.key.length !== 1) return;
    const button = place.querySelector(`button[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
    if (!button) return;
    event.preventDefault();
    button.form.requestSubmit(button);
  });
  if (!location.hash) look();
})();

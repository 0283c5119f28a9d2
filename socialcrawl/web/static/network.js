// Draws the mention network on a canvas: pan, zoom, names, and a panel on the account that was chosen.
"use strict";

(() => {
  const page = document.querySelector("[data-network]");
  if (!page) return;
  const place = page.querySelector(".map-place");
  const canvas = place.querySelector("canvas");
  const pen = canvas.getContext("2d");
  const panel = page.querySelector(".map-panel");
  const note = page.querySelector("[data-map-note]");
  const LEVELS = 4; // classes of relevance above 0
  const LABELS = 16; // names that are shown at once
  const FEW = 4000; // mentions that are drawn while the map moves
  const ACTS = { seed: "seed", import: "imported", expand: "discovered", match: "matched", walk: "reached by a walk" };
  let nodes = [];
  let edges = [];
  let view = { x: 0, y: 0, scale: 1 };
  let colours = {};
  let hovered = -1;
  let chosen = -1;
  let moving = 0;
  let waits = false;

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const readColours = () => {
    colours = { ink: colour("--ink"), paper: colour("--paper"), edge: colour("--edge"), accent: colour("--second"), unread: colour("--quiet") };
    colours.levels = Array.from({ length: LEVELS + 1 }, (_, level) => colour(`--level-${level}`));
    colours.font = getComputedStyle(document.body).fontFamily;
  };
  const nameOf = (node) => node.account || node.account_id || "?";
  const toX = (node) => (node.x - view.x) * view.scale + canvas.clientWidth / 2;
  const toY = (node) => (node.y - view.y) * view.scale + canvas.clientHeight / 2;
  const zoomed = () => Math.max(1, Math.sqrt((2.2 * view.scale) / Math.min(canvas.clientWidth, canvas.clientHeight)));
  const size = (node) => node.size * Math.min(3, zoomed());

  const showAll = () => {
    view = { x: 0, y: 0, scale: Math.min(canvas.clientWidth, canvas.clientHeight) / 2.2 };
    redraw();
  };
  const redraw = () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => { waits = false; paint(); });
  };
  const moved = () => { // mentions are many: while the map moves, only some are drawn
    clearTimeout(moving);
    moving = setTimeout(() => { moving = 0; redraw(); }, 120);
    redraw();
  };

  const paint = () => {
    const ratio = window.devicePixelRatio || 1;
    const [wide, high] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.width !== Math.round(wide * ratio) || canvas.height !== Math.round(high * ratio)) {
      canvas.width = Math.round(wide * ratio);
      canvas.height = Math.round(high * ratio);
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, wide, high);
    for (const node of nodes) { node.px = toX(node); node.py = toY(node); }
    const focus = hovered >= 0 ? hovered : chosen;
    drawEdges(edges, colours.edge, 0.6, moving ? Math.ceil(edges.length / FEW) : 1);
    if (focus >= 0) drawEdges(edges.filter(([a, b]) => a === focus || b === focus), colours.accent, 1.2, 1);
    const shown = (node) => node.px > -20 && node.py > -20 && node.px < wide + 20 && node.py < high + 20;
    for (let level = -1; level <= LEVELS; level++) {
      pen.beginPath();
      for (const node of nodes) if (node.level === level && shown(node)) trace(node);
      pen.fillStyle = level < 0 ? colours.paper : colours.levels[level];
      pen.fill();
      pen.lineWidth = level < 0 ? 1 : 0.6;
      pen.strokeStyle = level < 0 ? colours.unread : colours.ink;
      pen.stroke();
    }
    if (focus >= 0) {
      pen.beginPath();
      pen.arc(nodes[focus].px, nodes[focus].py, size(nodes[focus]) + 3, 0, 7);
      pen.lineWidth = 2;
      pen.strokeStyle = colours.accent;
      pen.stroke();
    }
    drawNames(nodes.filter(shown), focus);
  };
  const trace = (node) => {
    const radius = size(node);
    if (node.act === "seed" || node.act === "import") {
      pen.rect(node.px - radius, node.py - radius, 2 * radius, 2 * radius);
    } else {
      pen.moveTo(node.px + radius, node.py);
      pen.arc(node.px, node.py, radius, 0, 2 * Math.PI);
    }
  };
  const drawEdges = (some, hue, width, each) => {
    pen.beginPath();
    for (let number = 0; number < some.length; number += each) {
      const [a, b] = [nodes[some[number][0]], nodes[some[number][1]]];
      pen.moveTo(a.px, a.py);
      pen.lineTo(b.px, b.py);
    }
    pen.lineWidth = width;
    pen.strokeStyle = hue;
    pen.stroke();
  };
  const drawNames = (some, focus) => {
    pen.font = `12px ${colours.font}`;
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    const taken = [];
    const first = focus >= 0 ? [nodes[focus]] : [];
    for (const node of [...first, ...some.slice(0, 400)]) { // the most relevant come first
      if (taken.length >= LABELS) break;
      const text = nameOf(node).length > 28 ? `${nameOf(node).slice(0, 27)}…` : nameOf(node);
      const box = { x: node.px + size(node) + 4, y: node.py - 8, w: pen.measureText(text).width, h: 16 };
      if (taken.some((one) => box.x < one.x + one.w && one.x < box.x + box.w && box.y < one.y + one.h && one.y < box.y + box.h)) continue;
      taken.push(box);
      pen.lineWidth = 3;
      pen.strokeStyle = colours.paper;
      pen.strokeText(text, box.x, node.py);
      pen.fillStyle = colours.ink;
      pen.fillText(text, box.x, node.py);
    }
  };

  const find = (event) => {
    const box = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let best = -1;
    let nearest = Infinity;
    nodes.forEach((node, number) => {
      const far = Math.hypot(node.px - x, node.py - y) - size(node);
      if (far < 6 && far < nearest) [best, nearest] = [number, far];
    });
    return best;
  };
  const zoom = (factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) => {
    const before = view.scale;
    view.scale = Math.min(Math.max(before * factor, 60), 60000);
    const shift = 1 / before - 1 / view.scale;
    view.x += (x - canvas.clientWidth / 2) * shift;
    view.y += (y - canvas.clientHeight / 2) * shift;
    moved();
  };
  const pan = (x, y) => { view.x -= x / view.scale; view.y -= y / view.scale; moved(); };
  const choose = (number) => {
    chosen = number;
    panel.hidden = number < 0;
    panel.replaceChildren(...(number < 0 ? [] : describe(nodes[number])));
    redraw();
  };
  const make = (tag, text, more) => Object.assign(document.createElement(tag), { textContent: text }, more);
  const describe = (node) => {
    const rows = [
      ["Relevance", node.relevance === null ? "not read yet" : node.relevance.toFixed(2)],
      ["Read as", node.act ? ACTS[node.act] || node.act : "not read yet"],
      ["Mentioned by", `${node.mentioned_by.toLocaleString("en")} accounts of the map`],
      ["Mentions", `${node.mentions.toLocaleString("en")} accounts of the map`],
    ];
    const facts = make("dl", "", { className: "facts" });
    for (const [name, value] of rows) {
      const row = document.createElement("div");
      row.append(make("dt", name), make("dd", value));
      facts.append(row);
    }
    const title = make("h3", "");
    title.append(make("bdi", nameOf(node)));
    const links = make("p", "");
    const name = encodeURIComponent(node.account || node.account_id || "");
    links.append(make("a", "Explain", { href: page.dataset.account + name }));
    links.append(" · ", make("a", "Label its posts", { href: page.dataset.label + name }));
    if (node.page && !("invented" in page.dataset) && /^https?:\/\//.test(node.page)) {
      links.append(" · ", make("a", "Open on the platform ↗", { href: node.page, rel: "noreferrer noopener" }));
    }
    const close = make("button", "Close", { type: "button" });
    close.addEventListener("click", () => { choose(-1); canvas.focus(); });
    return [title, facts, links, close];
  };

  const pointers = new Map();
  let travelled = 0;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event);
    travelled = pointers.size > 1 ? 99 : 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) {
      const found = find(event);
      if (found !== hovered) { hovered = found; canvas.classList.toggle("over", found >= 0); redraw(); }
      return;
    }
    const other = [...pointers.values()].find((one) => one.pointerId !== event.pointerId);
    if (other) { // two fingers
      const [was, is] = [before, event].map((one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY));
      const box = canvas.getBoundingClientRect();
      zoom(is / Math.max(1, was), (event.clientX + other.clientX) / 2 - box.left, (event.clientY + other.clientY) / 2 - box.top);
    } else {
      pan(event.clientX - before.clientX, event.clientY - before.clientY);
    }
    travelled += Math.hypot(event.clientX - before.clientX, event.clientY - before.clientY);
    pointers.set(event.pointerId, event);
  });
  const release = (event) => {
    if (pointers.delete(event.pointerId) && event.type === "pointerup" && travelled < 4) choose(find(event));
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => { if (hovered >= 0) { hovered = -1; redraw(); } });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 400), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const keys = {
      ArrowLeft: () => pan(40, 0), ArrowRight: () => pan(-40, 0), ArrowUp: () => pan(0, 40), ArrowDown: () => pan(0, -40),
      "+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5), 0: showAll, Escape: () => choose(-1),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  for (const button of page.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => (Number(button.dataset.zoom) ? zoom(Number(button.dataset.zoom)) : showAll()));
  }
  page.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    const wanted = event.target.querySelector("input").value.trim().replace(/^@/, "").toLowerCase();
    const named = (same) => nodes.findIndex((one) => [one.account, one.account_id].some((name) => name && same(name.toLowerCase())));
    const exact = named((name) => name === wanted);
    const found = exact >= 0 ? exact : named((name) => name.includes(wanted));
    note.textContent = found < 0 ? "That account is not on the map." : "";
    if (found < 0 || !wanted) return;
    Object.assign(view, { x: nodes[found].x, y: nodes[found].y, scale: Math.max(view.scale, 1500) });
    choose(found);
  });

  const showLegend = (most) => {
    const legend = page.querySelector(".map-legend");
    const add = (kind, text) => {
      const row = make("li", "");
      row.append(make("span", "", { className: `swatch ${kind}` }), text);
      legend.append(row);
    };
    add("unread", "not read yet");
    if (nodes.some((one) => one.level === 0)) add("level-0", "relevance 0");
    for (let level = 1; most && level <= LEVELS; level++) {
      add(`level-${level}`, `${level > 1 ? ((most * (level - 1)) / LEVELS).toFixed(1) : "above 0"} to ${((most * level) / LEVELS).toFixed(1)}`);
    }
    add("seed", "square: a seed");
    legend.append(make("li", "larger: mentioned by more accounts"));
    legend.hidden = false;
  };

  const load = async () => {
    note.textContent = "The map is computed …";
    const answer = await fetch(page.dataset.network, { credentials: "same-origin" });
    if (!answer.ok) { note.textContent = "The map could not be read. Reload this page."; return; }
    const map = await answer.json();
    const most = Math.max(0, ...map.nodes.map((one) => one.relevance || 0));
    nodes = map.nodes.map((one) => ({
      ...one,
      level: one.relevance === null ? -1 : one.relevance > 0 ? Math.min(LEVELS, Math.max(1, Math.ceil((LEVELS * one.relevance) / most))) : 0,
      size: Math.min(11, 2 + 0.9 * Math.sqrt(one.mentioned_by)) * (map.nodes.length > 1500 ? 0.75 : 1),
    }));
    edges = map.edges;
    for (const hidden of page.querySelectorAll(".map-place, .map-tools")) hidden.hidden = false;
    note.textContent = "Drag to move, scroll to zoom, click an account to see more of it.";
    readColours();
    showLegend(most);
    showAll();
    page.dataset.drawn = nodes.length;
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); redraw(); });
  addEventListener("resize", redraw);
  load();
})();

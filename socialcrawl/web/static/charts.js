// Draws the charts of a campaign with Plotly, in the colours of the page, and draws them again when it moved.
"use strict";

(() => {
  const page = document.querySelector("[data-charts]");
  const places = [...document.querySelectorAll("[data-chart]")];
  if (!page || !places.length || !window.Plotly) return;
  let charts = null;
  let drawnAt = "";
  let loading = false;

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const font = () => ({ family: getComputedStyle(document.body).fontFamily, size: 13, color: colour("--ink") });
  const axis = (title, more) => ({
    title: { text: title, standoff: 12 }, gridcolor: colour("--line"), linecolor: colour("--line"),
    zerolinecolor: colour("--line"), rangemode: "tozero", tickformat: ",~r", automargin: true, fixedrange: true, ...more,
  });
  const layout = (x, y, more) => ({
    xaxis: x, yaxis: y, font: font(), paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: 8, r: 12, t: 8, b: 8 }, height: 320, hovermode: "x unified",
    hoverlabel: { bgcolor: colour("--paper"), bordercolor: colour("--line"), font: font() },
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" }, ...more,
  });
  const line = (points, name, hue, dash) => ({
    x: points.map((one) => one[0]), y: points.map((one) => one[1]), name, type: "scatter", mode: "lines",
    line: { color: hue, width: dash ? 1.6 : 2.4, dash: dash || "solid" }, hovertemplate: "%{y:,.1f}",
  });

  const draw = {
    curve(place, curve) {
      const hues = [colour("--second"), colour("--third")];
      const others = { ...curve.references, ...curve.baselines };
      const lines = [line(curve.points, "this campaign", colour("--first"))];
      Object.entries(others).forEach(([name, points], number) =>
        lines.push(line(points, name, hues[number % 2], number % 2 ? "dot" : "dash")),
      );
      return [lines, layout(axis(curve.x), axis(curve.y), { showlegend: lines.length > 1 })];
    },
    days(place, days) {
      const bars = {
        x: days.bars.map((one) => one[0]), y: days.bars.map((one) => one[1]), type: "bar",
        marker: { color: colour("--first") }, hovertemplate: "%{y:,} posts<extra></extra>",
      };
      const each = days.length === 1 ? "day" : `${days.length} days`;
      const when = axis("day (UTC)", { type: "date", tickformat: "", rangemode: "normal" });
      return [[bars], layout(when, axis(`matching posts per ${each}`), { bargap: 0.15 })];
    },
  };

  const show = () => {
    for (const place of places) {
      const name = place.dataset.chart;
      if (!charts || !charts[name] || !draw[name]) continue;
      const caption = place.parentElement.querySelector("figcaption");
      place.setAttribute("role", "img");
      place.setAttribute("aria-label", caption ? caption.textContent : name);
      const [traces, looks] = draw[name](place, charts[name]);
      window.Plotly.react(place, traces, looks, { displayModeBar: false, responsive: true });
      place.dataset.end = name === "curve" ? charts[name].points.at(-1)[0] : charts[name].bars.length;
    }
  };

  const load = async () => {
    const state = page.querySelector("[data-steps]");
    const steps = state ? state.dataset.steps : "";
    if (loading || steps === drawnAt) return;
    loading = true;
    const began = performance.now();
    try {
      const answer = await fetch(page.dataset.charts, { credentials: "same-origin" });
      if (answer.ok) {
        charts = await answer.json();
        drawnAt = steps;
        show();
      }
    } finally {
      // A report that takes long is read less often, so a viewer does not load the machine.
      setTimeout(() => { loading = false; load(); }, Math.max(1000, 5 * (performance.now() - began)));
    }
  };

  page.addEventListener("changed", load);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  load();
})();

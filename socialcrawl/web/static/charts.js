// Draws the charts of a campaign with Plotly, in the colours of the page, and draws them again when it moved.
"use strict";

(() => {
  const page = document.querySelector("[data-charts]");
  const places = [...document.querySelectorAll("[data-chart]")];
  if (!page || !window.Plotly) return;
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

  const short = (text, most = 28) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  // Plotly reads some tags in texts, and nothing else of HTML.
  const escapeHtml = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  const draw = {
    curve(place, curve) {
      const hues = [colour("--second"), colour("--third")];
      const others = { ...curve.references, ...curve.baselines };
      const lines = [line(curve.points, "this campaign", colour("--first"))];
      Object.entries(others).forEach(([name, points], number) =>
        lines.push(line(points, name, hues[number % 2], number % 2 ? "dot" : "dash")),
      );
      const goal = curve.goal;
      const looks = layout(axis(curve.x), axis(curve.y), { showlegend: lines.length > 1 || Boolean(goal) });
      if (goal) { // what the end is estimated to be, with its interval
        const ends = [0, Math.max(1, curve.points.at(-1)[0])];
        const band = (y, more) => ({ x: ends, y: [y, y], type: "scatter", mode: "lines", hovertemplate: "%{y:,.0f}", line: { color: hues[0], width: 0 }, ...more });
        lines.push(band(goal.low, { name: "at least", showlegend: false }));
        const named = goal.value === null ? "what the tests leave possible" : "95 % interval of all there are";
        lines.push(band(goal.high, { name: named, fill: "tonexty", fillcolor: `${hues[0]}33` }));
        if (goal.value !== null) lines.push(band(goal.value, { name: "all there are, estimated", line: { color: hues[0], width: 1.6, dash: "dash" } }));
      }
      return [lines, looks];
    },
    hours(place, hours) {
      const bars = {
        x: hours.bars.map((one) => one[0]), y: hours.bars.map((one) => one[1]), type: "bar",
        marker: { color: colour("--first") }, hovertemplate: "%{y:,} posts<extra></extra>",
      };
      return [[bars], layout(axis("hour (UTC)", { type: "date", tickformat: "", rangemode: "normal" }), axis("matching posts per hour"), { bargap: 0.1 })];
    },
    spending(place, spent) {
      const wide = 1000 * spent.length;
      const begins = spent.bars.map((one) => new Date(one[0]));
      const bars = {
        x: begins, y: spent.bars.map((one) => one[1]), width: begins.map(() => wide), offset: 0, type: "bar", name: "requests",
        marker: { color: colour("--first"), line: { color: colour("--paper"), width: begins.length < 60 ? 1 : 0 } }, hovertemplate: "%{y:,}",
      };
      const sums = [[begins[0], 0]];
      spent.bars.forEach((one, number) => sums.push([new Date(begins[number].getTime() + wide), sums.at(-1)[1] + one[2]]));
      const paid = sums.at(-1)[1] > 0;
      const money = { ...line(sums, "dollars so far", colour("--second")), yaxis: "y2", hovertemplate: "$%{y:,.2f}" };
      const range = [begins[0], sums.at(-1)[0]];
      const looks = layout(axis("time (UTC)", { type: "date", tickformat: "", rangemode: "normal", range }), axis("requests"), { showlegend: paid });
      if (paid) looks.yaxis2 = { ...axis("dollars so far"), overlaying: "y", side: "right", showgrid: false, tickprefix: "$", tickformat: ",.2f", nticks: 6 };
      return [paid ? [bars, money] : [bars], looks];
    },
    moves(place, moves) {
      const rows = [...moves.accounts].reverse();
      const names = rows.map((one) => escapeHtml(short(one.account, 40)));
      const points = (key, name, marker) => ({
        x: rows.map((one) => one[key]), y: names, name, type: "scatter", mode: "markers", marker: { size: 10, ...marker }, hovertemplate: "place %{x:,}",
      });
      const chance = {
        x: rows.map((one) => one.high - one.low), base: rows.map((one) => one.low), y: names, type: "bar", orientation: "h", width: 0.45,
        name: "by chance", marker: { color: colour("--line") }, hoverinfo: "skip",
      };
      const looks = layout(axis("place (1 is the most)", { rangemode: "normal" }), { automargin: true, fixedrange: true, type: "category" }, { height: 120 + 30 * rows.length, hovermode: "y unified", showlegend: true });
      return [[chance, points("before", "before", { color: colour("--paper"), line: { color: colour("--second"), width: 2 } }), points("place", "now", { color: colour("--first") })], looks];
    },
    shares(place, shares) {
      const traces = [];
      const rows = [];
      const titles = [];
      const narrow = place.clientWidth < 560;
      shares.groups.forEach((group) => {
        titles.push([rows.length, escapeHtml(short(group.title, narrow ? 22 : 66))]);
        rows.push("");
        group.bars.forEach(([name]) => rows.push(escapeHtml(short(name, narrow ? 16 : 48))));
      });
      let row = rows.length;
      for (const group of shares.groups) {
        row -= 1;
        const bars = group.bars.filter((one) => one[1] !== null);
        const at = group.bars.map(() => (row -= 1));
        const kept = bars.map((one) => at[group.bars.indexOf(one)]);
        traces.push({
          x: bars.map((one) => one[1]), y: kept, type: "scatter", mode: "markers", showlegend: false, marker: { color: colour("--first"), size: 9 },
          hovertemplate: "%{x:.1%}<extra></extra>",
          ...(shares.counted ? {} : { error_x: {
            type: "data", symmetric: false, color: colour("--first"), thickness: 1.6, width: 4,
            array: bars.map((one) => one[3] - one[1]), arrayminus: bars.map((one) => one[1] - one[2]),
          } }),
        });
      }
      const labels = { tickvals: rows.map((_, number) => rows.length - 1 - number), ticktext: rows, automargin: true, fixedrange: true, showgrid: false, zeroline: false };
      const annotations = titles.map(([number, text]) => ({
        xref: "paper", x: 0, xanchor: "left", y: rows.length - 1 - number, text, showarrow: false, font: { ...font(), weight: 650 }, bgcolor: colour("--paper"),
      }));
      const looks = { height: 90 + 24 * rows.length, hovermode: "closest", annotations };
      return [traces, layout(axis("share", { tickformat: ".0%", range: [0, 1.02] }), labels, looks)];
    },
    coverage(place, coverage) {
      const states = { complete: ["complete", "--first", ""], left: ["not read yet", "--line", "/"], failed: ["could not be read", "--second", "x"] };
      const traces = Object.entries(states).map(([state, [name, hue, pattern]]) => {
        const spans = coverage.queries.flatMap((one) => one.spans.filter((span) => span[2] === state).map((span) => [escapeHtml(short(one.query, 40)), ...span]));
        return {
          base: spans.map((one) => one[1]), x: spans.map((one) => new Date(one[2]) - new Date(one[1])), y: spans.map((one) => one[0]),
          customdata: spans.map((one) => one[2]), type: "bar", orientation: "h", name, width: 0.6,
          marker: { color: colour(hue), pattern: { shape: pattern, fgcolor: colour("--ink"), solidity: 0.2 }, line: { color: colour("--paper"), width: 0.5 } },
          hovertemplate: `${name}: %{base|%Y-%m-%d %H:%M} to %{customdata|%Y-%m-%d %H:%M}<extra></extra>`,
        };
      }).filter((one) => one.y.length);
      const looks = layout(axis("time (UTC)", { type: "date", tickformat: "", rangemode: "normal" }), { automargin: true, fixedrange: true, type: "category" }, {
        height: 130 + 40 * coverage.queries.length, barmode: "overlay", hovermode: "closest", showlegend: true,
      });
      return [traces, looks];
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
      place.dataset.end = name === "curve" ? charts[name].points.at(-1)[0] : (charts[name].bars || traces).length;
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
        // The page was made before there was a curve, so it has no place for it.
        if (charts.curve && !places.some((one) => one.dataset.chart === "curve")) page.dispatchEvent(new CustomEvent("outgrown"));
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

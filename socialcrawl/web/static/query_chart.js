// Draws the answer to a query with Plotly: what the server chose of the table on the page, in the colours of the page.
"use strict";

(() => {
  const place = document.querySelector("[data-query-chart]");
  const table = document.querySelector("table.answer");
  if (!place || !table || !window.Plotly) return;
  const { queryChart: kind, axis, x, y, group } = place.dataset;
  const names = [...table.tHead.rows[0].cells].map((one) => one.textContent);
  const rows = [...table.tBodies[0].rows].map((row) => [...row.cells].map((one) => one.textContent));
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const number = (text) => (text === "" ? null : Number(text));
  const HUES = ["--first", "--second", "--third"];
  const DASHES = ["solid", "dash", "dot"];

  const trace = (name, some, column, place_, shown) => ({
    name, x: some.map((row) => (axis === "linear" ? number(row[x]) : row[x])), y: some.map((row) => number(row[column])),
    type: kind === "bar" ? "bar" : "scatter", mode: "lines+markers", visible: shown || "legendonly",
    line: { color: colour(HUES[place_ % 3]), dash: DASHES[Math.floor(place_ / 3) % 3] },
    marker: { color: colour(HUES[place_ % 3]), size: 5 }, hovertemplate: "%{y:,}<extra>%{fullData.name}</extra>",
  });

  const draw = () => {
    const columns = y.split(",").map(Number);
    let traces = columns.map((column, number_) => trace(names[column], rows, column, number_, number_ === 0));
    if (group !== undefined) {
      const groups = [...new Set(rows.map((row) => row[group]))];
      traces = groups.map((name, number_) =>
        trace(name, rows.filter((row) => row[group] === name), columns[0], number_, true),
      );
    }
    const looks = (title, more) => ({
      title: { text: title, standoff: 12 }, gridcolor: colour("--line"), linecolor: colour("--line"),
      zerolinecolor: colour("--line"), automargin: true, fixedrange: true, ...more,
    });
    // A name is a text of others: as HTML, of which Plotly knows some tags, it is escaped.
    const plain = (text) => text.replace(/[&<>]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[sign]);
    for (const one of traces) one.name = plain(one.name);
    if (axis === "category") for (const one of traces) one.x = one.x.map(plain);
    window.Plotly.react(place, traces, {
      xaxis: looks(plain(names[x]), { type: axis, showgrid: axis !== "category" }),
      yaxis: looks(group === undefined && columns.length > 1 ? "" : plain(names[columns[0]]), { rangemode: "tozero" }),
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: colour("--ink") },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", margin: { l: 8, r: 12, t: 8, b: 8 }, height: 340,
      hovermode: "x unified", dragmode: false, bargap: 0.25, showlegend: traces.length > 1,
      hoverlabel: { bgcolor: colour("--paper"), bordercolor: colour("--line") },
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" },
    }, { displayModeBar: false, responsive: true });
    place.setAttribute("role", "img");
    place.setAttribute("aria-label", place.parentElement.querySelector("figcaption").textContent);
    place.dataset.drawn = traces.length;
  };

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();

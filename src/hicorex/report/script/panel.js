// The panel beside the map, which tells of one factor or variable.

const panel = byId("panel");
let opener = null;
const link = (i) => element("button", {
  type: "button", className: "link", onclick: () => { select(i, opener ?? canvas); centreOn(i); },
}, map.names[i]);

const rowsOf = (edges, other, profile) => edges.map((e) => {
  const i = other(e);
  const numbers = profile ? [map.weight[e]] : [map.weight[e], map.alpha[e], map.known[e]];
  const cells = [element("td", {}, link(i)), ...numbers.map((x) => element("td", { className: "number" }, nats(x)))];
  for (const value of (profile && profile[i]) || []) cells.push(element("td", { className: "value" }, value));
  return element("tr", {}, ...cells);
});
const linkTable = (title, edges, other, most, profile, nStates) => {
  if (!edges.length) return null;
  const heads = profile ? ["", "weight"] : ["", "weight", "alpha", "nats"];
  if (profile) for (let s = 0; s < nStates; s++) heads.push(`state ${s}`);
  const rest = edges.length - most;
  return element("div", {},
    element("h4", {}, title),
    element("div", { className: "scroll" }, element("table", {},
      element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
      element("tbody", {}, ...rowsOf(edges.slice(0, most), other, profile)))),
    rest > 0 ? element("p", { className: "note" }, `and ${count(rest, "further link")}`) : null);
};
const statesOf = (detail, inWords) => {
  const total = detail.counts.reduce((a, b) => a + b, 0) || 1;
  return element("div", {}, element("h4", {}, "Samples"), ...detail.counts.map((n, s) => element("div", { className: "state" },
    element("div", { className: "bar" }, element("span", { style: `width:${(100 * n) / total}%` })),
    element("p", {}, element("strong", {}, `state ${s}`), ` ${count(n, "sample")}, ${Math.round((100 * n) / total)}%`,
      inWords[s] ? `; ${inWords[s]}` : "",
      detail.typical[s].length ? `; most typical: ${detail.typical[s].join(", ")}` : ""))),
  detail.odd.length ? element("p", {}, "Least in line with the factor: ", detail.odd.map(([name, z]) => `${name} (${z} sd)`).join(", ")) : null);
};
const composition = (i) => {
  const grouping = map.groupings[state.colourBy];
  const counts = new Map();
  for (let v = 0; grouping && v < nNodes; v++) {
    if (!isFactor(v) && map.home[v] === i && grouping.number[v] >= 0) {
      counts.set(grouping.number[v], (counts.get(grouping.number[v]) ?? 0) + 1);
    }
  }
  if (!counts.size) return null;
  const parts = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 5).map(([n, size]) => `${grouping.groups[n]} (${size})`);
  return element("p", {}, `${grouping.title}: ${parts.join(", ")}${counts.size > 5 ? ", \u2026" : ""}`);
};
const fill = (i) => {
  const name = map.names[i];
  const title = element("h3", { tabIndex: -1 }, name);
  const close = element("button", { type: "button", className: "close", ariaLabel: "Close the panel", onclick: deselect }, "\u00d7");
  const above = linksOf[i].filter((e) => map.below[e] === i);
  if (!isFactor(i)) {
    panel.replaceChildren(close, title, element("p", {}, describe(i)), linkTable("Factors", above, (e) => map.above[e], 30) ?? "");
    return title;
  }
  const below = linksOf[i].filter((e) => map.above[e] === i);
  const detail = data.details[i];
  const told = data.factors[i];
  const facts = [`Explains ${nats(told.explains)} nats`];
  if (told.contribution !== null) facts.push(`without it the bound would lose ${nats(told.contribution)} (standard error ${nats(told.contribution_stderr)})`);
  if (told.reproducibility !== null) facts.push(`comes back in fits to halves: ${told.reproducibility.toFixed(2)} of 1`);
  facts.push(`${count(told.states, "state")}, layer ${told.layer}`);
  panel.replaceChildren(close, title, element("p", {}, `${facts.join("; ")}.`), composition(i) ?? "",
    detail ? statesOf(detail, told.in_words) : element("p", { className: "note" }, "The report was made without samples."),
    linkTable(told.layer > 1 ? "Factors below" : "Variables", below, (e) => map.below[e], 30, detail && detail.profile, told.states) ?? "",
    linkTable("Factors above", above, (e) => map.above[e], 10) ?? "");
  return title;
};
function select(i, from = null) {
  if (from) opener = from;
  if (!state.shown[i]) {
    slider.value = state.threshold = 0;
    buildPaths();
  }
  state.selected = i;
  tip.hidden = true;
  panel.hidden = false;
  const title = fill(i);
  if (from) title.focus({ preventScroll: true });
  if (matchMedia("(max-width: 800px)").matches) panel.scrollIntoView({ block: "nearest" });
  resized();
}
function deselect() {
  if (state.selected < 0) return;
  state.selected = -1;
  panel.hidden = true;
  if (opener) opener.focus();
  opener = null;
  resized();
}

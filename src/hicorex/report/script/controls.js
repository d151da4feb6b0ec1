// Controls of the map, the search, and tables that sort.

const slider = byId("threshold");
// More room for small weights, which are many.
slider.addEventListener("input", () => {
  state.threshold = largestWeight * (slider.value / slider.max) ** 3;
  buildPaths();
});
byId("layout").addEventListener("change", (event) => {
  state.layout = event.target.value;
  place();
  buildPaths();
  fit();
});
const legend = byId("legend");
const drawLegend = () => {
  state.group = null;
  const grouping = map.groupings[state.colourBy];
  legend.replaceChildren();
  if (!grouping) return;
  const counts = new Map();
  for (const n of grouping.number) counts.set(n, (counts.get(n) ?? 0) + 1);
  const marks = ["\u25cf", "\u25a0", "\u25b2", "\u25c6"];
  [...grouping.groups.map((name, n) => [name, n]), ["no group", -1]].filter(([, n]) => counts.has(n)).forEach(([name, n]) => {
    const mark = element("span", { className: "mark", ariaHidden: "true" }, marks[shapeOf(n)]);
    mark.style.color = n < 0 ? "var(--muted)" : `var(--c${n % N_COLOURS})`;
    const button = element("button", { type: "button", ariaPressed: "false" }, mark, `${name} (${counts.get(n)})`);
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      for (const other of legend.children) other.setAttribute("aria-pressed", "false");
      button.setAttribute("aria-pressed", String(on));
      state.group = on ? n : null;
      draw();
    });
    legend.append(button);
  });
};
const colours = byId("colour");
map.groupings.forEach((grouping, i) => colours.append(element("option", { value: String(i) }, grouping.title)));
colours.parentElement.hidden = !map.groupings.length;
colours.addEventListener("change", () => {
  state.colourBy = Number(colours.value);
  drawLegend();
  buildPaths();
  if (state.selected >= 0) fill(state.selected);
});
byId("save").addEventListener("click", () => {
  element("a", { href: canvas.toDataURL("image/png"), download: "hierarchy.png" }).click();
});
byId("zoom-in").addEventListener("click", () => zoom(1.4));
byId("zoom-out").addEventListener("click", () => zoom(1 / 1.4));
byId("zoom-fit").addEventListener("click", fit);

const search = byId("search");
const found = byId("found");
const pick = (i) => {
  found.hidden = true;
  select(i, search);
  centreOn(i);
};
const lowered = map.names.map((name) => name.toLowerCase());
const matches = () => {
  const query = search.value.trim().toLowerCase();
  if (!query) return [];
  const hits = [];
  for (let i = 0; i < nNodes; i++) if (lowered[i].includes(query)) hits.push(i);
  const rank = (i) => (lowered[i] === query ? 0 : lowered[i].startsWith(query) ? 1 : 2);
  return hits.sort((a, b) => rank(a) - rank(b) || a - b);
};
search.addEventListener("input", () => {
  const hits = matches();
  found.hidden = !search.value.trim();
  found.replaceChildren(...hits.slice(0, 10).map((i) => element("li", {}, element("button", { type: "button", onclick: () => pick(i) }, map.names[i]))));
  if (!hits.length) found.append(element("li", {}, "nothing of this name is linked"));
  if (hits.length > 10) found.append(element("li", {}, `and ${hits.length - 10} more`));
});
const walk = (event) => {
  const buttons = [...found.querySelectorAll("button")];
  const at = buttons.indexOf(document.activeElement);
  if (event.key === "ArrowDown" && at + 1 < buttons.length) buttons[at + 1].focus();
  else if (event.key === "ArrowUp") (buttons[at - 1] ?? search).focus();
  else if (event.key === "Enter" && at < 0 && buttons.length) buttons[0].click();
  else if (event.key === "Escape") { found.hidden = true; search.focus(); }
  else return;
  event.preventDefault();
  event.stopPropagation();
};
search.addEventListener("keydown", walk);
found.addEventListener("keydown", walk);
document.addEventListener("click", (event) => { if (!event.target.closest(".search")) found.hidden = true; });

// Tables.

for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  table.querySelectorAll("th button").forEach((button) => {
    button.addEventListener("click", () => {
      const head = button.closest("th");
      const falling = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : "number" in head.dataset;
      for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      const key = (row) => row.cells[head.cellIndex].dataset.value ?? row.cells[head.cellIndex].textContent;
      const compare = "number" in head.dataset
        ? (a, b) => Number(key(a)) - Number(key(b))
        : (a, b) => key(a).localeCompare(key(b), undefined, { numeric: true });
      body.append(...[...body.rows].sort((a, b) => (falling ? compare(b, a) : compare(a, b))));
    });
  });
}
byId("save-names").addEventListener("click", () => {
  const quoted = (text) => `"${text.replaceAll('"', '""')}"`;
  const named = [...document.querySelectorAll("input[data-name]")].filter((field) => field.value.trim());
  const lines = named.map((field) => `${quoted(field.dataset.name)},${quoted(field.value.trim())}\n`);
  const text = `"factor","name"\n${lines.join("")}`;
  element("a", { href: `data:text/csv;charset=utf-8,${encodeURIComponent(text)}`, download: "names.csv" }).click();
});
const filter = byId("filter");
filter.addEventListener("input", () => {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = [...byId("factors").tBodies[0].rows];
  for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
  const found = rows.filter((row) => !row.hidden).length;
  byId("factors-shown").textContent = `${words.length ? `${found} of ` : ""}${count(rows.length, "factor")}`;
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-factor]");
  if (!button) return;
  select(Number(button.dataset.factor), button);
  byId("hierarchy").scrollIntoView({ block: "start" });
});

// What the page draws from, and small helpers.

const data = JSON.parse(document.getElementById("data").textContent);
const map = data.map;
const byId = (id) => document.getElementById(id);
const canvas = byId("map");
const context = canvas.getContext("2d");
const nNodes = map.names.length;
const nLinks = map.below.length;
const isFactor = (i) => map.level[i] > 0;
// On a factor is its number, or the start of the name that it was given.
const factorNumber = (i) => /^layer\d+_factor(\d+)$/.exec(map.names[i])?.[1] ?? [...map.names[i]].slice(0, 4).join("");
const mostExplained = Math.max(...map.information.filter((_, i) => isFactor(i)), 1e-9);
const largestWeight = map.weight.reduce((a, b) => Math.max(a, b), 1e-9);
const topLevel = map.level.reduce((a, b) => Math.max(a, b), 1);
const N_COLOURS = 9;
const MOVING_LINKS = 3000; // while the map moves, no more than these are drawn

// Links by falling weight, and for each node those that end there.
const byWeight = Array.from({ length: nLinks }, (_, e) => e).sort((a, b) => map.weight[b] - map.weight[a]);
const linksOf = Array.from({ length: nNodes }, () => []);
for (const e of byWeight) {
  linksOf[map.below[e]].push(e);
  linksOf[map.above[e]].push(e);
}
const weak = new Set(map.weak ?? []); // factors and links that do not come back in fits to halves
const unsure = new Set(map.unsure ?? []);
const isLinked = (i) => isFactor(i) || map.linked[i] === 1;
const byStrength = Array.from({ length: nNodes }, (_, i) => i)
  .filter((i) => !isFactor(i))
  .sort((a, b) => map.information[b] - map.information[a]);

const state = {
  layout: "radial", threshold: 0, colourBy: -1, group: null, hover: -1, selected: -1,
  scale: 1, x: 0, y: 0, moving: false, touched: false, fitted: 1, named: [], positions: null, paths: null, shown: null, nShown: 0,
};

// Small helpers.

const element = (tag, properties = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
};
const count = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
const nats = (x) => (x === null || x === undefined ? "unknown" : Math.abs(x) >= 1000 ? Math.round(x).toLocaleString("en") : `${+x.toPrecision(3)}`);
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
let theme = {};
const readTheme = () => {
  theme = { ink: css("--ink"), paper: css("--paper"), muted: css("--muted"), soft: css("--soft"), colours: [] };
  for (let i = 0; i < N_COLOURS; i++) theme.colours.push(css(`--c${i}`));
};

// Groups and their colours.

const homeRank = new Map(
  Array.from({ length: nNodes }, (_, i) => i)
    .filter((i) => map.level[i] === 1)
    .sort((a, b) => map.place[a] - map.place[b])
    .map((i, rank) => [i, rank]),
);
const groupOf = (i) => {
  if (isFactor(i)) return -1;
  if (state.colourBy >= 0) return map.groupings[state.colourBy].number[i];
  return homeRank.get(map.home[i]) ?? -1;
};
const colourOf = (group) => (group < 0 ? theme.muted : theme.colours[group % N_COLOURS]);
const shapeOf = (group) => (group < 0 || state.colourBy < 0 ? 0 : Math.floor(group / N_COLOURS) % 4);

// Where nodes are, in units of the map.

const polar = (i) => [1 - map.level[i] / Math.max(map.depth, 1), 2 * Math.PI * map.place[i] - Math.PI / 2];
const place = () => {
  const farthest = map.place.reduce((a, b) => Math.max(a, b), 1e-9);
  state.positions = Array.from({ length: nNodes }, (_, i) => {
    if (state.layout === "layered") {
      return [3 * (map.place[i] / farthest) - 1.5, 0.7 - (1.5 * map.level[i]) / topLevel];
    }
    const [radius, angle] = polar(i);
    return [radius * Math.cos(angle), radius * Math.sin(angle)];
  });
};

const addCurve = (path, e) => {
  const from = map.above[e], to = map.below[e];
  const [x0, y0] = state.positions[from], [x1, y1] = state.positions[to];
  path.moveTo(x0, y0);
  if (state.layout === "layered") {
    path.bezierCurveTo(x0, (y0 + y1) / 2, x1, (y0 + y1) / 2, x1, y1);
    return;
  }
  const [r0, a0] = polar(from), [r1, a1] = polar(to);
  if (r0 === 0) {
    path.lineTo(x1, y1);
    return;
  }
  const middle = (r0 + r1) / 2;
  path.bezierCurveTo(
    middle * Math.cos(a0), middle * Math.sin(a0), middle * Math.cos(a1), middle * Math.sin(a1), x1, y1,
  );
};

// Links of one colour, strength and width are one path, which the browser draws at once.
const buildPaths = () => {
  const buckets = new Map();
  state.shown = new Uint8Array(nNodes);
  state.nShown = 0;
  for (const e of byWeight) {
    if (map.weight[e] < state.threshold) break;
    const child = map.below[e];
    state.shown[child] = state.shown[map.above[e]] = 1;
    const width = Math.max(Math.ceil((4 * map.weight[e]) / largestWeight), 1);
    const home = map.home[child] === map.above[e];
    const group = groupOf(child);
    const strong = state.nShown < MOVING_LINKS;
    const dashed = unsure.has(e);
    const key = [group, width, home, strong, dashed].join();
    if (!buckets.has(key)) buckets.set(key, { path: new Path2D(), group, width, home, strong, dashed });
    addCurve(buckets.get(key).path, e);
    state.nShown++;
  }
  state.paths = [...buckets.values()].sort((a, b) => a.width - b.width);
  byId("links-shown").textContent = `${state.nShown.toLocaleString("en")} of ${count(nLinks, "link")}`;
  byId("threshold-value").textContent = `${nats(state.threshold)} nats`;
  draw();
};

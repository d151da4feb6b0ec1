// Light, dark and paper; and the first picture.

const root = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)");
const retheme = () => { readTheme(); draw(); };
byId("theme").addEventListener("click", () => {
  const now = root.dataset.theme ?? (dark.matches ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
  retheme();
});
dark.addEventListener("change", retheme);
let before;
addEventListener("beforeprint", () => {
  before = { ...state, theme: root.dataset.theme };
  state.selected = -1;
  state.group = null;
  root.dataset.theme = "light";
  paper = [640, 640]; // 17 cm, in pixels of style sheets
  readTheme();
  fit();
  drawNow();
});
addEventListener("afterprint", () => {
  if (before.theme) root.dataset.theme = before.theme; else delete root.dataset.theme;
  paper = null;
  for (const key of ["scale", "x", "y", "fitted", "touched", "selected", "group"]) state[key] = before[key];
  retheme();
});

// The part of the map that was in the middle stays there when its size changes.
let known = [0, 0];
function resized() {
  const [width, height] = size();
  if (!known[0] || !state.touched) fit();
  else if (width !== known[0] || height !== known[1]) pan((width - known[0]) / 2, (height - known[1]) / 2);
  known = [width, height];
  draw();
}

readTheme();
place();
if (map.groupings.length) { colours.value = "0"; state.colourBy = 0; }
drawLegend();
buildPaths();
fit();
known = size();
new ResizeObserver(resized).observe(canvas);
drawNow();
// For scripts: where a node is on the screen, and what the map shows.
window.hicorex = {
  locate: (name) => {
    const box = canvas.getBoundingClientRect();
    const [x, y] = toScreen(map.names.lastIndexOf(name));
    return [box.left + x, box.top + y];
  },
  state,
};

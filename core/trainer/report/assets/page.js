const metricNames = Object.keys(data.metrics);

function showTop() {
  byId("title").textContent = data.title;
  const seconds = data.phases.reduce((sum, phase) => sum + phase.seconds, 0);
  byId("subtitle").textContent = [`${data.lastStep} steps`, seconds > 0 ? duration(seconds) : null]
    .filter(Boolean)
    .join(" · ");
  if (data.brokenLines > 0) {
    byId("warnings").hidden = false;
    byId("warnings").textContent = `${data.brokenLines} lines of metrics.jsonl could not be read and are left out.`;
  }
}

const LABELS = { val: "Validation", reward: "Reward", loss: "Training loss", kl: "KL", "tok/s": "Tokens a second" };

function showTiles() {
  const tiles = data.headlines.map(({ label, metric }) => {
    const { steps, values } = data.metrics[metric];
    const from = values.length > 1 ? `from ${number(values[0])} at step ${steps[0]}` : `at step ${steps[0]}`;
    return h(
      "div",
      { class: "tile", title: metric },
      h("div", { class: "label" }, LABELS[label] ?? label),
      h("div", { class: "value" }, number(values.at(-1))),
      h("div", { class: "from" }, from),
      sparkline(values),
    );
  });
  fill(byId("tiles"), ...tiles);
}

/** Validation and reward first: what tells whether it learns. */
function showFirstCharts() {
  const pick = (test) => metricNames.filter(test);
  let validation = pick((name) => /^val-core\/.*\/mean@\d+$/.test(name));
  if (validation.length === 0) validation = pick((name) => name.startsWith("val-core/") || name === "val/loss");
  const reward = pick((name) => name === "critic/score/mean");
  const loss = pick((name) => name === "train/loss");
  const charts = [
    ["Validation", validation.map((name) => ({ name, label: name.replace(/^val-core\//, "") }))],
    ["Reward of training samples", reward.map((name) => ({ name, label: "mean score" }))],
    ["Training loss", loss.map((name) => ({ name, label: name }))],
  ];
  fill(
    byId("first"),
    ...charts.filter(([, metrics]) => metrics.length > 0).map(([title, metrics]) => chartPanel(title, metrics, 250)),
  );
}

function showPhases() {
  // One phase alone tells nothing.
  if (data.phases.length < 2) return;
  byId("time").hidden = false;
  const total = data.phases.reduce((sum, { seconds }) => sum + seconds, 0);
  const colors = seriesColors();
  const color = (i) => (i < colors.length ? colors[i] : "var(--muted)");
  const share = (seconds) => `${Number(((seconds / total) * 100).toPrecision(2))} %`;
  fill(
    byId("phases"),
    h(
      "div",
      {
        class: "bar",
        role: "img",
        "aria-label": data.phases.map(({ name, seconds }) => `${name} ${share(seconds)}`).join(", "),
      },
      ...data.phases.map(({ name, seconds }, i) =>
        h("div", {
          style: `flex: ${seconds} 0 0; background: ${color(i)}`,
          title: `${name}: ${duration(seconds)}, ${share(seconds)}`,
        }),
      ),
    ),
    h(
      "div",
      { class: "legend muted" },
      ...data.phases.map(({ name, seconds }, i) =>
        h(
          "span",
          {},
          h("span", { class: "swatch", style: `background: ${color(i)}` }),
          h("b", {}, name),
          ` ${duration(seconds)} · ${share(seconds)}`,
        ),
      ),
    ),
  );
}

/** Metrics by the part before the first slash; mean, max and min of one thing share a chart. */
function metricGroups(names) {
  const groups = new Map();
  for (const name of names) {
    const prefix = name.includes("/") ? name.slice(0, name.indexOf("/")) : "other";
    const [, base, kind] = /^(.*)\/(mean|max|min)$/.exec(name) ?? [null, name, null];
    if (!groups.has(prefix)) groups.set(prefix, new Map());
    const charts = groups.get(prefix);
    if (!charts.has(base)) charts.set(base, []);
    charts.get(base).push({ name, label: kind ?? base.slice(prefix.length + 1) });
  }
  const order = ["mean", "max", "min"];
  for (const charts of groups.values()) {
    for (const metrics of charts.values()) metrics.sort((a, b) => order.indexOf(a.label) - order.indexOf(b.label));
  }
  return groups;
}

const openGroups = new Set();

function showMetrics() {
  const text = byId("metric-filter").value;
  const wanted = metricNames.filter(matcher(text));
  byId("metric-count").textContent = `${wanted.length} of ${metricNames.length}`;
  const groups = [...metricGroups(wanted)].map(([prefix, charts]) => {
    const place = h("div", { class: "charts" });
    const fold = h(
      "details",
      {
        toggle: () => {
          if (!text) openGroups[fold.open ? "add" : "delete"](prefix);
          if (fold.open && place.childElementCount === 0)
            fill(place, ...[...charts].map(([base, metrics]) => chartPanel(base, metrics)));
        },
      },
      h("summary", {}, `${prefix} `, h("span", { class: "muted" }, String(charts.size))),
      place,
    );
    // A filter that leaves little opens what it leaves.
    fold.open = openGroups.has(prefix) || (text !== "" && wanted.length <= 40);
    return fold;
  });
  for (const panel of drawn.keys())
    if (!byId("first").contains(panel)) (drawn.get(panel).chart?.destroy(), drawn.delete(panel));
  fill(byId("metric-groups"), ...groups);
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  redrawCharts();
  showPhases();
}

setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
byId("theme").addEventListener("click", () =>
  setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"),
);
byId("metric-filter").addEventListener("input", showMetrics);
byId("smoothing").addEventListener("input", (event) => {
  smoothing = Number(event.target.value);
  redrawCharts();
});
showTop();
showTiles();
showFirstCharts();
showPhases();
showRollouts();
if (metricNames.some((name) => name.startsWith("actor/"))) openGroups.add("actor");
showMetrics();
showFacts();

/** Charts that are on the page now; a change of theme or smoothing draws them again. */
const drawn = new Map();
let smoothing = 0.6;

/** Steps of several series, joined; a series has undefined where it has no point. */
function align(names) {
  const steps = [...new Set(names.flatMap((name) => data.metrics[name].steps))].sort((a, b) => a - b);
  const columns = names.map((name) => {
    const { steps: own, values } = data.metrics[name];
    const byStep = new Map(own.map((step, i) => [step, values[i]]));
    return steps.map((step) => byStep.get(step));
  });
  return { steps, columns };
}

/** Average under weights that fall off exponentially to both sides, so that nothing lags. */
function smooth(values) {
  const sums = values.map(() => [0, 0]);
  const sweep = (indices) => {
    let sum = 0;
    let weight = 0;
    for (const i of indices) {
      const known = values[i] !== null && values[i] !== undefined;
      sums[i][0] += smoothing * sum;
      sums[i][1] += smoothing * weight;
      sum = smoothing * sum + (known ? values[i] : 0);
      weight = smoothing * weight + (known ? 1 : 0);
    }
  };
  sweep(values.keys());
  sweep([...values.keys()].reverse());
  return values.map((value, i) =>
    value === null || value === undefined ? value : (sums[i][0] + value) / (sums[i][1] + 1),
  );
}

/** A panel with one chart. `metrics` is a list of { name, label }. */
function chartPanel(title, metrics, height = 170) {
  const names = metrics.map(({ name }) => name);
  const bad = names.reduce((sum, name) => sum + data.metrics[name].values.filter((v) => v === null).length, 0);
  const place = h("div");
  const heading = h("h3", {}, title, bad > 0 ? h("span", { class: "bad" }, ` · ${bad} not finite`) : null);
  const panel = h("article", { class: "panel" }, heading, place);
  const draw = () => {
    drawn.get(panel)?.chart?.destroy();
    drawn.set(panel, { draw, chart: plot(place, metrics, height) });
  };
  drawn.set(panel, { draw, chart: undefined });
  // In a frame of its own: drawing changes sizes, which an observer must not do while it reports them.
  new ResizeObserver(() => requestAnimationFrame(() => fit(place, panel, height))).observe(place);
  return panel;
}

/** Draws a chart once its place has a width, and follows that width. */
function fit(place, panel, height) {
  const entry = drawn.get(panel);
  if (!entry || !place.clientWidth) return;
  if (!entry.chart) entry.draw();
  else if (entry.chart.width !== place.clientWidth) entry.chart.setSize({ width: place.clientWidth, height });
}

function redrawCharts() {
  for (const { draw, chart } of drawn.values()) if (chart) draw();
}

function plot(place, metrics, height) {
  const { steps, columns } = align(metrics.map(({ name }) => name));
  const colors = seriesColors();
  const series = [{ label: "step" }];
  const values = [steps];
  metrics.forEach(({ label }, index) => {
    const color = colors[index % colors.length];
    const points = columns[index].filter((value) => value !== undefined && value !== null).length;
    const noisy = smoothing > 0 && points > 40;
    if (noisy) {
      series.push({ label: `${label} `, stroke: `${color}44`, width: 1, points: { show: false }, spanGaps: true });
      values.push(columns[index]);
    }
    series.push({
      label,
      stroke: color,
      width: 2,
      spanGaps: true,
      points: { show: points <= 40, size: 5, fill: color },
      // The value itself, not its smoothed neighbour.
      value: (_, __, ___, i) =>
        columns[index][i] === null || columns[index][i] === undefined ? "–" : number(columns[index][i]),
    });
    values.push(noisy ? smooth(columns[index]) : columns[index]);
  });
  const axis = {
    stroke: cssVariable("--muted"),
    grid: { stroke: cssVariable("--line"), width: 1 },
    ticks: { show: false },
    font: "11px system-ui, sans-serif",
  };
  const chart = new uPlot(
    {
      width: place.clientWidth,
      height,
      scales: { x: { time: false }, y: { range: yRange } },
      series,
      axes: [
        { ...axis, size: 24 },
        { ...axis, size: 52, values: (_, ticks) => ticks.map(number) },
      ],
      cursor: { sync: { key: "step" }, drag: { x: true, y: false } },
      legend: { show: true },
    },
    values,
    place,
  );
  // The raw line behind a smoothed one has no entry of its own in the legend.
  chart.root.querySelectorAll(".u-series").forEach((row, index) => {
    if (series[index].label.endsWith(" ")) row.style.display = "none";
  });
  return chart;
}

/** Some room above and below; a line that is flat but for rounding lies in the middle. */
function yRange(_, min, max) {
  if (min === null || max === null) return [0, 1];
  const size = Math.max(Math.abs(min), Math.abs(max));
  const room = max - min > size * 1e-6 ? (max - min) * 0.08 : size * 0.1 || 1;
  return [min >= 0 && min - room < 0 ? 0 : min - room, max + room];
}

/** A line without axes. */
function sparkline(values) {
  const points = values.filter((value) => value !== null);
  if (points.length < 2) return null;
  const low = Math.min(...points);
  const span = Math.max(...points) - low || 1;
  const path = points.map((v, i) => `${(i / (points.length - 1)) * 100},${29 - ((v - low) / span) * 26}`).join(" ");
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 100 31");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(space, "polyline");
  line.setAttribute("points", path);
  line.setAttribute("fill", "none");
  line.setAttribute("stroke", "var(--accent)");
  line.setAttribute("stroke-width", "1.8");
  line.setAttribute("vector-effect", "non-scaling-stroke");
  svg.append(line);
  return svg;
}

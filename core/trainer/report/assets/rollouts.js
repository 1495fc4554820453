const MODES = {
  advantage: { label: "Advantage", has: (row) => row.advantages?.length > 0 },
  logprob: { label: "Log-prob", has: (row) => (row.rollout_log_probs ?? row.old_log_probs)?.length > 0 },
  mask: { label: "Mask", has: (row) => row.mask?.length > 0 },
  plain: { label: "Plain", has: () => true },
};

const view = { split: "val", left: 0, right: 0, mode: "plain" };

function showRollouts() {
  const splits = ["val", "train"].filter((split) => data.rollouts[split].length > 0);
  if (splits.length === 0) return;
  byId("rollouts").hidden = false;
  chooseSplit(splits.includes("val") ? "val" : "train");
}

function chooseSplit(split) {
  const rows = data.rollouts[split].flatMap((entry) => entry.rows);
  const modes = Object.keys(MODES).filter((mode) => rows.some(MODES[mode].has));
  Object.assign(view, { split, left: 0, right: data.rollouts[split].length - 1, mode: modes[0] });
  drawRollouts();
}

function drawRollouts() {
  drawControls();
  drawLegend();
  drawPairs();
}

function drawControls() {
  const steps = data.rollouts[view.split];
  const rows = steps.flatMap((entry) => entry.rows);
  const stepSelect = (side) =>
    h(
      "select",
      { change: (event) => ((view[side] = Number(event.target.value)), drawRollouts()) },
      ...steps.map(({ step }, i) =>
        h("option", { value: i, ...(i === view[side] ? { selected: "" } : {}) }, `step ${step}`),
      ),
    );
  fill(
    byId("rollout-controls"),
    segments(
      ["val", "train"]
        .filter((split) => data.rollouts[split].length > 0)
        .map((split) => [split, split === "val" ? "Validation" : "Training"]),
      view.split,
      chooseSplit,
    ),
    h("label", {}, "Left ", stepSelect("left")),
    h("label", {}, "Right ", stepSelect("right")),
    segments(
      Object.entries(MODES)
        .filter(([, mode]) => rows.some(mode.has))
        .map(([key, mode]) => [key, mode.label]),
      view.mode,
      (mode) => ((view.mode = mode), drawRollouts()),
    ),
  );
}

/** A row of buttons of which one is pressed. */
function segments(options, chosen, choose) {
  return h(
    "span",
    { class: "segments" },
    ...options.map(([key, label]) =>
      h("button", { type: "button", "aria-pressed": String(key === chosen), click: () => choose(key) }, label),
    ),
  );
}

function drawLegend() {
  const ramp = (...tints) =>
    h("span", { class: "ramp", style: `background: linear-gradient(90deg, ${tints.join(", ")})` });
  const masked = () => [h("span", { class: "token masked" }, " abc "), " no loss on it"];
  const legends = {
    advantage: [
      h(
        "span",
        {},
        "less likely",
        ramp("rgba(var(--bad), .6)", "transparent", "rgba(var(--good), .6)"),
        "more likely after the update",
      ),
      h("span", {}, ...masked()),
    ],
    logprob: [
      h("span", {}, "expected", ramp("transparent", "rgba(var(--rare), .7)"), "surprising to the model"),
      h("span", {}, ...masked()),
    ],
    mask: [h("span", {}, ...masked())],
    plain: [],
  };
  fill(byId("rollout-legend"), ...legends[view.mode]);
}

function drawPairs() {
  const steps = data.rollouts[view.split];
  const [left, right] = [steps[view.left], steps[view.right]];
  const all = [...left.rows, ...right.rows];
  const scale = {
    advantage: Math.max(1e-9, ...all.flatMap((row) => (row.advantages ?? []).map(Math.abs))),
    low: Math.min(...all.map((row) => row.score ?? Infinity)),
    high: Math.max(...all.map((row) => row.score ?? -Infinity)),
  };
  const pairs = pairGroups(groupByPrompt(left.rows), groupByPrompt(right.rows));
  fill(byId("rollout-pairs"), ...pairs.map(([a, b]) => pairCard(a, b, left.step, right.step, scale)));
}

function groupByPrompt(rows) {
  const groups = new Map();
  for (const row of rows) {
    const key = row.input;
    if (!groups.has(key)) groups.set(key, { input: row.input, rows: [] });
    groups.get(key).rows.push(row);
  }
  return [...groups.values()];
}

/** Groups of the same prompt side by side; the others in order. */
function pairGroups(left, right) {
  const rest = new Map(right.map((group) => [group.input, group]));
  const pairs = left.map((group) => {
    const twin = rest.get(group.input);
    if (twin) rest.delete(group.input);
    return [group, twin];
  });
  const spare = [...rest.values()];
  for (const pair of pairs) pair[1] ??= spare.shift();
  return [...pairs, ...spare.map((group) => [undefined, group])];
}

function pairCard(a, b, leftStep, rightStep, scale) {
  const same = a && b && a.input === b.input;
  const side = (group, step) =>
    h(
      "div",
      { class: "side" },
      h("div", { class: "at" }, `step ${step}`),
      ...(group ? [same ? null : promptLine(group), ...group.rows.map((row) => answer(row, scale))] : ["–"]),
    );
  return h(
    "article",
    { class: "panel pair" },
    same ? promptLine(a) : null,
    h("div", { class: "sides" }, side(a, leftStep), side(b, rightStep)),
  );
}

function promptLine({ input, rows }) {
  const truth = rows[0].gts;
  const wanted =
    truth === null || truth === undefined ? null : typeof truth === "string" ? truth : JSON.stringify(truth);
  return h(
    "div",
    { class: "prompt" },
    h("span", { class: "muted" }, "prompt  "),
    input,
    wanted === null ? null : h("span", { class: "muted" }, `   truth  ${wanted}`),
  );
}

function answer(row, scale) {
  const parts = Object.entries(row.reward ?? {}).map(([name, value]) =>
    h("span", {}, `${name} ${typeof value === "number" ? number(value) : value}`),
  );
  const advantages = [...new Set(row.advantages?.filter((_, i) => row.mask[i]))];
  const facts = [
    scoreChip(row, scale),
    advantages.length === 1 ? h("span", {}, `advantage ${number(advantages[0])}`) : null,
    h("span", {}, `${row.tokens.length} tokens`),
    ...parts,
  ];
  return h(
    "div",
    { class: "answer" },
    h("div", { class: "facts" }, ...facts),
    h("div", { class: "text" }, ...row.tokens.map((token, i) => tokenSpan(row, i, scale))),
  );
}

function scoreChip({ score }, { low, high }) {
  if (score === null) return h("span", { class: "chip", "--tint": "var(--bad)" }, "unscored");
  const place = high > low ? (score - low) / (high - low) : 0.5;
  const tint = place >= 0.5 ? "var(--good)" : "var(--bad)";
  const depth = high > low ? 0.08 + 0.4 * Math.abs(place - 0.5) : 0.12;
  return h("span", { class: "chip", "--tint": tint, "--depth": depth }, `score ${number(score)}`);
}

function tokenSpan(row, i, scale) {
  const logProb = (row.rollout_log_probs ?? row.old_log_probs)?.[i];
  const advantage = row.advantages?.[i];
  const tips = [
    `id ${row.response_ids[i]}`,
    logProb === undefined ? null : `log-prob ${number(logProb)} (p ${number(Math.exp(logProb))})`,
    advantage === undefined ? null : `advantage ${number(advantage)}`,
    row.mask[i] ? null : "masked: no loss on it",
  ];
  const look = !row.mask[i] && view.mode !== "plain" ? { class: "token masked" } : tokenLook(advantage, logProb, scale);
  return h("span", { ...look, title: tips.filter(Boolean).join("\n") }, visible(row.tokens[i]));
}

function tokenLook(advantage, logProb, scale) {
  if (view.mode === "advantage" && advantage !== undefined) {
    const depth = (Math.abs(advantage) / scale.advantage) * 0.55;
    return {
      class: advantage < 0 ? "token negative" : "token",
      "--tint": advantage < 0 ? "var(--bad)" : "var(--good)",
      "--depth": depth,
    };
  }
  if (view.mode === "logprob" && logProb !== undefined) {
    return { class: "token", "--tint": "var(--rare)", "--depth": 0.7 * (1 - Math.exp(logProb)) };
  }
  return { class: "token", "--tint": "0, 0, 0", "--depth": 0 };
}

/** Line ends are shown and kept. */
const visible = (token) => token.replaceAll("\n", "⏎\n");
